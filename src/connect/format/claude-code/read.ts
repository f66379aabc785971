import type { Json, Part, Usage } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import type { Imported, ImportFormat, Source } from "../exchange.js";
import type { Fields } from "../fields.js";
import {
  amountIn,
  fieldsIn,
  fieldsOf,
  isFields,
  isTime,
  objectsOf,
  own,
  textIn,
  wordsFor,
} from "../fields.js";
import { beginning, defineImport, type Foreign, firstLine } from "../foreign.js";
import { Arrival, contentOf, nameOf } from "../trajectory/arrival.js";
import { wordsOf } from "../trajectory/turn.js";
import { blocksIn, type Chains, chainsOf, type Group, type Line, messageIn } from "./chain.js";

export const NOTE = "claude-code lines";

export const claudeCode: ImportFormat = defineImport({
  name: "claude-code",
  title:
    "Session of Claude Code (JSONL): a session for the conversation, and one for each fork that was left",
  fits(source: Source): boolean {
    const text = beginning(source, 1024 ** 2);
    if (!/^\s*\{\s*"/.test(text) || !/"(sessionId|session_id)"\s*:/.test(text)) return false;
    // The first line may be one that cannot be read.
    const second = text.indexOf("\n") + 1;
    const [first, next] = [firstLine(source), firstLine({ ...source, bytes: source.bytes.subarray(second) })];
    if (typeof (first ?? next)?.type !== "string") return false;
    return (
      /"parentUuid"\s*:/.test(text) ||
      (/"type"\s*:\s*"(user|assistant)"/.test(text) && /"message"\s*:\s*\{/.test(text))
    );
  },
  read: (foreign) => new Story(foreign, chainsOf(foreign, foreign.lines())).tell(),
});

type Fork = { readonly arrival: Arrival; readonly group: Group; readonly name: string };

/** A file while it becomes sessions: trees of lines become forks of sessions. */
class Story {
  readonly #foreign: Foreign;
  readonly #chains: Chains;
  readonly #asides: Set<Group>;
  readonly #forks: Fork[] = [];
  readonly #main = new Set<Group>();
  #names = 0;

  constructor(foreign: Foreign, chains: Chains) {
    this.#foreign = foreign;
    this.#chains = chains;
    const own = chains.roots.some(({ aside, says }) => !aside && says);
    this.#asides = new Set(own ? chains.roots.filter(({ aside }) => aside) : []);
  }

  tell(): readonly Imported[] {
    const { source } = this.#foreign;
    const roots = this.#chains.roots.filter((root) => !this.#asides.has(root));
    if (!roots.some(({ says }) => says)) this.#foreign.refuse("", "there is no conversation in it");
    this.#markMain(roots);
    const last = roots.findLast((root) => this.#main.has(root)) ?? roots[0];
    const told: (readonly [name: string, arrival: Arrival])[] = [];
    for (const root of roots) {
      const suffix = root === last ? "" : `part-${told.length + 1}`;
      const arrival = this.#begin(root, suffix === "" ? "session" : suffix);
      this.#tellFrom(root, arrival);
      told.push([suffix, arrival]);
    }
    // Sub-agents of which nothing says who called them.
    for (const root of [...this.#asides]) told.push([`sidechain-${told.length}`, this.#aside(root)]);
    for (let fork = this.#forks.shift(); fork !== undefined; fork = this.#forks.shift()) {
      this.#tellFrom(fork.group, fork.arrival);
      told.push([fork.name, fork.arrival]);
    }
    const main = told.find(([suffix]) => suffix === "")?.[1] as Arrival;
    for (const line of this.#chains.loose) keepLines(main, [line], String(own(line.value, "type") ?? "line"));
    main.keepBroken();
    return told
      .map(([suffix, arrival]) =>
        arrival.imported(suffix === "" ? nameOf(source.name) : nameOf(source.name, suffix)),
      )
      .sort(
        (one, other) => Number(other.name === nameOf(source.name)) - Number(one.name === nameOf(source.name)),
      );
  }

  /** The way to what was said last. */
  #markMain(roots: readonly Group[]): void {
    let [newest, found]: [number, Group | undefined] = [-1, undefined];
    const open = [...roots];
    for (let group = open.pop(); group !== undefined; group = open.pop()) {
      const line = group.lines.at(-1)?.line ?? 0;
      if (group.kind !== "other" && line > newest) [newest, found] = [line, group];
      open.push(...group.children);
    }
    for (; found !== undefined; found = found.parent) this.#main.add(found);
  }

  #begin(root: Group, name: string): Arrival {
    const value = root.lines[0]?.value ?? {};
    const { sessionId, session_id, version, cwd, gitBranch } = value;
    const detail = defined({ sessionId, session_id, version, cwd, gitBranch });
    return Arrival.start(this.#foreign, { name, at: [value.timestamp].find(isTime), detail });
  }

  #tellFrom(start: Group, arrival: Arrival): void {
    let group: Group | undefined = start;
    while (group !== undefined) {
      this.#tellGroup(group, arrival);
      const speaking: Group[] = group.children.filter(({ says }) => says);
      for (const child of group.children) if (!child.says) this.#keepAside(child, arrival);
      const next: Group | undefined = speaking.find((child) => this.#main.has(child)) ?? speaking.at(-1);
      for (const child of speaking) {
        if (child === next) continue;
        this.#names += 1;
        const name = `fork-${this.#names}`;
        this.#forks.push({ arrival: arrival.fork(arrival.session, name), group: child, name });
      }
      group = next;
    }
  }

  /** Progress, hooks and the like: nothing was said, but it is of this place. */
  #keepAside(group: Group, arrival: Arrival): void {
    const open = [group];
    for (let one = open.pop(); one !== undefined; one = open.pop()) {
      keepLines(arrival, one.lines, labelOf(one));
      open.push(...one.children);
    }
  }

  #tellGroup(group: Group, arrival: Arrival): void {
    arrival.clock(own(group.lines[0]?.value ?? {}, "timestamp"));
    if (group.kind === "assistant") this.#answer(group, arrival);
    else if (group.kind === "user")
      for (const line of group.lines)
        this.#user(line, arrival, { aside: group.aside && group.parent === undefined });
    keepLines(arrival, group.lines, labelOf(group));
  }

  #answer({ lines }: Group, arrival: Arrival): void {
    const answers = lines.filter(({ value }) => value.type === "assistant");
    const parts = answers.flatMap(({ value }) => blocksIn(messageIn(value)).map(partOf));
    const messages = answers.map(({ value }) => messageIn(value));
    const model = messages.flatMap((message) => textIn(message, "model") ?? [])[0] ?? "unknown";
    if (answers.some(({ value }) => value.isApiErrorMessage === true)) {
      const of = arrival.ask(model);
      arrival.add({ type: "model-failure", of, error: { name: "ApiError", message: wordsOf(parts) } });
      return;
    }
    const reason = messages.flatMap((message) => textIn(message, "stop_reason") ?? []).at(-1) ?? "unknown";
    arrival.answer(model, {
      content: contentOf(parts),
      finish: FINISHES.get(reason) ?? reason,
      usage: usageOf(messages),
      response: textIn(messages[0] ?? {}, "id"),
    });
    const calls = new Map(
      parts.flatMap((part) => (part.type === "tool-call" ? [[part.call, part] as const] : [])),
    );
    for (const line of lines) if (line.value.type === "user") this.#user(line, arrival, { calls });
  }

  /** A line in the role of the user. The author of the program's own texts is the runtime, and an agent asks a sub-agent. */
  #user(
    { value }: Line,
    arrival: Arrival,
    {
      calls,
      aside = false,
    }: { readonly calls?: ReadonlyMap<string, Part & { type: "tool-call" }>; readonly aside?: boolean },
  ): void {
    arrival.clock(own(value, "timestamp"));
    const blocks = blocksIn(messageIn(value));
    const words = contentOf(blocks.filter(({ type }) => type !== "tool_result").map(partOf));
    if (value.isCompactSummary === true && this.#compress(wordsOf(words), arrival)) return;
    for (const block of blocks) {
      if (block.type !== "tool_result") continue;
      const id = String(own(block, "tool_use_id") ?? "");
      const call = calls?.get(id);
      const of = arrival.call(call?.name ?? "unknown", call?.input ?? {}, id === "" ? undefined : id);
      this.#takeAside(call, value, arrival);
      const content = own(block, "content") ?? "";
      const text = Array.isArray(content) ? wordsOf(contentOf(objectsOf(content).map(partOf))) : content;
      if (block.is_error === true)
        arrival.outcome(of, { error: { name: "ToolError", message: wordsFor(text) } });
      else arrival.outcome(of, { output: isPlain(content) ? text : content });
    }
    if (words === "") return;
    if (value.isMeta === true) arrival.say("system", words, "runtime");
    else arrival.say("user", words, aside ? "agent" : undefined);
  }

  /** The conversation of a sub-agent is taken in before the call that started it ends. */
  #takeAside(call: (Part & { type: "tool-call" }) | undefined, value: Fields, arrival: Arrival): void {
    const agent = textIn(fieldsIn(value, "toolUseResult"), "agentId");
    const prompt = textIn(fieldsOf(call?.input), "prompt");
    for (const root of this.#asides) {
      const first = root.lines[0]?.value ?? {};
      const isIts =
        (agent !== undefined && own(first, "agentId") === agent) ||
        (call !== undefined && own(first, "parent_tool_use_id") === call.call) ||
        (prompt !== undefined && wordsOf(blocksIn(messageIn(first)).map(partOf)) === prompt);
      if (!isIts) continue;
      arrival.take(this.#aside(root), "a sub-agent");
      return;
    }
  }

  #aside(root: Group): Arrival {
    this.#asides.delete(root);
    const arrival = this.#begin(root, `sidechain-${root.lines[0]?.line ?? 0}`);
    this.#tellFrom(root, arrival);
    return arrival;
  }

  #compress(summary: string, arrival: Arrival): boolean {
    const range = arrival.inView();
    if (range === undefined) return false;
    arrival.add({ type: "context-compress", ...range, summary, policy: "compaction" });
    return true;
  }
}

const FINISHES: ReadonlyMap<string, string> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["tool_use", "tool-calls"],
  ["max_tokens", "length"],
]);

