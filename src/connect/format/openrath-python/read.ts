import type { Content, FactId, Json, Part, Session } from "../../../session/index.js";
import { defined, parseJson } from "../../../util/index.js";
import type { Imported, ImportFormat, Source } from "../exchange.js";
import type { Fields } from "../fields.js";
import {
  amountIn,
  argumentsOf,
  fieldsIn,
  isFields,
  objectsIn,
  own,
  stringOf,
  textIn,
  toolNamed,
  wordsFor,
} from "../fields.js";
import { beginsLike, defineImport, type Foreign } from "../foreign.js";
import { GEN_AI, OPERATION } from "../otel/conventions.js";
import { MEMORY_NOTE } from "../otel/describe.js";
import { Arrival, contentOf, nameOf, partsIn } from "../trajectory/arrival.js";
import { checked, type Entry, entriesOf, inOrder, type Line, type Row, sharedRows } from "./line.js";

export const NOTE = "openrath-python lines";
const AGENT = "openrath-python";

/** Sessions of OpenRath for Python: each that no other goes on from is a session, with those before it in its history. */
export const openrathPython: ImportFormat = defineImport({
  name: AGENT,
  title: "Sessions of OpenRath for Python (JSONL): session files, lineage exports and session graphs",
  fits: (source: Source) =>
    beginsLike(
      source,
      /^\s*\{/,
      /"record_type"\s*:\s*"(header|chunk|session_node|session_edge|episode_start)"|"parent_session_ids"\s*:/,
      /"lineage_kind"\s*:|"episode_id"\s*:|"payload"\s*:\s*\{|"child"\s*:/,
    ),
  read,
});

/** A session that was told: after how many of its messages the record stands where. */
type Told = {
  readonly arrival: Arrival;
  readonly rows: readonly Row[];
  readonly after: ReadonlyMap<number, Session>;
  isCovered: boolean;
};

function read(foreign: Foreign): readonly Imported[] {
  const lines = foreign.jsonLines((value, where) => checked(value, where, foreign));
  if (lines.length === 0) foreign.refuse("", "the file is empty");
  const entries = inOrder(entriesOf(lines, foreign), foreign);
  const sessions = new Map<string, Told>();
  for (const entry of entries) sessions.set(entry.id, tell(entry, sessions, foreign));
  const bare = entries.filter(({ rows, trailer }) => rows.length === 0 && trailer === undefined).length;
  if (bare > 0)
    foreign.notes.add(`The file has only the lineage of ${bare} of its sessions, and not their messages.`);
  const heads = [...sessions].filter(([, { isCovered }]) => !isCovered);
  heads[0]?.[1].arrival.keepBroken();
  const { name } = foreign.source;
  return heads.map(([id, { arrival }]) =>
    arrival.imported(heads.length === 1 ? nameOf(name) : nameOf(name, id || "without-header")),
  );
}

function tell(entry: Entry, sessions: ReadonlyMap<string, Told>, foreign: Foreign): Told {
  const parents = entry.parents.flatMap((id) => sessions.get(id) ?? []);
  const [parent, ...others] = parents;
  const merged = entry.kind === "op_merge" && parent !== undefined && others.length > 0;
  const before = parent === undefined ? undefined : merged ? gathered(parents) : parent.rows;
  // A lineage export has no messages: those that the session shares with its parent are known all the same.
  const isBare = entry.rows.length === 0 && entry.trailer === undefined;
  const compressed = entry.kind === "op_session_compress" && parent !== undefined;
  const rows = !isBare ? entry.rows : compressed ? [] : (before ?? []).slice(0, entry.count);
  const shared = before === undefined ? 0 : compressed ? before.length : sharedRows(before, rows);
  const whole = merged && shared === before?.length;
  const from = whole ? (parent?.rows.length ?? 0) : shared;
  const [arrival, told] = parent === undefined ? [begin(entry, foreign), 0] : fork(entry, parent, from);
  const after = new Map(
    parent === undefined || compressed ? [] : [...parent.after].filter(([count]) => count <= told),
  );
  if (entry.head !== undefined) keep(arrival, entry.head);
  for (const other of parent === undefined ? [] : others) join(arrival, entry, other, whole);
  const known = whole ? shared : compressed ? 0 : told;
  if (parent !== undefined) repeat(arrival, rows.slice(0, known), before ?? []);
  after.set(known, arrival.session);
  const last = rows.findLastIndex(({ kind }, place) => place >= known && kind === "assistant");
  const teller = new Teller(arrival, usageIn(entry), rows.slice(0, known));
  for (let place = known; place < rows.length && !isBare; place++) {
    const row = rows[place] as Row;
    if (compressed && place === 0) sumUp(arrival, row);
    else teller.say(row, place === last, entry.kind);
    keep(arrival, row);
    after.set(place + 1, arrival.session);
  }
  teller.end(foreign);
  if (entry.reward !== undefined) judge(arrival, entry.reward);
  for (const line of entry.also) keep(arrival, line);
  if (entry.trailer !== undefined) {
    arrival.clock(own(entry.trailer.value, "closed_at"));
    keep(arrival, entry.trailer);
  }
  after.set(rows.length, arrival.session);
  return { arrival, rows, after, isCovered: false };
}

/** The messages of a merged session: those of one side, and then those of the other, also where both begin alike. */
function gathered(parents: readonly Told[]): readonly Row[] {
  return parents.flatMap(({ rows }) => rows);
}

function begin({ id, at, kind, operator, sandbox, parents }: Entry, foreign: Foreign): Arrival {
  const missing = parents.length > 0 ? { parents } : {};
  const detail = { ...defined({ id: id || undefined, operator, sandbox }), kind, ...missing };
  return Arrival.start(foreign, { name: id || "session", at, detail });
}

/** Leaves the parent after the messages that both have, or after the last of them that the record has a place for. */
function fork({ id, kind, operator, at }: Entry, parent: Told, shared: number): readonly [Arrival, number] {
  let count = shared;
  while (count > 0 && !parent.after.has(count)) count -= 1;
  const from = parent.after.get(count) ?? parent.arrival.session;
  if (from === parent.arrival.session) parent.isCovered = true;
  const name = `${kind.replace(/^op_/, "")}-${id.slice(0, 8)}`;
  const arrival = parent.arrival.fork(from, nameOf(name), operator);
  return [arrival.clock(at), count];
}

/** A further parent: the other side of a merge, or the session of the agent, which has its instructions. */
function join(arrival: Arrival, { operator, kind }: Entry, other: Told, isWhole: boolean): void {
  if (other.arrival.session.id === arrival.session.id) return;
  arrival.take(other.arrival, operator ?? kind, isWhole ? "both" : "none");
  other.isCovered = true;
}

function judge(arrival: Arrival, reward: number): void {
  arrival.add({
    type: "validation-report",
    name: "reward",
    passed: reward >= 1,
    score: reward,
    detail: {},
    by: "runtime",
  });
}

/** One message takes the place of those before it. */
function sumUp(arrival: Arrival, { payload }: Row): void {
  const range = arrival.inView();
  const summary = wordsFor(own(payload, "content"));
  if (range === undefined) arrival.say("user", summary, "agent");
  else arrival.add({ type: "context-compress", ...range, summary, policy: "run_session_compress" });
}

type Usage = { readonly input: number; readonly output: number };

function usageIn({ trailer, kind }: Entry): Usage | undefined {
  const usage = trailer === undefined ? undefined : own(trailer.value, "cumulative_usage");
  // A merge adds up what its sides have counted already.
  if (!isFields(usage) || kind === "op_merge") return undefined;
  return { input: amountIn(usage, "prompt_tokens") ?? 0, output: amountIn(usage, "completion_tokens") ?? 0 };
}

/** Tells the messages of a session. */
class Teller {
  readonly #arrival: Arrival;
  readonly #usage: Usage | undefined;
  readonly #open = new Map<string, Part & { type: "tool-call" }>();

  /** `before` are the messages that the session shares with its parent: a call in them may be answered only here. */
  constructor(arrival: Arrival, usage: Usage | undefined, before: readonly Row[]) {
    this.#arrival = arrival;
    this.#usage = usage;
    for (const { kind, payload } of before)
      if (kind === "assistant") this.#ask(payload);
      else if (kind === "tool_result") this.#open.delete(textIn(payload, "tool_call_id") ?? "");
  }

  say({ kind, payload }: Row, isLast: boolean, made: string): void {
    if (kind === "assistant") this.#answer(payload, isLast);
    else if (kind === "tool_result") this.#outcome(payload);
    else {
      const content = contentIn(payload);
      const memory = MEMORY.exec(typeof content === "string" ? content : "");
      if (memory !== null) this.#recall(memory[1] as string);
      const author = memory !== null ? "tool:memory" : made === "op_session_compress" ? "agent" : undefined;
      this.#arrival.say(kind, content, author);
    }
  }

  /** Reports calls without a result: the process may have ended after a tool did its work. */
  end(foreign: Foreign): void {
    for (const { call, name } of this.#open.values())
      foreign.warnings.add(`the call ${call} of ${name} has no result: whether it happened is unknown.`);
  }

  /** The loop counts its tokens once, at its end: they are those of its last answer. */
  #answer(payload: Fields, isLast: boolean): void {
    const calls = this.#ask(payload);
    const content = own(payload, "content");
    const words: readonly Part[] =
      typeof content === "string"
        ? partsIn(content)
        : content === undefined || content === null
          ? []
          : [{ type: "other", value: content }];
    this.#arrival.answer("unknown", {
      content: contentOf([...words, ...calls]),
      finish: calls.length > 0 ? "tool-calls" : "stop",
      usage: isLast ? this.#usage : undefined,
      agent: AGENT,
    });
  }

  #ask(payload: Fields): readonly Part[] {
    const calls = objectsIn(payload, "tool_calls").map(callOf);
    for (const call of calls) this.#open.set(call.call, call);
    return calls;
  }

  #outcome(payload: Fields): void {
    const id = textIn(payload, "tool_call_id") ?? "";
    const asked = this.#open.get(id);
    this.#open.delete(id);
    const name = asked?.name ?? textIn(payload, "name") ?? "unknown";
    const of = this.#arrival.call(name, asked?.input ?? {}, id === "" ? undefined : id, AGENT);
    this.#settle(of, name, own(payload, "content") ?? "");
  }

  #settle(of: FactId, name: string, content: Json): void {
    const value = typeof content === "string" ? parseJson(content) : content;
    const by = toolNamed(name);
    if (isFields(value) && value.ok === false && typeof value.error_kind === "string") {
      const message = stringOf(value.message) ?? value.error_kind;
      this.#arrival.add({
        type: "tool-failure",
        of,
        error: { name: "ToolError", message, code: value.error_kind },
        by,
      });
    } else
      this.#arrival.add({ type: "tool-result", of, output: isFields(value) ? (value as Json) : content, by });
  }

  /** A memory was looked for and put into the conversation, in a message that says where it is from. */
  #recall(uri: string): void {
    const attributes = { [GEN_AI.memoryRecord]: uri };
    this.#arrival.add({ type: "note", kind: MEMORY_NOTE, operation: OPERATION.search, attributes });
  }
}

