import type { Json, Session } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import type { Imported, ImportFormat, Source } from "../exchange.js";
import type { Fields } from "../fields.js";
import { amountIn, isFields, isTime, objectsIn, own, stringOf, textIn, wordsFor } from "../fields.js";
import { defineImport, type Foreign, firstLine } from "../foreign.js";
import { Arrival, contentOf, nameOf } from "../trajectory/arrival.js";
import { wordsOf } from "../trajectory/turn.js";
import type { Instruction, Item } from "./turn.js";
import {
  callOf,
  contentIn,
  instructionsOf,
  isExecEvent,
  itemOf,
  kindOf,
  partsOf,
  rolloutOf,
} from "./turn.js";

export const NOTE = "codex lines";

export const codex: ImportFormat = defineImport({
  name: "codex",
  title:
    "Rollout of Codex, or stream of codex exec --json (JSONL): a session for the conversation, and one for each way that was rolled back",
  fits(source: Source): boolean {
    const first = firstLine(source);
    if (first === undefined) return false;
    if (isExecEvent(first)) return true;
    if (own(first, "type") === "session_meta") return isFields(own(first, "payload"));
    return (
      own(first, "type") === undefined &&
      typeof own(first, "id") === "string" &&
      own(first, "instructions") !== undefined
    );
  },
  read,
});

function read(foreign: Foreign): readonly Imported[] {
  const lines = foreign.lines();
  const isStream = lines.some(({ value }) => isExecEvent(value));
  const items = isStream ? rolloutOf(lines) : lines.map(({ line, value }) => itemOf(line, value));
  const instructions = instructionsOf(items);
  if (!instructions.some((one) => one.do === "fail" || one.items.some(isSaid)))
    foreign.refuse("", "there is no conversation in it");
  const story = new Story(foreign, items);
  for (const instruction of instructions) story.take(instruction);
  return story.end();
}

/** A rollout while it becomes sessions. */
class Story {
  readonly #foreign: Foreign;
  #arrival: Arrival;
  /** Ways that were given up. */
  readonly #left: Arrival[] = [];
  /** The session before each thing that the user said. */
  #turns: Session[] = [];
  #wanted = new Map<string, { readonly name: string; readonly input: Json }>();
  #model = "unknown";
  #configured = false;

  constructor(foreign: Foreign, items: readonly Item[]) {
    this.#foreign = foreign;
    const [first] = items;
    const { id, cwd, cli_version: version } = first?.payload ?? {};
    const detail = defined({ id: stringOf(id), cwd: stringOf(cwd), version: stringOf(version) });
    const at = [first?.at, first?.payload.timestamp].find(isTime);
    this.#arrival = Arrival.start(foreign, { name: "rollout", at, detail });
  }

