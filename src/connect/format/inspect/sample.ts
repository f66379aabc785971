import type { FactId, Json, Principal, Session } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import type { Imported } from "../exchange.js";
import type { Fields } from "../fields.js";
import {
  amountIn,
  fieldsIn,
  fieldsOf,
  isFields,
  isTime,
  objectsIn,
  own,
  stringOf,
  textIn,
  toolSpec,
  without,
} from "../fields.js";
import type { Foreign } from "../foreign.js";
import { type Answer, Arrival } from "../trajectory/arrival.js";
import { wordsOf } from "../trajectory/turn.js";
import { contentIn, failureIn, numberOf } from "./message.js";

/** The kinds of notes of an imported sample. */
export const NOTES = {
  log: "inspect log",
  archive: "inspect archive",
  event: "inspect event",
  sample: "inspect sample",
} as const;

/** A line of the conversation, and what is said on it already. */
type Line = {
  readonly arrival: Arrival;
  readonly said: Map<string, FactId>;
  /** The context was compacted: the next prompt tells to what. */
  compacted?: Fields | undefined;
  config?: { readonly key: string; readonly id: FactId };
};

/** One sample of one epoch while it becomes a session. */
export class SampleStory {
  readonly #foreign: Foreign;
  readonly #log: Fields;
  readonly #sample: Fields;
  readonly #where: string;
  readonly #others: Fields | undefined;
  readonly #events: readonly Fields[];
  readonly #attached: Fields;
  readonly #anchors = new Map<string, { readonly session: Session; readonly said: Map<string, FactId> }>();
  readonly #spans = new Map<string, { readonly of: FactId; readonly line: Line }>();
  readonly #sides = new Map<string, Line>();
  readonly #scores: boolean;
  #main!: Line;

  constructor(foreign: Foreign, log: Fields, sample: Fields, where: string, others: Fields | undefined) {
    this.#foreign = foreign;
    this.#log = log;
    this.#sample = sample;
    this.#where = where;
    this.#others = others;
    const old = fieldsIn(sample, "transcript");
    const events = own(sample, "events") ?? own(old, "events") ?? [];
    this.#events = foreign.objects(events, `${where}.events`);
    const attached = own(sample, "attachments") ?? own(old, "content") ?? {};
    this.#attached = foreign.object(attached, `${where}.attachments`);
    this.#scores = isFields(own(sample, "scores"));
  }

