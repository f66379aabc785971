import { createHash, type Hash } from "node:crypto";
import type { Digest, Message } from "../../session/index.js";
import { headOf, type ModelConfig } from "./config.js";
import { isPlain } from "./dialect.js";
import { isBlank, note } from "./part.js";
import { type AssistantPart, estimateTokens, type Prompt, type PromptMessage } from "./prompt.js";
import { type Books, emptyBooks, enter, type Turn, takeTurns } from "./turns.js";

const BEGIN = "[The conversation begins here.]";
const CONTINUE = "[Continue.]";

/**
 * Renders a prompt from the record alone: equal configurations and messages give equal bytes, valid for every
 * provider (SPEC.md, R). With the previous prompt only new messages are rendered and hashed.
 */
export function renderPrompt(config: ModelConfig, transcript: readonly Message[], previous?: Prompt): Prompt {
  return Rendering.after(previous, config, transcript) ?? Rendering.of(config, transcript);
}

/** Messages that are final, in order, with the hash of their lines. The newest prompt extends them in place; a branch renders anew. */
type Settled = {
  readonly hash: Hash;
  readonly messages: PromptMessage[];
  readonly lines: string[];
  readonly books: Books;
  tokens: number;
  plain: boolean;
};

class Rendering implements Prompt {
  readonly digest: Digest;
  readonly tokens: number;
  readonly replies: number;
  readonly plain: boolean;
  readonly #config: ModelConfig;
  readonly #settled: Settled;
  readonly #count: number;
  readonly #transcript: readonly Message[];
  /** The place in the transcript from which it is rendered again: where a last turn begins that more may join, else its end. */
  readonly #from: number;
  /** Results of settled calls may stand after that place: as far as this the transcript must stay as it is. */
  readonly #reach: number;
  readonly #last: readonly PromptMessage[];
  readonly #lastLines: readonly string[];
  #messages: readonly PromptMessage[] | undefined;

  private constructor(
    config: ModelConfig,
    settled: Settled,
    transcript: readonly Message[],
    turns: readonly Turn[],
    replies: number,
    known: number,
  ) {
    const newest = turns.at(-1);
    const last = newest !== undefined && isOver(newest) ? undefined : newest;
    let reach = known;
    let text = "";
    for (const turn of turns) {
      if (turn === last) break;
      if (turn.role === "assistant") for (const { at } of turn.calls) reach = Math.max(reach, at);
      for (const message of messagesOf(turn, isFirst(settled))) {
        const [line, sent] = lineOf(message);
        settled.messages.push(sent);
        settled.lines.push(line);
        settled.tokens += tokensOf(sent, line);
        settled.plain &&= isPlain(sent);
        text += `${line}\n`;
      }
      enter(settled.books, turn);
    }
    if (text !== "") settled.hash.update(text);
    const first = isFirst(settled);
    const rest = last !== undefined ? messagesOf(last, first) : first ? [user(BEGIN)] : [];
    if (last?.role === "assistant" && last.calls.length === 0) rest.push(user(CONTINUE));
    const lines = rest.map(lineOf);
    this.#config = config;
    this.#settled = settled;
    this.#count = settled.messages.length;
    // The caller may go on changing its list.
    this.#transcript = Object.isFrozen(transcript) ? transcript : transcript.slice();
    this.#from = last?.from ?? (first ? 0 : transcript.length);
    // With the message that begins the last turn: another one there might join the turn before.
    this.#reach = Math.max(reach, Math.min(this.#from, transcript.length - 1));
    this.#last = lines.map(([, message]) => message);
    this.#lastLines = lines.map(([line]) => line);
    const said = this.#lastLines.map((line) => `${line}\n`).join("");
    this.digest = settled.hash.copy().update(said).digest("hex");
    this.tokens = lines.reduce((sum, [line, message]) => sum + tokensOf(message, line), settled.tokens);
    this.replies = replies;
    this.plain = settled.plain && this.#last.every(isPlain);
  }

  static of(config: ModelConfig, transcript: readonly Message[]): Prompt {
    const head = headOf(config);
    const settled: Settled = {
      hash: createHash("sha256").update(`${head}\n`),
      messages: [],
      lines: [],
      books: emptyBooks(),
      tokens: estimateTokens(head),
      plain: true,
    };
    if (config.instructions !== undefined && !isBlank(config.instructions)) {
      const [line, message] = lineOf({ role: "system", content: config.instructions });
      settled.messages.push(message);
      settled.lines.push(line);
      settled.tokens += estimateTokens(line);
      settled.hash.update(`${line}\n`);
    }
    const turns = takeTurns(settled.books, transcript, 0, config.agent) as readonly Turn[];
    return new Rendering(config, settled, transcript, turns, repliesIn(transcript, 0), 0);
  }

