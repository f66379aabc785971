import { canonical, digestOf, type Json, type Session } from "../../../session/index.js";
import type { Document } from "../document.js";
import {
  agentNamed,
  Fields,
  isObject,
  isSame,
  type JsonObject,
  objectOf,
  toolNamed,
  wordsFor,
} from "../fields.js";
import { keepRest } from "../intake.js";
import { callIn, messageOf, partsOf } from "./item.js";
import { requireAgent, requireVersion } from "./version.js";

/** The SDK does not write which model answered. */
const UNKNOWN_MODEL = "unknown";
const NESTED = 16;
const GATHERED =
  "the run of an agent that works as a tool is gathered here; what the tool gives is not known yet";

/** Reads one state, and the states of agents that work as tools inside of it. */
export class StateReader {
  readonly notes: string[] = [];
  readonly #document: Document;
  /** Every call that was asked for, by its id. */
  readonly #calls = new Map<string, Session>();
  /** What was asked about each call. A state repeats what the states inside of it wait for. */
  readonly #asked = new Map<string, Json>();

  constructor(document: Document) {
    this.#document = document;
  }

  read(started: Session, state: JsonObject, where: string, depth: number): Session {
    const fields = new Fields(state);
    fields.text("$schemaVersion");
    const agent = wordsFor(objectOf(state.currentAgent).name);
    const { name: _, ...more } = objectOf(fields.object("currentAgent"));
    fields.keep("currentAgent", Object.keys(more).length > 0 ? more : undefined);
    let session = this.#input(started, fields.json("originalInput"));
    session = session.append({
      type: "agent-configure",
      agent,
      at: session.fact.at,
      by: agentNamed(agent),
    });
    const config = session.id;
    const responses = (fields.list("modelResponses") ?? []) as readonly JsonObject[];
    const items = (fields.list("generatedItems") ?? []) as readonly JsonObject[];
    session = this.#turns(session, responses, items, agent, config);
    // What was answered last is the last of what was answered.
    fields.drop("lastModelResponse", responses.at(-1) ?? null);
    session = this.#nested(session, fields, where, depth);
    session = this.#interruptions(session, fields);
    const { rest } = fields;
    if (rest === undefined) return session;
    this.notes.push(
      `${where === "" ? "The state" : where} also says ${fields.names.join(", ")}: kept in a note.`,
    );
    return keepRest(session, `run state${where === "" ? "" : ` ${where}`}`, rest);
  }

