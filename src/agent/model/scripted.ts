import { setTimeout } from "node:timers/promises";
import type { Json } from "../../session/index.js";
import { defined, optionNames, showValue } from "../../util/index.js";
import { refusing, requireOptions } from "../../workflow/index.js";
import { OWN } from "./content.js";
import { ScriptEndedError } from "./error.js";
import type { CallOptions, Generated, LanguageModel, Streamed } from "./model.js";
import { estimateTokens, type PromptMessage } from "./prompt.js";

/** A call to a tool. The id is made up unless given. */
export type ScriptedCall = { readonly tool: string; readonly input?: Json; readonly id?: string };
/** A reply with everything said. `delay` is in milliseconds. */
export type ScriptedAnswer = {
  readonly text?: string;
  readonly reasoning?: string;
  readonly tools?: readonly ScriptedCall[];
  readonly finish?: string;
  readonly usage?: { readonly input?: number; readonly output?: number; readonly cached?: number };
  readonly delay?: number;
};
/** A scripted reply: words, a call, calls, an error to throw, a full reply, or a function. */
export type ScriptedReply =
  | string
  | Error
  | ScriptedCall
  | { readonly call: readonly ScriptedCall[] }
  | ScriptedAnswer
  | ((prompt: readonly PromptMessage[], turn: number) => ScriptedReply | Promise<ScriptedReply>);

const ANSWER = optionNames<ScriptedAnswer>()("text reasoning tools finish usage delay");
const CALL = optionNames<ScriptedCall>()("tool input id");

export type ScriptedOptions = {
  /** The model's id. "scripted" unless given. */
  readonly name?: string;
  /**
   * Which reply comes next. By "turn" (the default), the replies that this agent already has in the session
   * (or the prompt's assistant messages) are skipped: the same for branches and new processes. By "call" the
   * object counts its calls, for tests of retries.
   */
  readonly by?: "turn" | "call";
  /** Milliseconds before each reply. */
  readonly delay?: number;
};

/**
 * A model that follows a script, for tests; its provider is "scripted". A function at the end answers from there on.
 *
 * ```ts
 * scripted({ tool: "add", input: { a: 1, b: 2 } }, "It is 3.");
 * scripted((prompt, turn) => `I was told ${prompt.length} messages, this is turn ${turn}.`);
 * scripted([new Error("busy"), "Now it works."], { by: "call" });
 * ```
 */
export function scripted(...replies: readonly ScriptedReply[]): LanguageModel;
export function scripted(replies: readonly ScriptedReply[], options?: ScriptedOptions): LanguageModel;
export function scripted(
  ...given: readonly (ScriptedReply | readonly ScriptedReply[] | ScriptedOptions | undefined)[]
): LanguageModel {
  const [first, second] = given;
  const replies = (Array.isArray(first) ? first : given) as readonly ScriptedReply[];
  for (const reply of replies) if (typeof reply !== "function") spelledOut(reply);
  const {
    name = "scripted",
    by = "turn",
    delay = 0,
  } = (Array.isArray(first) ? (second ?? {}) : {}) as ScriptedOptions;
  let calls = 0;

  async function next(options: CallOptions): Promise<Generated> {
    const prompt = options.prompt as readonly PromptMessage[];
    const own = (options.providerOptions?.[OWN] ?? {}) as { prompt?: string; turn?: number; tokens?: number };
    const turn =
      by === "call" ? calls++ : (own.turn ?? prompt.filter(({ role }) => role === "assistant").length);
    const last = replies.at(-1);
    let reply = replies[turn] ?? (typeof last === "function" ? last : undefined);
    if (reply === undefined) throw new ScriptEndedError(name, turn, replies.length);
    while (typeof reply === "function") reply = await reply(prompt, turn);
    const answer = spelledOut(reply);
    const wait = answer instanceof Error ? delay : (answer.delay ?? delay);
    const signal = options.abortSignal;
    signal?.throwIfAborted();
    if (wait > 0)
      await setTimeout(wait, undefined, defined({ signal })).catch(() => signal?.throwIfAborted());
    if (answer instanceof Error) throw answer;
    const mark = own.prompt?.slice(0, 12) ?? String(turn);
    const generated = complete(answer, mark, own.tokens ?? estimateTokens(JSON.stringify(prompt)));
    return { ...generated, warnings: [], response: { modelId: name } };
  }

  return simulated("scripted", name, next);
}

