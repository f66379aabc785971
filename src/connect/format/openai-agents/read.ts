import { canonical, digestOf, type FactId, type Json } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import type { Imported, ImportFormat } from "../exchange.js";
import type { Fields } from "../fields.js";
import {
  agentNamed,
  amount,
  FieldReader,
  fieldsOf,
  isFields,
  isSame,
  listOf,
  own,
  stringOf,
  toolNamed,
  wordsFor,
} from "../fields.js";
import { beginsLike, defineImport, type Foreign } from "../foreign.js";
import { Arrival } from "../trajectory/arrival.js";
import { callIn, messageOf, partsOf } from "./item.js";
import { isPython, renamed } from "./python.js";

/** Run states of the OpenAI Agents SDK for JavaScript and for Python, of all schema versions. */
export const openaiAgents: ImportFormat = defineImport({
  name: "openai-agents",
  title: "OpenAI Agents SDK run state (JSON)",
  fits: (source) =>
    beginsLike(source, /^\s*\{/, /"currentAgent"\s*:/, /"originalInput"\s*:/) ||
    beginsLike(source, /^\s*\{/, /"\$schemaVersion"\s*:/, /"current_agent"\s*:/, /"original_input"\s*:/),
  quoteUnsafe: true,
  read,
});

function read(foreign: Foreign): Imported {
  const written = foreign.object(foreign.json(), "", "a run state is an object");
  const python = isPython(written);
  if (python) requirePythonVersion(written, foreign);
  else requireVersion(written, "", foreign);
  const state = python ? renamed(written) : written;
  const name = requireAgent(state, "", foreign) || "run";
  const { originalInput, $schemaVersion: schemaVersion = null } = state;
  const arrival = Arrival.start(foreign, {
    name,
    ...(typeof originalInput === "string" && { text: originalInput }),
    detail: { schemaVersion, ...(python && { sdk: "python" }) },
  });
  const reader = new StateReader(foreign);
  reader.read(arrival, state, "", 0);
  arrival.suspend();
  return arrival.imported(name, reader.notes);
}

/** The newest minor version of schema 1 that is known; each minor version only adds to the one before. */
const NEWEST = 20;
/** The SDK for Python counts its versions by itself. */
const NEWEST_OF_PYTHON = 17;
/** The first version in which tools could be searched for, and in which sandboxes were kept. */
const TOOL_SEARCH = 8;
const SANDBOX = 9;
/** From which version on a sandbox is written in which form. */
const SANDBOX_FORMS: readonly (readonly [since: number, form: number])[] = [
  [20, 5],
  [19, 4],
  [18, 3],
  [15, 2],
  [SANDBOX, 1],
];

/** Refuses a state that no SDK of the version that it names can have written; the minor version otherwise. */
export function requireVersion(state: Fields, where: string, foreign: Foreign): number {
  const known = minorOf(state, where, NEWEST, foreign);
  requirePlain(state, where, foreign);
  if (known < TOOL_SEARCH) requireNoToolSearch(state, where, `1.${known}`, foreign);
  requireSandbox(state, where, known, foreign);
  return known;
}

/** The same for the SDK for Python, which has its own numbers for when tool search and sandboxes came. */
export function requirePythonVersion(state: Fields, foreign: Foreign): void {
  minorOf(state, "", NEWEST_OF_PYTHON, foreign);
  requirePlain(state, "", foreign);
}

function minorOf(state: Fields, where: string, newest: number, foreign: Foreign): number {
  const place = where === "" ? "$schemaVersion" : `${where}.$schemaVersion`;
  const version = own(state, "$schemaVersion");
  if (version === undefined) return foreign.refuse(place, "the run state has no schema version");
  if (typeof version !== "string")
    return foreign.refuse(place, "its schema version is malformed: it is not a text");
  const [, major, minor] = /^(\d{1,9})\.(\d{1,9})$/.exec(version) ?? [];
  if (major === undefined)
    foreign.refuse(place, `its schema version is malformed: ${JSON.stringify(version)}`);
  if (major !== "1" || Number(minor) > newest || String(Number(minor)) !== minor)
    foreign.refuse(
      place,
      `its schema version ${version} is not supported: the newest supported version is 1.${newest}`,
      { hint: "write the state again with an SDK that is known here, or update this program" },
    );
  return Number(minor);
}

/** Code that copies a key of this name carelessly sets the prototype of the object. */
function requirePlain(value: Json, where: string, foreign: Foreign): void {
  const open: (readonly [Json, string])[] = [[value, where]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [part, path] = next;
    if (typeof part !== "object" || part === null) continue;
    for (const [key, inner] of Object.entries(part as Fields)) {
      if (key === "__proto__") foreign.refuse(path, "it has a key that names the prototype of objects");
      open.push([inner, path === "" ? key : `${path}.${key}`]);
    }
  }
}

function requireNoToolSearch(state: Fields, where: string, version: string, foreign: Foreign): void {
  const open: (readonly [Json | undefined, string])[] = [
    "originalInput",
    "modelResponses",
    "generatedItems",
    "lastProcessedResponse",
  ].map((key) => [state[key], where === "" ? key : `${where}.${key}`]);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [part, path] = next;
    if (typeof part !== "object" || part === null) continue;
    const { type } = part as Fields;
    if (isFields(part) && typeof type === "string" && /^tool_search_(call|output)(_item)?$/.test(type))
      foreign.refuse(
        path,
        `schema version ${version} does not have tool search items: they came with 1.${TOOL_SEARCH}`,
      );
    for (const [key, inner] of Object.entries(part as Fields)) open.push([inner, `${path}.${key}`]);
  }
}

function requireSandbox(state: Fields, where: string, minor: number, foreign: Foreign): void {
  const { sandbox } = state;
  if (!isFields(sandbox)) return;
  const form = SANDBOX_FORMS.find(([since]) => minor >= since)?.[1];
  const states: (readonly [string, Json | undefined])[] = [["sessionState", sandbox.sessionState]];
  if (isFields(sandbox.sessionsByAgent))
    for (const [agent, entry] of Object.entries(sandbox.sessionsByAgent))
      if (isFields(entry)) states.push([`sessionsByAgent.${agent}.sessionState`, entry.sessionState]);
  const path = where === "" ? "sandbox" : `${where}.sandbox`;
  if (form === undefined) foreign.refuse(path, `schema version 1.${minor} does not have sandboxes`);
  for (const [key, held] of states) {
    if (!isFields(held) || held.version === undefined || held.version === form) continue;
    foreign.refuse(
      `${path}.${key}.version`,
      `a sandbox of version ${JSON.stringify(held.version)?.slice(0, 40)} cannot stand in a run state of schema version 1.${minor}, whose sandboxes have version ${form}`,
    );
  }
}

/** The name of the current agent. The fields that a session needs must be there. */
export function requireAgent(state: Fields, where: string, foreign: Foreign): string {
  const { currentAgent, originalInput, modelResponses, generatedItems } = state;
  const at = (key: string) => (where === "" ? key : `${where}.${key}`);
  if (!isFields(currentAgent) || typeof currentAgent.name !== "string")
    return foreign.refuse(at("currentAgent"), "a run state names the agent that it is at");
  if (typeof originalInput !== "string" && !Array.isArray(originalInput))
    foreign.refuse(at("originalInput"), "a run state has its input, a text or a list of items");
  for (const [key, value] of Object.entries({ modelResponses, generatedItems }))
    if (!Array.isArray(value) || !value.every(isFields))
      foreign.refuse(at(key), "a run state has a list of objects here");
  return currentAgent.name;
}

const NESTED = 16;
const GATHERED =
  "the run of an agent that works as a tool is gathered here; what the tool gives is not known yet";

/** Reads one state, and the states of agents that work as tools inside of it. */
export class StateReader {
  readonly notes: string[] = [];
  readonly #foreign: Foreign;
  /** Every call that was asked for, by its id. */
  readonly #calls = new Map<string, FactId>();
  /** The question about each call. A state repeats the questions of the states inside of it. */
  readonly #asked = new Map<string, Json>();

  constructor(foreign: Foreign) {
    this.#foreign = foreign;
  }

  read(arrival: Arrival, state: Fields, where: string, depth: number): void {
    const fields = new FieldReader(state);
    fields.text("$schemaVersion");
    const agent = wordsFor(fieldsOf(state.currentAgent).name);
    const { name: _, ...more } = fieldsOf(fields.object("currentAgent"));
    fields.keep("currentAgent", Object.keys(more).length > 0 ? more : undefined);
    this.#input(arrival, fields.json("originalInput"));
    const config = arrival.add({ type: "agent-configure", agent, by: agentNamed(agent) });
    const responses = (fields.list("modelResponses") ?? []) as readonly Fields[];
    const items = (fields.list("generatedItems") ?? []) as readonly Fields[];
    this.#turns(arrival, responses, items, agent, config);
    // The last response is the last of the responses.
    fields.drop("lastModelResponse", responses.at(-1) ?? null);
    this.#nested(arrival, fields, where, depth);
    this.#interruptions(arrival, fields);
    const { rest } = fields;
    if (rest === undefined) return;
    this.notes.push(
      `${where === "" ? "The state" : where} also says ${fields.names.join(", ")}: kept in a note.`,
    );
    arrival.rest(`run state${where === "" ? "" : ` ${where}`}`, rest);
  }

  /** A text is said where the session starts; items are said one by one. */
  #input(arrival: Arrival, input: Json | undefined): void {
    if (typeof input !== "string") for (const item of listOf(input)) this.#said(arrival, item);
    else if (arrival.session.fact.type !== "record-import") arrival.say("user", input);
  }

  /** Model responses and run items tell one story twice: items say when, responses say how much it took. */
  #turns(
    arrival: Arrival,
    responses: readonly Fields[],
    items: readonly Fields[],
    agent: string,
    config: string,
  ): void {
    let answered = 0;
    const owner = (output: Json): number =>
      responses.findIndex(
        (response, index) =>
          index >= answered - 1 && listOf(response.output).some((one) => isSame(one, output)),
      );
    for (const [index, response] of responses.entries())
      this.#foreign.list(
        response.output,
        `modelResponses[${index}].output`,
        "a model response has a list of what it gave",
      );
    for (const item of items) {
      const said = isSaid(item) ? owner(item.rawItem ?? null) : -1;
      const author = stringOf(fieldsOf(item.agent).name) ?? agent;
      for (; answered <= said; answered++)
        this.#response(arrival, responses[answered] as Fields, author, config);
      this.#item(arrival, item, author, said !== -1);
    }
    for (; answered < responses.length; answered++)
      this.#response(arrival, responses[answered] as Fields, agent, config);
  }

  #response(arrival: Arrival, response: Fields, agent: string, config: string): void {
    const fields = new FieldReader(response);
    const output = fields.list("output") ?? [];
    const usage = fields.inside("usage");
    const [input, given] = [usage.number("inputTokens", 0), usage.number("outputTokens", 0)];
    fields.keep("usage", usage.rest);
    const id = fields.text("responseId");
    const asks = output.some((item) => callIn(item) !== undefined);
    const provider = fieldsOf(fields.object("providerData"));
    fields.keep("providerData", Object.keys(provider).length > 0 ? provider : undefined);
    const of = arrival.add({
      type: "model-call",
      // The SDK does not always write which model answered.
      model: stringOf(provider.model) ?? "unknown",
      agent,
      config,
      by: agentNamed(agent),
    });
    arrival.add({
      type: "model-reply",
      of,
      content: output.flatMap(partsOf),
      finish: asks ? "tool-calls" : "stop",
      usage: { input: amount(input) ?? 0, output: amount(given) ?? 0 },
      agent,
      ...defined({ response: id, raw: fields.rest }),
    });
  }

  /** `told` items are in the response of a model already. */
  #item(arrival: Arrival, item: Fields, agent: string, told: boolean): void {
    const fields = new FieldReader(item);
    const type = fields.text("type") ?? "";
    const raw = fields.json("rawItem") ?? null;
    const held = fields.inside("agent");
    held.drop("name", agent);
    fields.keep("agent", held.rest);
    switch (type) {
      case "tool_call_item":
      case "handoff_call_item":
        if (!told) arrival.say("assistant", partsOf(raw), agentNamed(agent));
        this.#call(arrival, raw, agent);
        break;
      case "tool_call_output_item":
      case "handoff_output_item":
        this.#outcome(arrival, raw, agent, fields);
        break;
      case "tool_approval_item":
        // It says that it was asked; whether it still waits, the step of the run says.
        this.#call(arrival, raw, agent);
        fields.drop("toolName", callIn(raw)?.name ?? null);
        break;
      case "message_output_item":
      case "reasoning_item":
      case "tool_search_call_item":
      case "tool_search_output_item":
        if (!told) arrival.say("assistant", partsOf(raw), agentNamed(agent));
        break;
      default:
        fields.keep("type", type);
        fields.keep("rawItem", raw);
    }
    arrival.rest(`run item ${type}`.trim(), fields.rest);
  }

  #call(arrival: Arrival, raw: Json, agent: string): void {
    const asked = callIn(raw);
    if (asked === undefined || this.#calls.has(asked.call)) return;
    const { call, name, input } = asked;
    this.#calls.set(call, arrival.add({ type: "tool-call", name, input, call, by: agentNamed(agent) }));
  }

  #outcome(arrival: Arrival, raw: Json, agent: string, around: FieldReader): void {
    if (!isFields(raw)) {
      arrival.rest("result of a tool", raw);
      return;
    }
    const fields = new FieldReader(raw);
    const call = fields.text("callId") ?? "";
    const name = fields.text("name");
    const output = fields.json("output") ?? null;
    around.drop("output", output);
    const of =
      this.#calls.get(call) ??
      arrival.add({ type: "tool-call", name: name ?? "", input: {}, call, by: agentNamed(agent) });
    this.#calls.set(call, of);
    arrival.add({ type: "tool-result", of, output, by: toolNamed(name) });
    fields.drop("status", "completed");
    arrival.rest("result of a tool", fields.rest);
  }

  /** States of agents that work as tools: each a branch from the call that started it, gathered again. */
  #nested(arrival: Arrival, fields: FieldReader, where: string, depth: number): void {
    const pending = fields.object("pendingAgentToolRuns");
    if (pending === undefined) return;
    const left: { [key: string]: Json } = {};
    for (const [key, text] of Object.entries(pending)) {
      const place = `${where === "" ? "" : `${where}.`}pendingAgentToolRuns.${key}`;
      const state = typeof text === "string" ? this.#foreign.json(text, place) : text;
      if (!isFields(state) || depth >= NESTED) {
        left[key] = text;
        continue;
      }
      requireVersion(state, place, this.#foreign);
      requireAgent(state, place, this.#foreign);
      const branch = arrival.fork(arrival.session, key);
      this.read(branch, state, place, depth + 1);
      arrival.add({ type: "note", kind: "agent-tool", run: key });
      arrival.take(branch, GATHERED);
      if (typeof text === "string" && JSON.stringify(state) !== text) left[key] = text;
    }
    fields.keep("pendingAgentToolRuns", Object.keys(left).length > 0 ? left : undefined);
  }

  #interruptions(arrival: Arrival, fields: FieldReader): void {
    const step = fields.inside("currentStep");
    if (step.names.length === 0) return;
    const data = step.inside("data");
    const left: Json[] = [];
    for (const item of data.list("interruptions") ?? []) {
      const { rawItem: raw = null, agent } = fieldsOf(item);
      const asked = callIn(raw);
      const before = asked === undefined ? undefined : this.#asked.get(asked.call);
      if (asked === undefined || before !== undefined) {
        if (before === undefined || !isSame(before, item)) left.push(item);
        continue;
      }
      this.#asked.set(asked.call, item);
      const { call, name, input } = asked;
      const by = stringOf(fieldsOf(agent).name) ?? "";
      this.#call(arrival, raw, by);
      const of = this.#calls.get(call) as FactId;
      const what = { tool: name, input, agent: by, item };
      arrival.add({ type: "approval-ask", what, digest: digestOf(canonical(what)), of, name });
    }
    data.keep("interruptions", left.length > 0 ? left : undefined);
    step.keep("data", data.rest);
    fields.keep("currentStep", step.rest);
  }

  /** An item of the input: a message, a call, a result, or what there is no word for. */
  #said(arrival: Arrival, item: Json): void {
    const message = isFields(item) ? messageOf(item) : undefined;
    const isCall = callIn(item) !== undefined;
    if (message !== undefined) arrival.say(message.role, message.content);
    else if (!isCall && isFields(item) && /_(result|output)$/.test(wordsFor(item.type)))
      this.#outcome(arrival, item, "", new FieldReader());
    else arrival.say("assistant", partsOf(item));
    if (message === undefined && isCall) this.#call(arrival, item, "");
  }
}

function isSaid({ type }: Fields): boolean {
  return (typeof type === "string" && !type.endsWith("output_item")) || type === "message_output_item";
}
