import type { Content, Digest, FactOf, Json, Session } from "../../session/index.js";
import { digestOf, RathError } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { isRecord, OWN, ownMeta } from "./content.js";
import { NotRecordedError } from "./error.js";
import { ModelError } from "./failure.js";
import type { CallOptions, Generated, LanguageModel } from "./model.js";
import { partsOf } from "./part.js";
import { promptOf } from "./rendered.js";
import { simulated } from "./scripted.js";

type Answered = { readonly call: Session; readonly outcome: FactOf<"model-reply" | "model-failure"> };

/**
 * A model that answers from a session's record, by the digest of the prompt; repeated prompts get their
 * replies in order. An unknown one is a `NotRecordedError` that shows the nearest.
 */
export function recorded(session: Session): LanguageModel {
  const answers = answersIn(session);
  const asked = new Map<Digest, number>();
  let byMessages: Map<Digest, Digest> | undefined;

  function next(options: CallOptions): Answered["outcome"] {
    const own = (options.providerOptions?.[OWN] ?? {}) as { prompt?: Digest };
    // Somebody else's loop knows no digest: then the messages decide.
    const lines = options.prompt.map((message) => JSON.stringify(message));
    if (own.prompt === undefined)
      byMessages ??= new Map(
        [...rendered(answers)].map(([digest, messages]) => [digestOf(messages.join("\n")), digest]),
      );
    const messages = digestOf(lines.join("\n"));
    const digest = own.prompt ?? byMessages?.get(messages) ?? messages;
    const found = answers.get(digest);
    if (found === undefined) throw new NotRecordedError(digest, nearest(answers, lines));
    const turn = asked.get(digest) ?? 0;
    asked.set(digest, turn + 1);
    return (found[turn] ?? (found.at(-1) as Answered)).outcome;
  }

  return simulated("recorded", "recorded", (options) => generated(next(options)));
}

function answersIn(session: Session): ReadonlyMap<Digest, readonly Answered[]> {
  const calls = new Map<string, Session>();
  const answers = new Map<Digest, Answered[]>();
  for (const node of session.history()) {
    const { fact } = node;
    if (fact.type === "model-call") calls.set(node.id, node);
    if (fact.type !== "model-reply" && fact.type !== "model-failure") continue;
    const call = calls.get(fact.of);
    const digest = call?.fact.type === "model-call" ? call.fact.prompt : undefined;
    if (call === undefined || digest === undefined) continue;
    answers.set(digest, [...(answers.get(digest) ?? []), { call, outcome: fact }]);
  }
  return answers;
}

function generated(outcome: Answered["outcome"]): Generated {
  if (outcome.type === "model-failure") throw ModelError.again(outcome.error);
  const { content, finish, usage, model, response } = outcome;
  const meta = fieldsOf(outcome.meta);
  const raw = fieldsOf(outcome.raw);
  return {
    content: givenBack(content),
    finishReason: { unified: finish, raw: meta.finish as string | undefined },
    usage: {
      inputTokens: { total: usage.input, noCache: undefined, cacheRead: usage.cached, cacheWrite: undefined },
      outputTokens: { total: usage.output, text: undefined, reasoning: usage.reasoning },
      raw: meta.usage,
    },
    response: {
      ...(raw as { readonly headers?: object; readonly body?: Json }),
      ...defined({ id: response, modelId: model }),
    },
    ...(isRecord(meta.provider) && { providerMetadata: meta.provider }),
    warnings: (meta.warnings ?? []) as readonly object[],
    ...(typeof meta.output === "string" && { structuredOutputText: meta.output }),
  };
}

function fieldsOf(value: Json | undefined): { readonly [field: string]: Json } {
  return isRecord(value) ? value : {};
}

function givenBack(content: Content): Generated["content"] {
  return partsOf(content).map((part): { type: string; [field: string]: unknown } => {
    const providerMetadata = "meta" in part && part.meta !== undefined ? { providerMetadata: part.meta } : {};
    switch (part.type) {
      case "tool-call": {
        // Text that was not JSON then is not JSON now.
        const broken = ownMeta(part.meta).broken !== undefined && typeof part.input === "string";
        return {
          type: "tool-call",
          toolCallId: part.call,
          toolName: part.name,
          input: broken ? part.input : JSON.stringify(part.input),
          ...(part.provider === true && { providerExecuted: true }),
          ...providerMetadata,
        };
      }
      case "tool-result":
        return {
          type: "tool-result",
          toolCallId: part.call,
          toolName: part.name,
          result: part.output,
          ...(part.failed === true && { isError: true }),
          ...providerMetadata,
        };
      case "file":
        return { type: "file", mediaType: part.media, data: part.data, ...providerMetadata };
      case "source":
        return part.source as { type: string };
      case "other":
        return part.value as { type: string };
      case "withheld":
        return { type: "text", text: `[content ${part.reason}]` };
      default:
        return { type: part.type, text: part.text, ...providerMetadata };
    }
  });
}

type Answers = ReadonlyMap<Digest, readonly Answered[]>;

function nearest(answers: Answers, asked: readonly string[]): { readonly [field: string]: Json } | null {
  let best: { readonly same: number; readonly [field: string]: Json } | null = null;
  for (const [digest, lines, call] of rendered(answers)) {
    let same = 0;
    while (same < lines.length && lines[same] === asked[same]) same++;
    if (best !== null && same <= best.same) continue;
    const [one = "", other = ""] = [asked[same], lines[same]].map((line) => line?.slice(0, 1_000));
    best = { same, lines: lines.length, prompt: digest, call: call.id, asked: one, recorded: other };
  }
  return best;
}

function* rendered(answers: Answers): Generator<readonly [Digest, readonly string[], Session], void> {
  for (const [digest, [first]] of answers) {
    if (first === undefined) continue;
    try {
      const messages = promptOf(first.call).messages;
      yield [digest, messages.map((message) => JSON.stringify(message)), first.call];
    } catch (error) {
      // A prompt that cannot be rendered again is skipped; any other error is our mistake.
      if (!(error instanceof RathError)) throw error;
    }
  }
}
