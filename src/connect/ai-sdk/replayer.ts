import type { Generated, Streamed } from "../../agent/model/index.js";
import { ModelError, renderedPrompt, renderPrompt } from "../../agent/model/index.js";
import { canonical } from "../../runtime/index.js";
import type { Fact, FactId, FactOf, Failure, Json, Session } from "../../session/index.js";
import { RathError } from "../../session/index.js";
import { requestOf, type SdkModel } from "./recorder.js";

type Fields = { readonly [field: string]: Json };

/** A recorded call, how it came out, and whether somebody was told already. */
type Recorded = {
  readonly call: Session;
  readonly outcome: Session | undefined;
  told: boolean;
  prompt?: Asked;
};

type Asked = { readonly head: string; readonly messages: readonly Fields[] };

/** Answers the calls of a program from a session that it recorded. */
export class Replayer {
  readonly #agent: string;
  readonly #head: Session;
  readonly #calls: readonly Recorded[];
  #session: Session;

  constructor(session: Session, agent: string) {
    this.#agent = agent;
    this.#head = session;
    const outcomes = new Map<string, Session>();
    const calls: Session[] = [];
    for (const node of session.history()) {
      const { fact } = node;
      if (fact.type === "model-call") calls.push(node);
      else if (fact.type === "model-reply" || fact.type === "model-failure") outcomes.set(fact.of, node);
    }
    this.#calls = calls.map((call) => ({ call, outcome: outcomes.get(call.id), told: false }));
    this.#session = calls[0]?.parents[0] ?? session;
  }

  /** How far the program has come in its record: the recorded session itself when every call was made. */
  get session(): Session {
    return this.#calls.every(({ told }) => told) ? this.#head : this.#session;
  }

  generate(params: object, model: SdkModel): Generated {
    const { call, fact } = this.#next(params);
    if (fact.type === "model-failure") throw failureAgain(fact.error);
    const { result, headers, body } = kept(call, fact.raw, "result", model);
    const { response, ...rest } = result as Fields;
    return {
      ...rest,
      response: {
        ...revived((response ?? {}) as Fields),
        ...(headers !== undefined && { headers }),
        ...(body !== undefined && { body }),
      },
    } as Generated;
  }

  stream(params: object, model: SdkModel): Streamed {
    const { call, fact } = this.#next(params);
    const failure = fact.type === "model-failure" ? fact.error : undefined;
    const sdk = ((failure?.data ?? {}) as Fields).sdk as Fields | undefined;
    // It failed before anything streamed.
    if (failure !== undefined && sdk?.parts === undefined) throw failureAgain(failure);
    const raw =
      failure === undefined ? (fact as FactOf<"model-reply">).raw : { ...sdk, sdk: sdk?.version ?? "" };
    const { parts, end, headers } = kept(call, raw, "parts", model);
    const pieces = (parts as readonly Fields[]).map((part) =>
      part.type === "error" && failure !== undefined
        ? { ...part, error: failureAgain(failure) }
        : revived(part),
    );
    let place = 0;
    return {
      stream: new ReadableStream({
        pull(controller) {
          const piece = pieces[place++];
          if (piece !== undefined) controller.enqueue(piece);
          else if (end === "broken") controller.error(failureAgain(failure as Failure));
          else controller.close();
        },
      }) as unknown as Streamed["stream"],
      ...(headers !== undefined && { response: { headers: headers as object } }),
    };
  }

  /** The recorded call that asked exactly this, in the order of the record when it was asked several times. */
  #next(params: object): {
    readonly call: Session;
    readonly fact: Fact & { type: "model-reply" | "model-failure" };
  } {
    const { config, messages } = requestOf(this.#agent, params);
    const asked = { head: headOf(renderPrompt(config, []).text), messages };
    const found = this.#calls.find((one) => !one.told && isSame(promptOf(one), asked));
    if (found === undefined) throw this.#divergence(asked);
    if (found.outcome === undefined)
      throw new ReplyUnavailableError(
        found.call.id,
        "it was interrupted before an answer came",
        "record the call anew",
      );
    found.told = true;
    if (found.outcome.depth > this.#session.depth) this.#session = found.outcome;
    return {
      call: found.call,
      fact: found.outcome.fact as FactOf<"model-reply" | "model-failure">,
    };
  }

  #divergence(now: Asked): RecordingDivergenceError {
    const next = this.#calls.find(({ told }) => !told);
    if (next === undefined)
      return new RecordingDivergenceError(
        `all ${this.#calls.length} recorded calls were made, and this is one more`,
        null,
      );
    const [asked, recorded] = [linesOf(now), linesOf(promptOf(next))];
    let line = 0;
    while (line < asked.length && asked[line] === recorded[line]) line++;
    return new RecordingDivergenceError(
      line === 0 ? "its tools or parameters are others" : `message ${line} of its prompt is another`,
      { call: next.call.id, line, asked: asked[line] ?? "", recorded: recorded[line] ?? "" },
    );
  }
}