  /** A text is said where the session starts; items are said one by one. */
  #input(session: Session, input: Json | undefined): Session {
    if (typeof input === "string")
      return session.fact.type === "record-import" ? session : session.say(input, { at: session.fact.at });
    let next = session;
    for (const item of (input ?? []) as readonly Json[]) next = this.#said(next, item, "");
    return next;
  }

  /** Model responses and run items tell one story twice: items say when, responses say how much it took. */
  #turns(
    started: Session,
    responses: readonly JsonObject[],
    items: readonly JsonObject[],
    agent: string,
    config: string,
  ): Session {
    let session = started;
    let answered = 0;
    const owner = (output: Json): number =>
      responses.findIndex(
        (response, index) =>
          index >= answered - 1 &&
          ((response.output ?? []) as readonly Json[]).some((one) => isSame(one, output)),
      );
    for (const [index, response] of responses.entries())
      if (!Array.isArray(response.output))
        throw this.#document.refusal({
          where: `modelResponses[${index}].output`,
          reason: "a model response has a list of what it gave",
        });
    for (const item of items) {
      const raw = item.rawItem ?? null;
      const said = isSaid(item) ? owner(raw) : -1;
      const { name } = objectOf(item.agent);
      const author = typeof name === "string" ? name : agent;
      for (; answered <= said; answered++)
        session = this.#response(session, responses[answered] as JsonObject, author, config);
      session = this.#item(session, item, author, said !== -1);
    }
    for (; answered < responses.length; answered++)
      session = this.#response(session, responses[answered] as JsonObject, agent, config);
    return session;
  }

  #response(session: Session, response: JsonObject, agent: string, config: string): Session {
    const at = session.fact.at;
    const fields = new Fields(response);
    const output = fields.list("output") ?? [];
    const usage = new Fields(fields.object("usage") ?? {});
    const [input, given] = [usage.number("inputTokens", 0), usage.number("outputTokens", 0)];
    fields.keep("usage", usage.rest);
    const id = fields.text("responseId");
    const asks = output.some((item) => callIn(item) !== undefined);
    const model = objectOf(fields.object("providerData"));
    fields.keep("providerData", Object.keys(model).length > 0 ? model : undefined);
    const call = session.append({
      type: "model-call",
      model: typeof model.model === "string" ? model.model : UNKNOWN_MODEL,
      agent,
      config,
      at,
      by: agentNamed(agent),
    });
    const { rest } = fields;
    return call.append({
      type: "model-reply",
      of: call.id,
      content: output.flatMap(partsOf),
      finish: asks ? "tool-calls" : "stop",
      usage: { input: amount(input), output: amount(given) },
      agent,
      ...(id !== undefined && { response: id }),
      ...(rest !== undefined && { raw: rest }),
      at,
    });
  }

  /** `told` items are in the response of a model already. */
  #item(session: Session, item: JsonObject, agent: string, told: boolean): Session {
    const at = session.fact.at;
    const fields = new Fields(item);
    const type = fields.text("type") ?? "";
    const raw = fields.json("rawItem") ?? null;
    const held = new Fields(fields.object("agent") ?? {});
    held.drop("name", agent);
    fields.keep("agent", held.rest);
    let next = session;
    switch (type) {
      case "tool_call_item":
      case "handoff_call_item": {
        if (!told) next = next.say(partsOf(raw), { role: "assistant", at, by: agentNamed(agent) });
        next = this.#call(next, raw, agent);
        break;
      }
      case "tool_call_output_item":
      case "handoff_output_item":
        next = this.#outcome(next, raw, agent, fields);
        break;
      case "tool_approval_item":
        // It says that it was asked; whether it still waits, the step of the run says.
        next = this.#call(next, raw, agent);
        fields.drop("toolName", callIn(raw)?.name ?? null);
        break;
      case "message_output_item":
      case "reasoning_item":
      case "tool_search_call_item":
      case "tool_search_output_item":
        if (!told) next = next.say(partsOf(raw), { role: "assistant", at, by: agentNamed(agent) });
        break;
      default:
        fields.keep("type", type);
        fields.keep("rawItem", raw);
    }
    const { rest } = fields;
    return rest === undefined ? next : keepRest(next, `run item ${type}`.trim(), rest);
  }

  #call(session: Session, raw: Json, agent: string): Session {
    const asked = callIn(raw);
    if (asked === undefined || this.#calls.has(asked.call)) return session;
    const { call, name, input } = asked;
    const by = agentNamed(agent);
    const next = session.append({ type: "tool-call", name, input, call, at: session.fact.at, by });
    this.#calls.set(call, next);
    return next;
  }

  #outcome(session: Session, raw: Json, agent: string, around: Fields): Session {
    if (!isObject(raw)) return keepRest(session, "result of a tool", raw);
    const fields = new Fields(raw);
    const call = fields.text("callId") ?? "";
    const name = fields.text("name");
    const output = fields.json("output") ?? null;
    around.drop("output", output);
    let next = session;
    let asked = this.#calls.get(call);
    if (asked === undefined) {
      const by = agentNamed(agent);
      asked = next.append({ type: "tool-call", name: name ?? "", input: {}, call, at: next.fact.at, by });
      next = asked;
      this.#calls.set(call, asked);
    }
    next = next.append({ type: "tool-result", of: asked.id, output, at: next.fact.at, by: toolNamed(name) });
    fields.drop("status", "completed");
    const { rest } = fields;
    return rest === undefined ? next : keepRest(next, "result of a tool", rest);
  }

  /** States of agents that work as tools: each a branch from the call that started it, gathered again. */
  #nested(session: Session, fields: Fields, where: string, depth: number): Session {
    const pending = fields.object("pendingAgentToolRuns");
    if (pending === undefined) return session;
    const left: { [key: string]: Json } = {};
    let next = session;
    for (const [key, text] of Object.entries(pending)) {
      const place = `${where === "" ? "" : `${where}.`}pendingAgentToolRuns.${key}`;
      const state = typeof text === "string" ? this.#document.parsed(text, place) : text;
      if (!isObject(state) || depth >= NESTED) {
        left[key] = text;
        continue;
      }
      requireVersion(state, place, this.#document);
      requireAgent(state, place, this.#document);
      const at = next.fact.at;
      const branch = this.read(next.fork(key, { at, by: "runtime" }), state, place, depth + 1);
      next = next.append({ type: "note", kind: "agent-tool", run: key, at });
      next = next.merge(branch, { adopt: "none", why: GATHERED, at, by: "runtime" });
      if (typeof text === "string" && JSON.stringify(state) !== text) left[key] = text;
    }
    fields.keep("pendingAgentToolRuns", Object.keys(left).length > 0 ? left : undefined);
    return next;
  }

  /** What the run waits for. */
  #interruptions(session: Session, fields: Fields): Session {
    const step = new Fields(fields.object("currentStep") ?? {});
    if (step.names.length === 0) return session;
    const data = new Fields(step.object("data") ?? {});
    let next = session;
    const left: Json[] = [];
    for (const item of data.list("interruptions") ?? []) {
      const raw = objectOf(item).rawItem ?? null;
      const asked = callIn(raw);
      const before = asked === undefined ? undefined : this.#asked.get(asked.call);
      if (asked === undefined || before !== undefined) {
        if (before === undefined || !isSame(before, item)) left.push(item);
        continue;
      }
      this.#asked.set(asked.call, item);
      const agent = objectOf(objectOf(item).agent).name;
      const by = typeof agent === "string" ? agent : "";
      next = this.#call(next, raw, by);
      const of = (this.#calls.get(asked.call) as Session).id;
      const what = { tool: asked.name, input: asked.input, agent: by, item };
      const at = next.fact.at;
      next = next.append({
        type: "approval-ask",
        what,
        digest: digestOf(canonical(what)),
        of,
        name: asked.name,
        at,
      });
    }
    data.keep("interruptions", left.length > 0 ? left : undefined);
    step.keep("data", data.rest);
    fields.keep("currentStep", step.rest);
    return next;
  }

  /** An item of the input: a message, a call, a result, or what there is no word for. */
  #said(session: Session, item: Json, agent: string): Session {
    const at = session.fact.at;
    const message = isObject(item) ? messageOf(item) : undefined;
    if (message !== undefined) return session.say(message.content, { role: message.role, at });
    if (callIn(item) !== undefined)
      return this.#call(session.say(partsOf(item), { role: "assistant", at }), item, agent);
    if (isObject(item) && /_(result|output)$/.test(wordsFor(item.type)))
      return this.#outcome(session, item, agent, new Fields({}));
    return session.say(partsOf(item), { role: "assistant", at });
  }
}

function isSaid({ type }: JsonObject): boolean {
  return (typeof type === "string" && !type.endsWith("output_item")) || type === "message_output_item";
}

function amount(tokens: number | undefined): number {
  return tokens === undefined || tokens > Number.MAX_SAFE_INTEGER ? 0 : tokens;
}