/** A reply in full. A misspelt field would otherwise be an empty answer. */
function spelledOut(reply: Exclude<ScriptedReply, (...given: never) => unknown>): ScriptedAnswer | Error {
  if (typeof reply === "string") return { text: reply };
  if (reply instanceof Error) return reply;
  const refuse = refusing("scripted");
  if (typeof reply !== "object" || reply === null)
    throw refuse(`a reply is ${showValue(reply)}, not a text, a call or an answer`, EXAMPLE);
  const answer = "tool" in reply ? { tools: [reply] } : "call" in reply ? { tools: reply.call } : reply;
  requireOptions(answer, refuse, EXAMPLE, ANSWER);
  for (const call of answer.tools ?? []) requireOptions(call, refuse, EXAMPLE, CALL);
  return answer;
}

const EXAMPLE = 'scripted({ tool: "add", input: { a: 1, b: 2 } }, "It is 3.")';

function complete(answer: ScriptedAnswer, mark: string, tokens: number): Generated {
  const { text, reasoning, tools = [], usage = {} } = answer;
  const content = [
    ...(reasoning === undefined ? [] : [{ type: "reasoning", text: reasoning }]),
    ...(text === undefined ? [] : [{ type: "text", text }]),
    ...tools.map(({ tool, input = {}, id }, place) => ({
      type: "tool-call",
      toolCallId: id ?? `call_${mark}_${place}`,
      toolName: tool,
      input: JSON.stringify(input),
    })),
  ];
  const finish = answer.finish ?? (tools.length > 0 ? "tool-calls" : "stop");
  const { input = tokens, output = estimateTokens(JSON.stringify(content)), cached } = usage;
  const inputTokens = { total: input, noCache: undefined, cacheRead: cached, cacheWrite: undefined };
  const outputTokens = { total: output, text: undefined, reasoning: undefined };
  return { content, finishReason: { unified: finish, raw: undefined }, usage: { inputTokens, outputTokens } };
}

/** A model of version V3 that answers without a provider, whole or in small pieces as a provider would send them. */
export function simulated(
  provider: string,
  modelId: string,
  next: (options: CallOptions) => Generated | Promise<Generated>,
): LanguageModel {
  const model = {
    specificationVersion: "v3" as const,
    provider,
    modelId,
    // The functions of the AI SDK ask this of a model.
    supportedUrls: {},
    doGenerate: async (options: CallOptions) => next(options),
    async doStream(options: CallOptions): Promise<Streamed> {
      const { content, response, warnings, ...end } = await next(options);
      const pieces = [
        { type: "stream-start", warnings },
        { type: "response-metadata", ...response },
        ...content.flatMap(piecesOf),
        { type: "finish", ...end },
      ];
      const stream = new ReadableStream<{ type: string }>({
        start(controller) {
          for (const piece of pieces) controller.enqueue(piece);
          controller.close();
        },
      });
      return { stream };
    },
  };
  return model;
}

type Piece = { readonly type: string; readonly [field: string]: unknown };

function piecesOf(part: Piece, place: number): readonly Piece[] {
  const { text, toolCallId: call, toolName, input, ...rest } = part;
  const deltas = (type: string, id: unknown, words: unknown): readonly Piece[] =>
    // By whole characters.
    (String(words ?? "").match(/[\s\S]{1,12}/gu) ?? []).map((delta) => ({ type, id, delta }));
  if (part.type === "tool-call" && typeof input === "string")
    return [
      { type: "tool-input-start", id: call, toolName },
      ...deltas("tool-input-delta", call, input),
      { type: "tool-input-end", id: call },
      part,
    ];
  if (part.type !== "text" && part.type !== "reasoning") return [part];
  const id = String(place);
  return [
    { ...rest, id, type: `${part.type}-start` },
    ...deltas(`${part.type}-delta`, id, text),
    { ...rest, id, type: `${part.type}-end` },
  ];
}