function promptOf(recorded: Recorded): Asked {
  if (recorded.prompt === undefined) {
    const { text, messages } = renderedPrompt(recorded.call);
    recorded.prompt = { head: headOf(text), messages: messages as readonly Fields[] };
  }
  return recorded.prompt;
}

function headOf(text: string): string {
  return text.slice(0, text.indexOf("\n"));
}

/** The lines of a prompt, in a spelling of their own: how keys are ordered must not matter. */
function linesOf({ head, messages }: Asked): readonly string[] {
  return [head, ...messages.map(lineOf)];
}

/** Tools that ran side by side may end in another order, with the same results. */
function lineOf(message: Fields): string {
  if (message.role !== "tool" || !Array.isArray(message.content)) return canonical(message);
  const results = (message.content as readonly Fields[]).map((part) => ({
    call: String(part.toolCallId),
    part,
  }));
  results.sort((one, other) => (one.call < other.call ? -1 : one.call > other.call ? 1 : 0));
  return canonical({ ...message, content: results.map(({ part }) => part) });
}

function isSame(one: Asked, other: Asked): boolean {
  if (one.head !== other.head || one.messages.length !== other.messages.length) return false;
  return one.messages.every((message, place) => {
    const second = other.messages[place] as Fields;
    // Mostly the bytes are the same too, which costs less to find out.
    return JSON.stringify(message) === JSON.stringify(second) || lineOf(message) === lineOf(second);
  });
}

function kept(call: Session, raw: Json | undefined, what: "result" | "parts", model: SdkModel): Fields {
  const fields = (typeof raw === "object" && raw !== null ? raw : {}) as Fields;
  if (fields[what] === undefined)
    throw new ReplyUnavailableError(
      call.id,
      fields.result === undefined && fields.parts === undefined
        ? "the record does not hold the reply as the AI SDK gave it"
        : `it was ${fields.parts === undefined ? "not " : ""}streamed`,
      "replay what `recording` recorded, with the same function: generateText or streamText",
    );
  if (fields.sdk !== model.specificationVersion)
    throw new ReplyUnavailableError(
      call.id,
      `it was recorded with models of version ${fields.sdk}, and this one has ${model.specificationVersion}`,
      "replay with the version of the AI SDK that recorded it",
    );
  return fields;
}

/** Times are dates again. */
function revived(part: Fields): object {
  const { timestamp } = part;
  return typeof timestamp === "string" ? { ...part, timestamp: new Date(timestamp) } : part;
}

/** The mark by which the AI SDK knows an error of a provider's API, whichever copy of it is loaded. */
const API_CALL = Symbol.for("vercel.ai.error.AI_APICallError");
const AI_SDK = Symbol.for("vercel.ai.error");

/**
 * A recorded failure as something to throw, with the name and the words that a program may go by. The AI SDK tries again
 * when it did so then, and does not wait.
 */
function failureAgain(failure: Failure): Error {
  const error = new Error(failure.message, { cause: ModelError.again(failure) });
  error.name = failure.name;
  if (failure.name !== "AI_APICallError") return error;
  const { sdk, status, url, body } = (failure.data ?? {}) as Fields;
  return Object.assign(error, {
    [AI_SDK]: true,
    [API_CALL]: true,
    isRetryable: ((sdk ?? {}) as Fields).isRetryable === true,
    responseHeaders: { "retry-after-ms": "0" },
    url,
    statusCode: status,
    responseBody: body,
  });
}

/** A program that is replayed asks something else than was recorded, and no model was asked to find out. */
export class RecordingDivergenceError extends RathError {
  constructor(
    reason: string,
    difference: {
      readonly call: FactId;
      readonly line: number;
      readonly asked: string;
      readonly recorded: string;
    } | null,
  ) {
    const shown =
      difference === null
        ? ""
        : `\n  recorded: ${brief(difference.recorded)}\n  now:      ${brief(difference.asked)}`;
    super("divergence", `This call does not go the way it was recorded: ${reason}.${shown}`, {
      hint: 'run the program that made this record with tools that answer as they did, or record anew: mode "record"',
      data: { reason, difference: difference },
    });
  }
}

/** A recorded call whose answer the record does not hold in the form that the AI SDK needs. */
export class ReplyUnavailableError extends RathError {
  constructor(call: FactId, reason: string, hint: string) {
    super("reply-unavailable", `Cannot answer call ${call.slice(0, 12)} from its record: ${reason}.`, {
      hint,
      data: { call, reason },
    });
  }
}

function brief(line: string): string {
  if (line === "") return "nothing";
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}
