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
 * What a model is asked, made from the record alone: equal configurations and messages give equal bytes, in any process.
 * It is valid for every provider whatever the messages hold (SPEC.md, R). Given the previous prompt of the same
 * conversation only what is new is rendered and hashed, with the same result.
 */
export function renderPrompt(config: ModelConfig, transcript: readonly Message[], previous?: Prompt): Prompt {
  return Rendering.after(previous, config, transcript) ?? Rendering.of(config, transcript);
}

/**
 * Messages that will not change any more, in the order of the prompt. The newest prompt grows them in place; one that
 * goes on from an older prompt (a branch) renders anew.
 */
type Settled = {
  readonly messages: PromptMessage[];
  readonly lines: string[];
  readonly books: Books;
  tokens: number;
  plain: boolean;
};

class Rendering implements Prompt {
  readonly tokens: number;
  readonly replies: number;
  readonly plain: boolean;
  readonly #config: ModelConfig;
  readonly #settled: Settled;
  readonly #count: number;
  readonly #hash: Hash;
  readonly #transcript: readonly Message[];
  /** The place in the transcript where the last turn begins: more may join it, so it is rendered again. */
  readonly #from: number;
  /** Results of settled calls may stand after that place: as far as this the transcript must stay as it is. */
  readonly #reach: number;
  readonly #last: readonly PromptMessage[];
  readonly #lastLines: readonly string[];
  #messages: readonly PromptMessage[] | undefined;
  #digest: Digest | undefined;

  private constructor(
    config: ModelConfig,
    settled: Settled,
    hash: Hash,
    transcript: readonly Message[],
    turns: readonly Turn[],
    replies: number,
    known: number,
  ) {
    const last = turns.at(-1);
    let reach = known;
    for (const turn of turns.slice(0, -1)) {
      if (turn.role === "assistant") for (const { at } of turn.calls) reach = Math.max(reach, at);
      for (const message of messagesOf(turn, isFirst(settled))) {
        const [line, sent] = lineOf(message);
        settled.messages.push(sent);
        settled.lines.push(line);
        settled.tokens += tokensOf(sent, line);
        settled.plain &&= isPlain(sent);
        hash.update(line).update("\n");
      }
      enter(settled.books, turn);
    }
    const rest = last === undefined ? [user(BEGIN)] : messagesOf(last, isFirst(settled));
    if (last?.role === "assistant" && last.calls.length === 0) rest.push(user(CONTINUE));
    const lines = rest.map(lineOf);
    this.#config = config;
    this.#settled = settled;
    this.#count = settled.messages.length;
    this.#hash = hash;
    // Who gave the list may go on writing to it.
    this.#transcript = Object.isFrozen(transcript) ? transcript : transcript.slice();
    this.#from = last?.from ?? 0;
    this.#reach = Math.max(reach, this.#from);
    this.#last = lines.map(([, message]) => message);
    this.#lastLines = lines.map(([line]) => line);
    this.tokens = lines.reduce((sum, [line, message]) => sum + tokensOf(message, line), settled.tokens);
    this.replies = replies;
    this.plain = settled.plain && this.#last.every(isPlain);
  }

  static of(config: ModelConfig, transcript: readonly Message[]): Prompt {
    const head = headOf(config);
    const hash = createHash("sha256").update(head).update("\n");
    const settled: Settled = {
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
      hash.update(line).update("\n");
    }
    const turns = takeTurns(settled.books, transcript, 0, config.agent) as readonly Turn[];
    return new Rendering(config, settled, hash, transcript, turns, repliesIn(transcript, 0), 0);
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
    // Up to and with the message that begins the last turn: another one there might join the turn before.
    for (let place = 0; place <= previous.#reach; place++)
      if (known[place] !== transcript[place]) return undefined;
    // A result has come for a call that is settled: its place is before, so everything after it is rendered again.
    const turns = takeTurns(settled.books, transcript, from, config.agent);
    if (turns === undefined || turns.length === 0) return undefined;
    const replies = previous.replies - repliesIn(known, from) + repliesIn(transcript, from);
    return new Rendering(config, settled, previous.#hash.copy(), transcript, turns, replies, previous.#reach);
  }

  get messages(): readonly PromptMessage[] {
    this.#messages ??= Object.freeze([...this.#settled.messages.slice(0, this.#count), ...this.#last]);
    return this.#messages;
  }

  get text(): string {
    const lines = [headOf(this.#config), ...this.#settled.lines.slice(0, this.#count), ...this.#lastLines];
    return `${lines.join("\n")}\n`;
  }

  get digest(): Digest {
    if (this.#digest === undefined) {
      const hash = this.#hash.copy();
      for (const line of this.#lastLines) hash.update(line).update("\n");
      this.#digest = hash.digest("hex");
    }
    return this.#digest;
  }
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

/** The bytes of a picture are no words; a thousand tokens are a usual price for one. */
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