const MEMORY = /^\[(?:untrusted )?memory:([^\]\s]+)\]/;

function contentIn(payload: Fields): Content {
  const content = own(payload, "content") ?? "";
  return typeof content === "string" ? content : [{ type: "other", value: content }];
}

function callOf(call: Fields): Part & { type: "tool-call" } {
  const asked = fieldsIn(call, "function");
  const text = textIn(asked, "arguments");
  const input = text === undefined ? {} : text === "" ? {} : argumentsOf(text).input;
  return { type: "tool-call", call: textIn(call, "id") ?? "", name: textIn(asked, "name") ?? "", input };
}

function keep(arrival: Arrival, { line, value }: Line): void {
  arrival.keep(NOTE, { line, value }, textIn(value, "record_type") ?? "lineage", value);
}

/** The messages that a file repeats from the parent of a session are named by their lines. */
function repeat(arrival: Arrival, rows: readonly Row[], before: readonly Row[]): void {
  const own = rows.flatMap(({ line, value }, place) => {
    const same = before[place];
    if (same === undefined || same.line === line) return [];
    const { index, ...rest } = value;
    return [{ line, same: same.line, ...defined({ index }), ...differing(rest, same.value) }];
  });
  if (own.length > 0) arrival.rest(NOTE, own);
}

/** The fields in which a line differs from the one that it repeats. */
function differing(value: Fields, same: Fields): { readonly more?: Fields } {
  const more = Object.fromEntries(
    Object.entries(value).filter(([key, part]) => JSON.stringify(part) !== JSON.stringify(own(same, key))),
  );
  return Object.keys(more).length > 0 ? { more } : {};
}
