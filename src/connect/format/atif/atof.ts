import type { FactId, Json, Part } from "../../../session/index.js";
import type { Imported, ImportFormat } from "../exchange.js";
import type { Fields } from "../fields.js";
import {
  fieldsIn,
  fieldsOf,
  isFields,
  isTime,
  objectsIn,
  objectsOf,
  own,
  parsed,
  textIn,
} from "../fields.js";
import { defineImport, type Foreign, firstLine } from "../foreign.js";
import { Arrival, contentOf, nameOf, UNKNOWN_OUTCOME } from "../trajectory/arrival.js";

export const atof: ImportFormat = defineImport({
  name: "atof",
  title: "Agentic Trajectory Observability Format 0.1: the events that ATIF is made from",
  fits: (source) => typeof firstLine(source)?.atof_version === "string",
  read,
});

function read(foreign: Foreign): Imported {
  const lines = foreign.lines();
  const at = [lines[0]?.value.timestamp].find(isTime);
  const stream = new Stream(foreign, Arrival.start(foreign, { name: "events", at }));
  for (const { line, value } of lines) stream.take(value, `line ${line}`);
  stream.end();
  return stream.arrival.imported(nameOf(foreign.source.name));
}

type Open = { readonly category: string; readonly of: FactId };

/** Scopes that begin and end, and marks between them. */
class Stream {
  readonly arrival: Arrival;
  readonly #foreign: Foreign;
  readonly #open = new Map<string, Open>();
  readonly #known = new Set<string>();
  readonly #calls = new Map<string, number>();
  readonly #said = new Set<string>();

  constructor(foreign: Foreign, arrival: Arrival) {
    this.#foreign = foreign;
    this.arrival = arrival;
  }