  static after(
    previous: Prompt | undefined,
    config: ModelConfig,
    transcript: readonly Message[],
  ): Prompt | undefined {
    if (!(previous instanceof Rendering)) return undefined;
    const settled = previous.#settled;
    const from = previous.#from;
    if (settled.messages.length !== previous.#count || !isSame(previous.#config, config)) return undefined;
    const known = previous.#transcript;
    for (let place = 0; place <= previous.#reach; place++)
      if (known[place] !== transcript[place]) return undefined;
    // A result has come for a call that is settled: its place is before, so everything after it is rendered again.
    const turns = takeTurns(settled.books, transcript, from, config.agent);
    if (turns === undefined) return undefined;
    const replies = previous.replies - repliesIn(known, from) + repliesIn(transcript, from);
    return new Rendering(config, settled, transcript, turns, replies, previous.#reach);
  }

  get messages(): readonly PromptMessage[] {
    this.#messages ??= Object.freeze([...this.#settled.messages.slice(0, this.#count), ...this.#last]);
    return this.#messages;
  }

  get text(): string {
    const lines = [headOf(this.#config), ...this.#settled.lines.slice(0, this.#count), ...this.#lastLines];
    return `${lines.join("\n")}\n`;
  }
}

/** Whether nothing can join a turn: each of its calls has its result, and only the first one counts. */
function isOver(turn: Turn): boolean {
  return turn.role === "assistant" && turn.calls.length > 0 && turn.calls.every(({ answered }) => answered);
}

function isFirst(settled: Settled): boolean {
  return settled.messages.at(-1) === undefined || settled.messages.at(-1)?.role === "system";
}

/** A turn as messages: calls are followed directly by one result each, in the order of the calls. */
function messagesOf(turn: Turn, first: boolean): PromptMessage[] {
  if (turn.role === "user") return [{ role: "user", content: turn.parts }];
  const messages: PromptMessage[] = first ? [user(BEGIN)] : [];
  messages.push({ role: "assistant", content: visible(turn.parts) });
  if (turn.calls.length > 0)
    messages.push({
      role: "tool",
      content: turn.calls.map(({ id, name, output }) => ({
        type: "tool-result",
        toolCallId: id,
        toolName: name,
        output,
      })),
    });
  return messages;
}

/** Files alone are nothing to providers that take none from an assistant, so they are named too. */
function visible(parts: readonly AssistantPart[]): readonly AssistantPart[] {
  if (parts.some((part) => part.type === "text" || part.type === "tool-call")) return parts;
  const files = parts.flatMap((part) => (part.type === "file" ? [note(part)] : []));
  return [...parts, { type: "text", text: files.join("\n") }];
}

function user(words: string): PromptMessage {
  return { role: "user", content: [{ type: "text", text: words }] };
}

/** One line of JSON, and the message it says. A lone half of a character cannot be sent as UTF-8. */
function lineOf(message: PromptMessage): readonly [string, PromptMessage] {
  const line = JSON.stringify(message);
  // JSON.stringify writes such halves as escapes, and nothing else as this one.
  if (!line.includes("\\ud")) return [line, Object.freeze(message)];
  const whole = wellFormed(message) as PromptMessage;
  return [JSON.stringify(whole), Object.freeze(whole)];
}

function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.toWellFormed(), wellFormed(inner)]),
  );
}

/** A picture's bytes are not words; a thousand tokens are a usual price for one. */
function tokensOf(message: PromptMessage, line: string): number {
  if (!line.includes('"type":"file"')) return estimateTokens(line);
  let files = 0;
  const words = JSON.stringify(message, (_key, value: unknown) => {
    if ((value as { type?: unknown } | null)?.type !== "file") return value;
    files++;
    return undefined;
  });
  return estimateTokens(words) + files * 1_000;
}

function repliesIn(transcript: readonly Message[], from: number): number {
  let replies = 0;
  for (let place = from; place < transcript.length; place++)
    if (transcript[place]?.role === "assistant") replies++;
  return replies;
}

function isSame(one: ModelConfig, other: ModelConfig): boolean {
  if (one === other) return true;
  return (
    one.agent === other.agent && one.instructions === other.instructions && headOf(one) === headOf(other)
  );
}