function keepLines(arrival: Arrival, lines: readonly Line[], label: string): void {
  arrival.keep(
    NOTE,
    lines.map(({ line, value }) => ({ line, value })),
    label,
    lines.map(({ value }) => value),
  );
}

function labelOf(group: Group): string {
  return String(own(group.lines[0]?.value ?? {}, "type") ?? "line");
}

/** Whether content is words alone. */
function isPlain(content: Json): boolean {
  return (
    typeof content === "string" ||
    (Array.isArray(content) && content.every((block) => isFields(block) && block.type === "text"))
  );
}

function partOf(block: Fields): Part {
  const { type, text, thinking, signature, id, name, source } = block;
  if (type === "text" && typeof text === "string") return { type: "text", text };
  if (type === "thinking" && typeof thinking === "string")
    return {
      type: "reasoning",
      text: thinking,
      ...(typeof signature === "string" && { meta: { anthropic: { signature } } }),
    };
  if (type === "tool_use" && typeof id === "string" && typeof name === "string")
    return { type: "tool-call", call: id, name, input: own(block, "input") ?? {} };
  if ((type === "image" || type === "document") && isFields(source)) {
    const { media_type: media, data } = source;
    if (typeof media === "string" && typeof data === "string") return { type: "file", media, data };
  }
  return { type: "other", value: block };
}

/** The lines of one answer repeat its usage; the last knows most. Cached tokens count as input. */
function usageOf(messages: readonly Fields[]): Usage {
  const newest = messages
    .map((message) => fieldsIn(message, "usage"))
    .reduce<Fields>(
      (best, one) =>
        (amountIn(one, "output_tokens") ?? 0) >= (amountIn(best, "output_tokens") ?? 0) ? one : best,
      {},
    );
  const cached = amountIn(newest, "cache_read_input_tokens");
  const input =
    (amountIn(newest, "input_tokens") ?? 0) +
    (amountIn(newest, "cache_creation_input_tokens") ?? 0) +
    (cached ?? 0);
  return {
    input: Math.min(input, Number.MAX_SAFE_INTEGER),
    output: amountIn(newest, "output_tokens") ?? 0,
    ...defined({ cached }),
  };
}
