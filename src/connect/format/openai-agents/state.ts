import { canonical, digestOf, type FactId, type Json } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import {
  agentNamed,
  amount,
  FieldReader,
  type Fields,
  fieldsOf,
  isFields,
  isSame,
  listOf,
  stringOf,
  toolNamed,
  wordsFor,
} from "../fields.js";
import type { Foreign } from "../foreign.js";
import type { Arrival } from "../trajectory/arrival.js";
import { callIn, messageOf, partsOf } from "./item.js";
import { requireAgent, requireVersion } from "./version.js";

const NESTED = 16;
const GATHERED =
  "the run of an agent that works as a tool is gathered here; what the tool gives is not known yet";

/** Reads one state, and the states of agents that work as tools inside of it. */
export class StateReader {
  readonly notes: string[] = [];
  readonly #foreign: Foreign;
  /** Every call that was asked for, by its id. */
  readonly #calls = new Map<string, FactId>();
  /** What was asked about each call. A state repeats what the states inside of it wait for. */
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
    // What was answered last is the last of what was answered.
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

  /** What the run waits for. */
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