  take(instruction: Instruction): void {
    const [item] = instruction.items as [Item];
    this.#arrival.clock(item.at);
    if (instruction.do === "say") this.#say(item);
    else if (instruction.do === "answer") this.#answer(instruction);
    else if (instruction.do === "output") this.#output(item);
    else if (instruction.do === "compact") this.#compact(item.payload);
    else if (instruction.do === "context") this.#context(item);
    else if (instruction.do === "rollback") this.#rollback(instruction.turns);
    else if (instruction.do === "fail") {
      this.#arrival.add({
        type: "model-failure",
        of: this.#arrival.ask(this.#model),
        error: { name: "CodexError", message: String(own(item.payload, "message") ?? "") },
      });
    }
    const kept = instruction.items.filter(({ isRepeated }) => isRepeated === undefined);
    if (kept.length === 0) return;
    this.#arrival.keep(
      NOTE,
      kept.map(({ line, value }) => ({ line, value })),
      labelOf(item),
      kept.map(({ value }) => value),
    );
  }

  end(): readonly Imported[] {
    const { name } = this.#foreign.source;
    return [
      this.#arrival.imported(nameOf(name)),
      ...this.#left.map((arrival, place) => arrival.imported(nameOf(name, `rolled-back-${place + 1}`))),
    ];
  }

  #context({ payload, type }: Item): void {
    this.#model = textIn(payload, "model") ?? this.#model;
    const base = own(payload, "base_instructions");
    const instructions = own(payload, "instructions") ?? (isFields(base) ? own(base, "text") : base);
    if (type !== "session_meta" || this.#configured || typeof instructions !== "string") return;
    this.#configured = true;
    this.#arrival.add({ type: "agent-configure", agent: "codex", instructions });
  }

  #say({ payload, line }: Item): void {
    const { role } = payload;
    if (role === "user") this.#turns.push(this.#arrival.session);
    const content = contentOf(contentIn(own(payload, "content")));
    if (role === "user") this.#arrival.say("user", content);
    else if (role === "developer" || role === "system") this.#arrival.say("system", content);
    else
      this.#foreign.refuse(`line ${line}.payload.role`, `there is no role ${JSON.stringify(role ?? null)}`);
  }

  #answer({ items, usage }: Instruction & { do: "answer" }): void {
    const parts = items.flatMap(({ payload }) => partsOf(payload));
    const count = (key: string): number | undefined => usage && amountIn(usage, key);
    const calls = items.flatMap(({ payload }) => callOf(payload) ?? []);
    this.#arrival.answer(this.#model, {
      content: contentOf(parts),
      finish: calls.length > 0 ? "tool-calls" : "stop",
      usage: defined({
        input: count("input_tokens"),
        output: count("output_tokens"),
        cached: count("cached_input_tokens"),
        reasoning: count("reasoning_output_tokens"),
      }),
    });
    for (const { call, name, input } of calls) this.#wanted.set(call, { name, input });
  }

  /** A call is recorded with its outcome: a call without an answer waits for nothing. */
  #output({ payload, line }: Item): void {
    const id = this.#foreign.string(own(payload, "call_id"), `line ${line}.payload.call_id`);
    const wanted = this.#wanted.get(id);
    this.#wanted.delete(id);
    const of = this.#arrival.call(wanted?.name ?? "unknown", wanted?.input ?? {}, id);
    const output = own(payload, "output") ?? "";
    const content = isFields(output) ? (own(output, "content") ?? output) : output;
    const told = Array.isArray(content) ? wordsOf(contentIn(content)) || content : content;
    if (isFields(output) && output.success === false)
      this.#arrival.outcome(of, { error: { name: "ToolError", message: wordsFor(told) } });
    else this.#arrival.outcome(of, { output: told });
  }

  #compact(payload: Fields): void {
    const range = this.#arrival.inView();
    if (range === undefined) return;
    const told = objectsIn(payload, "replacement_history").map((one) =>
      wordsOf(contentOf(contentIn(own(one, "content")))),
    );
    const summary = textIn(payload, "message") || told.join("\n");
    this.#arrival.add({ type: "context-compress", ...range, summary, policy: "compaction" });
  }

  /** The user took back the last turns: they stay, on a way of their own. */
  #rollback(count: number): void {
    const back = Math.min(count, this.#turns.length);
    const to = this.#turns[this.#turns.length - back];
    if (back === 0 || to === undefined) return;
    this.#turns = this.#turns.slice(0, this.#turns.length - back);
    this.#left.push(this.#arrival);
    this.#arrival = this.#arrival.fork(to, `after-rollback-${this.#left.length}`);
    this.#wanted = new Map();
  }
}

function isSaid({ type, payload }: Item): boolean {
  return type === "response_item" && typeof kindOf(payload) === "string" && kindOf(payload) !== "";
}

function labelOf({ type, payload, value }: Item): string {
  const kind = own(payload, "type");
  if (isExecEvent(value)) return String(value.type);
  return typeof kind === "string" && kind !== type ? `${type} ${kind}` : type;
}