  take(event: Fields, where: string): void {
    this.arrival.clock(event.timestamp);
    const kind = this.#foreign.string(own(event, "kind"), `${where}.kind`);
    const name = this.#foreign.string(own(event, "name"), `${where}.name`);
    const id = this.#foreign.string(own(event, "uuid"), `${where}.uuid`);
    if (kind === "mark") this.#mark(event, name);
    else if (kind !== "scope") this.#foreign.refuse(`${where}.kind`, '"scope" or "mark" was expected');
    else if (event.scope_category === "start") {
      if (this.#known.has(id)) this.#foreign.refuse(`${where}.uuid`, "a scope with this id has begun before");
      this.#known.add(id);
      this.#open.set(id, this.#begin(event, name));
    } else if (event.scope_category === "end") {
      const open =
        this.#open.get(id) ?? this.#foreign.refuse(`${where}.uuid`, "it ends a scope that has not begun");
      this.#open.delete(id);
      this.#finish(event, name, open);
    } else this.#foreign.refuse(`${where}.scope_category`, '"start" or "end" was expected');
    this.arrival.keep("atof event", event, "events");
  }

  end(): void {
    for (const { category, of } of [...this.#open.values()].reverse()) {
      if (category === "llm") this.arrival.add({ type: "model-failure", of, error: UNKNOWN_OUTCOME });
      else if (category === "tool") this.arrival.outcome(of, { error: UNKNOWN_OUTCOME });
      else if (category === "agent") this.arrival.add({ type: "module-exit", of, error: UNKNOWN_OUTCOME });
      else this.arrival.add({ type: "step-failure", of, error: UNKNOWN_OUTCOME });
    }
  }

  #begin(event: Fields, name: string): Open {
    const { arrival } = this;
    const category = String(event.category);
    const data = own(event, "data") ?? null;
    if (category === "agent") return { category, of: arrival.add({ type: "module-enter", module: name }) };
    if (category === "tool")
      return { category, of: arrival.call(name, data ?? {}, profile(event, "tool_call_id")) };
    if (category !== "llm") return { category, of: arrival.add({ type: "step-call", name, input: data }) };
    for (const { role, parts } of askedIn(data)) {
      // The whole conversation is sent each time, with answers that are recorded already.
      const key = JSON.stringify([role, parts]);
      if ((role !== "user" && role !== "system") || parts.length === 0 || this.#said.has(key)) continue;
      this.#said.add(key);
      arrival.say(role, contentOf(parts));
    }
    return { category, of: arrival.ask(profile(event, "model_name") ?? name) };
  }

  #finish(event: Fields, name: string, { category, of }: Open): void {
    const { arrival } = this;
    const data = own(event, "data") ?? null;
    if (category === "agent") arrival.add({ type: "module-exit", of });
    else if (category === "tool") arrival.outcome(of, { output: data });
    else if (category === "llm") {
      const parts = answeredIn(data).map((part) =>
        part.type === "tool-call" && part.call === "" ? { ...part, call: this.#nextCall(part.name) } : part,
      );
      const finish = parts.some((part) => part.type === "tool-call") ? "tool-calls" : "stop";
      const usage = { input: 0, output: 0 };
      arrival.add({ type: "model-reply", of, content: contentOf(parts), finish, usage, model: name });
    } else arrival.add({ type: "step-result", of, value: data });
  }

  /** Gemini gives calls no ids; in the events they are counted by name. */
  #nextCall(name: string): string {
    const count = (this.#calls.get(name) ?? 0) + 1;
    this.#calls.set(name, count);
    return `${name}__${count}`;
  }

  #mark(event: Fields, name: string): void {
    const data = own(event, "data");
    if (isFields(data) && typeof data.passed === "boolean")
      this.arrival.add({ type: "validation-report", name, passed: data.passed, detail: data });
  }
}

function profile(event: Fields, key: string): string | undefined {
  return textIn(fieldsIn(event, "category_profile"), key);
}

/** A message of a provider's interface: messages of OpenAI and Anthropic, contents of Gemini. */
export type Saying = { readonly role: string; readonly parts: readonly Part[] };

/** The messages that a model was asked with. */
export function askedIn(data: Json | undefined): readonly Saying[] {
  const fields = fieldsOf(data);
  const system = textIn(fields, "system");
  const messages = objectsIn(fields, "messages").map((one) => ({
    role: String(own(one, "role") ?? ""),
    parts: partsIn(own(one, "content"), own(one, "tool_calls")),
  }));
  const contents = objectsIn(fields, "contents").map((one) => ({
    role: own(one, "role") === "model" ? "assistant" : String(own(one, "role") ?? "user"),
    parts: objectsIn(one, "parts").flatMap(partOf),
  }));
  const first: readonly Saying[] =
    system === undefined ? [] : [{ role: "system", parts: [{ type: "text", text: system }] }];
  return [...first, ...messages, ...contents];
}

/** The answer of a model. A call without an id has an empty one. */
export function answeredIn(data: Json | undefined): readonly Part[] {
  if (typeof data === "string") return [{ type: "text", text: data }];
  if (!isFields(data)) return [];
  const [candidate = {}] = objectsIn(data, "candidates");
  const content = own(candidate, "content");
  if (isFields(content)) return objectsIn(content, "parts").flatMap(partOf);
  const [choice = {}] = objectsIn(data, "choices");
  const message = own(choice, "message");
  const fields = isFields(message) ? message : data;
  return partsIn(own(fields, "content"), own(fields, "tool_calls"));
}

function partsIn(content: Json | undefined, calls: Json | undefined): readonly Part[] {
  const said: readonly Part[] =
    typeof content === "string" && content !== ""
      ? [{ type: "text", text: content }]
      : objectsOf(content).flatMap(partOf);
  return [...said, ...objectsOf(calls).flatMap(callOf)];
}

function partOf(part: Fields): readonly Part[] {
  const text = textIn(part, "text");
  const call = own(part, "functionCall");
  if (isFields(call)) return callOf(call);
  if (text !== undefined) return [{ type: "text", text }];
  const type = own(part, "type");
  if (type === "tool_use") return callOf(part);
  return type === "tool_result" || own(part, "functionResponse") !== undefined
    ? []
    : [{ type: "other", value: part }];
}

function callOf(call: Fields): readonly Part[] {
  const inside = own(call, "function");
  const fields = isFields(inside) ? inside : call;
  const name = textIn(fields, "name");
  if (name === undefined) return [];
  const given = own(fields, "arguments") ?? own(fields, "input") ?? own(fields, "args") ?? {};
  return [{ type: "tool-call", call: String(own(call, "id") ?? ""), name, input: parsed(given) }];
}