  tell(name: string, key: string): Imported {
    const { task = null, model = null, created } = this.#log.eval as Fields;
    const { id = null, epoch = null, started_at } = this.#sample;
    const at = [this.#events[0]?.timestamp, started_at, created].find(isTime);
    const arrival = Arrival.start(this.#foreign, { name: key, at, detail: { task, model, id, epoch } });
    this.#main = { arrival, said: new Map() };
    arrival.keep(NOTES.log, this.#log, "log");
    if (this.#others !== undefined) arrival.keep(NOTES.archive, this.#others, "archive");
    for (const [index, event] of this.#events.entries()) {
      // Events in a span of a branch are told on its line.
      const line = this.#lineWithin(textIn(event, "span_id")) ?? this.#main;
      line.arrival.clock(event.timestamp);
      this.#tellEvent(line, event, `${this.#where}.events[${index}]`);
      line.arrival.keep(NOTES.event, { index, event }, `${String(event.event)} event`, event);
    }
    for (const side of this.#sides.values()) arrival.take(side.arrival, "a branch of the sample");
    this.#finish();
    return arrival.imported(name);
  }

  #lineWithin(span: string | undefined): Line | undefined {
    return span === undefined ? undefined : (this.#sides.get(span) ?? this.#spans.get(span)?.line);
  }

  #tellEvent(line: Line, event: Fields, where: string): void {
    const { arrival } = line;
    switch (event.event) {
      case "model":
        this.#model(line, event, where);
        break;
      case "tool":
        this.#tool(line, event, where);
        break;
      case "span_begin":
      case "span_end":
      case "step":
        this.#span(line, event);
        break;
      case "anchor":
        this.#anchors.set(String(own(event, "anchor_id")), {
          session: arrival.session,
          said: new Map(line.said),
        });
        return;
      case "branch": {
        const anchor = this.#anchors.get(String(own(event, "from_anchor")));
        const span = textIn(event, "span_id");
        if (anchor === undefined || span === undefined || this.#sides.has(span)) return;
        const side = line.arrival.fork(anchor.session, `branch-${this.#sides.size + 1}`);
        this.#sides.set(span, { arrival: side, said: new Map(anchor.said) });
        return;
      }
      case "compaction":
        line.compacted = event;
        return;
      case "approval":
        decide(arrival, event);
        break;
      case "sandbox":
        this.#sandbox(arrival, event);
        break;
      case "score":
        // Those that count are told at the end, with their names.
        if (event.intermediate === true || !this.#scores)
          addScore(this.#main.arrival, String(own(event, "scorer") ?? "score"), own(event, "score") ?? null);
        return;
      case "error":
        fail(arrival, own(event, "error") ?? null);
        break;
      case "subtask":
        for (const inner of objectsIn(event, "events")) this.#tellEvent(line, inner, where);
    }
  }

  #model(line: Line, event: Fields, where: string): void {
    const { arrival } = line;
    const input = this.#foreign.objects(this.#resolved(own(event, "input") ?? []), `${where}.input`);
    if (line.compacted !== undefined) this.#compress(line, input);
    for (const [key, message] of keyed(input)) this.#say(line, key, message);
    const model = String(own(event, "model") ?? "unknown");
    const settings = fieldsIn(event, "config");
    const parameters = Object.keys(settings).length > 0 ? settings : undefined;
    const config = this.#configure(line, event, parameters);
    const error = own(event, "error") ?? null;
    const fields = fieldsIn(event, "output");
    const choice = firstChoice(fields);
    if (error !== null || choice === undefined) {
      const of = arrival.ask(model, undefined, parameters, config);
      const message = stringOf(error) ?? String(own(fields, "error") ?? "The log has no answer.");
      arrival.add({ type: "model-failure", of, error: { name: "ModelError", message } });
      return;
    }
    const seconds = amountIn(event, "working_time");
    const { answer, message } = this.#answerIn(fields, choice, seconds);
    line.said.set(freeKey(line, message), arrival.answer(model, answer, parameters, config));
  }

  #answerIn(output: Fields, choice: Fields, seconds = amountIn(output, "time")) {
    const held = this.#resolved(own(choice, "message") ?? null);
    const message = this.#foreign.object(held, "choices[0].message");
    const counts = fieldsIn(output, "usage");
    const answer: Answer = {
      content: contentIn(own(message, "content"), own(message, "tool_calls")),
      finish: String(own(choice, "stop_reason") ?? "unknown"),
      usage: defined({
        input: amountIn(counts, "input_tokens"),
        output: amountIn(counts, "output_tokens"),
        cached: amountIn(counts, "input_tokens_cache_read"),
        reasoning: amountIn(counts, "reasoning_tokens"),
      }),
      cost: amountIn(counts, "total_cost"),
      model: textIn(output, "model"),
      milliseconds: millisecondsOf(seconds),
    };
    return { message, answer };
  }

  #configure(line: Line, event: Fields, parameters: Json | undefined): FactId | undefined {
    const tools = objectsIn(event, "tools");
    if (tools.length === 0) return undefined;
    const key = JSON.stringify([tools, parameters ?? null]);
    if (line.config?.key !== key) {
      const id = line.arrival.add({
        type: "agent-configure",
        agent: String(own(event, "role") ?? own(this.#log.eval as Fields, "task") ?? "agent"),
        tools: tools.map(toolSpec),
        ...defined({ parameters }),
      });
      line.config = { key, id };
    }
    return line.config?.id;
  }

  #tool(line: Line, event: Fields, where: string): void {
    const id = String(own(event, "id") ?? "");
    for (const inner of objectsIn(event, "events")) this.#tellEvent(line, inner, where);
    const name = String(own(event, "function") ?? "");
    const of = line.arrival.call(name, this.#resolved(own(event, "arguments") ?? {}), id);
    const error = own(event, "error") ?? null;
    line.arrival.outcome(
      of,
      error === null ? { output: this.#resolved(own(event, "result") ?? null) } : { error: failureIn(error) },
      millisecondsOf(amountIn(event, "working_time")),
    );
    line.said.set(`tool ${id}`, of);
  }

  #span(line: Line, event: Fields): void {
    const begins = event.event === "span_begin" || own(event, "action") === "begin";
    const key = String(own(event, "id") ?? own(event, "name") ?? "");
    if (begins) {
      const inside = this.#lineWithin(textIn(event, "parent_id")) ?? line;
      const of = inside.arrival.add({ type: "module-enter", module: String(own(event, "name") ?? "") });
      this.#spans.set(key, { of, line: inside });
      return;
    }
    const span = this.#spans.get(key);
    if (span?.line !== line) return;
    this.#spans.delete(key);
    line.arrival.add({ type: "module-exit", of: span.of });
  }

  /** The messages that the next prompt lacks were compacted; its new messages are the summary. */
  #compress(line: Line, input: readonly Fields[]): void {
    const event = line.compacted as Fields;
    line.compacted = undefined;
    const asked = keyed(input);
    const kept = new Set(asked.map(([key]) => key));
    const gone = [...line.said].filter(([key]) => !kept.has(key)).map(([, id]) => id);
    const [from, to] = [gone[0], gone.at(-1)];
    if (from === undefined || to === undefined) return;
    const fresh = asked.filter(([key, { role }]) => !line.said.has(key) && role === "user");
    const [before, after] = [amountIn(event, "tokens_before"), amountIn(event, "tokens_after")];
    const id = line.arrival.add({
      type: "context-compress",
      from,
      to,
      summary: fresh.map(([, message]) => wordsOf(contentIn(own(message, "content"), undefined))).join("\n"),
      policy: String(own(event, "type") ?? "summary"),
      ...(before !== undefined && after !== undefined && { tokens: { before, after } }),
    });
    for (const [key] of fresh) line.said.set(key, id);
  }

  #sandbox(arrival: Arrival, event: Fields): void {
    if (event.action !== "exec") return;
    const code = own(event, "result") ?? null;
    arrival.add({
      type: "command-run",
      sandbox: "inspect",
      incarnation: 0,
      command: own(event, "cmd") ?? "",
      outcome: code === 0 ? "ok" : "error",
      code: typeof code === "number" ? code : null,
      ...(typeof event.output === "string" && { stdout: this.#resolved(event.output) }),
      milliseconds: 0,
    });
  }

  /** Reads the end of the sample: a log without events has the whole conversation there. */
  #finish(): void {
    const sample = this.#sample;
    const line = this.#main;
    const messages = this.#foreign.objects(
      this.#resolved(own(sample, "messages") ?? []),
      `${this.#where}.messages`,
    );
    const output = own(sample, "output");
    const last = messages.findLast((message) => message.role === "assistant");
    const silent = !this.#events.some((event) => event.event === "model");
    for (const [key, message] of keyed(messages)) {
      if (silent && message.role === "assistant" && !line.said.has(key)) {
        const whole = isFields(output) && message === last ? without(output, "choices") : {};
        const model = String(own(message, "model") ?? own(this.#log.eval as Fields, "model") ?? "unknown");
        const choice = message === last ? firstChoice(fieldsOf(output)) : undefined;
        const told = this.#answerIn(whole, { ...choice, message });
        line.said.set(freeKey(line, told.message), line.arrival.answer(model, told.answer));
      } else this.#say(line, key, message);
    }
    for (const [name, score] of Object.entries(fieldsIn(sample, "scores")))
      addScore(line.arrival, name, score);
    const error = own(sample, "error") ?? null;
    if (error !== null && !this.#events.some((event) => event.event === "error")) fail(line.arrival, error);
    const transcript = own(sample, "transcript");
    const rest = without(sample, "events", "transcript");
    line.arrival.keep(
      NOTES.sample,
      isFields(transcript) && own(sample, "events") === undefined
        ? { ...rest, transcript: without(transcript, "events") }
        : rest,
      "sample",
    );
  }

  #say(line: Line, key: string, message: Fields): void {
    if (line.said.has(key)) return;
    const { role } = message;
    const content = contentIn(own(message, "content"), own(message, "tool_calls"));
    if (role === "tool") {
      const error = own(message, "error") ?? null;
      const name = String(own(message, "function") ?? "");
      const of = line.arrival.call(name, {}, textIn(message, "tool_call_id"));
      line.said.set(key, of);
      line.arrival.outcome(
        of,
        error === null ? { output: own(message, "content") ?? null } : { error: failureIn(error) },
      );
    } else if (role === "user" || role === "system" || role === "assistant")
      line.said.set(key, line.arrival.say(role, content));
    else this.#foreign.refuse(`${this.#where}.messages`, `there is no role ${JSON.stringify(role ?? null)}`);
  }

  /** With what is attached in the place of its name. */
  #resolved(value: Json): Json {
    if (typeof value === "string") {
      const name = /^(?:attachment|tc):\/\/(\w+)$/.exec(value)?.[1];
      const found = name === undefined ? undefined : own(this.#attached, name);
      return typeof found === "string" ? found : value;
    }
    if (Array.isArray(value)) return value.map((part) => this.#resolved(part as Json));
    if (!isFields(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, this.#resolved(part)]));
  }
}

function addScore(arrival: Arrival, name: string, score: Json): void {
  const number = numberOf(isFields(score) ? own(score, "value") : score);
  arrival.add({
    type: "validation-report",
    name,
    passed: number !== undefined && number >= 0.5,
    ...(number !== undefined && Number.isFinite(number) && { score: number }),
    detail: score,
  });
}

function decide(arrival: Arrival, event: Fields): void {
  const decision = String(own(event, "decision"));
  const approver = String(own(event, "approver") ?? "");
  const by: Principal = approver === "human" ? "user" : approver === "" ? "service" : `service:${approver}`;
  const what = { message: own(event, "message") ?? "", call: own(event, "call") ?? null };
  if (decision === "escalate") return;
  arrival.decide(
    what,
    decision === "approve" || decision === "modify" ? "approve" : "reject",
    by,
    textIn(event, "explanation"),
    own(event, "modified") ?? undefined,
  );
}

function fail(arrival: Arrival, error: Json): void {
  const message = stringOf(isFields(error) ? error.message : error) ?? JSON.stringify(error);
  const of = arrival.add({ type: "step-call", name: "sample" });
  arrival.add({ type: "step-failure", of, error: { name: "EvalError", message } });
}

/** Messages with what they are known by; without ids the same words may be said several times. */
function keyed(messages: readonly Fields[]): readonly (readonly [key: string, message: Fields])[] {
  const counts = new Map<string, number>();
  return messages.map((message) => {
    const key = keyOf(message);
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    return [count === 0 ? key : `${key} ${count}`, message];
  });
}

/** The key of a message that was just said, perhaps not for the first time. */
function freeKey(line: Line, message: Fields): string {
  const key = keyOf(message);
  let [free, count] = [key, 0];
  for (; line.said.has(free) && !free.startsWith("id "); free = `${key} ${count}`) count += 1;
  return free;
}

/** One message is the same wherever it stands: by its id, or by what it says. */
function keyOf(message: Fields): string {
  const { role = null, content = null, tool_calls = null } = message;
  const [call, id] = [textIn(message, "tool_call_id"), textIn(message, "id")];
  if (role === "tool" && call !== undefined) return `tool ${call}`;
  return id === undefined ? JSON.stringify([role, content, tool_calls]) : `id ${id}`;
}

function firstChoice(output: Fields): Fields | undefined {
  const choice = Array.isArray(output.choices) ? (output.choices as readonly Json[])[0] : undefined;
  return isFields(choice) ? choice : undefined;
}

function millisecondsOf(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}
