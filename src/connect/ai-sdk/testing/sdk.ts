import * as ai6 from "ai";
import { MockLanguageModelV3 } from "ai/test";
import * as ai5 from "ai5";
import { MockLanguageModelV2 } from "ai5/test";
import * as ai7 from "ai7";
import { MockLanguageModelV4 } from "ai7/test";

type Fields = { readonly [field: string]: unknown };
export type Piece = { readonly type: string } & Fields;
export type Call = { readonly id: string; readonly name: string; readonly input: object };
/** What a scripted model says: the pieces of its text, its calls, or an error. */
export type Line = {
  readonly text?: readonly string[];
  readonly thought?: string;
  readonly calls?: readonly Call[];
};
export type Script = readonly (Line | Error)[];

/** The three versions, seen through the types of the oldest: what is used here is the same in all. */
export type Sdk = typeof ai5;
type Mock = MockLanguageModelV2;

const mocks = { 5: MockLanguageModelV2, 6: MockLanguageModelV3, 7: MockLanguageModelV4 } as const;
export const versions = [
  [5, ai5],
  [6, ai6 as unknown as Sdk],
  [7, ai7 as unknown as Sdk],
] as const;
export type Version = keyof typeof mocks;

/** A model of the AI SDK's own test kit that follows a script, one line a call. */
export function mock(
  version: Version,
  script: Script,
  headers: { readonly [name: string]: string } = {},
): Mock {
  let calls = 0;
  const next = (): Line => {
    const line = script[calls++];
    if (line === undefined) throw new Error("The script is at its end.");
    if (line instanceof Error) throw line;
    return line;
  };
  const Model = mocks[version] as unknown as typeof MockLanguageModelV2;
  return new Model({
    provider: "mock.chat",
    modelId: "gpt-5-mini",
    doGenerate: (async () => {
      const id = calls;
      const line = next();
      return {
        content: contentOf(line),
        ...endOf(version, line),
        warnings: [],
        request: { body: { secret: "sent" } },
        response: { ...metadata(id), headers, body: { id: `response-${id}` } },
      };
    }) as unknown as Mock["doGenerate"],
    doStream: (async () => {
      const id = calls;
      const line = next();
      const pieces = [
        { type: "stream-start", warnings: [] },
        { type: "response-metadata", ...metadata(id) },
        ...piecesOf(line, id),
        { type: "finish", ...endOf(version, line) },
      ];
      return { stream: streamOf(pieces), response: { headers }, request: { body: { secret: "sent" } } };
    }) as unknown as Mock["doStream"],
  });
}

/** A model that must not be asked. */
export function silent(version: Version): Mock {
  return mock(version, []);
}

function metadata(id: number) {
  return { id: `response-${id}`, modelId: "gpt-5-mini-2025", timestamp: new Date(1_700_000_000_000 + id) };
}

function contentOf({ text, thought, calls = [] }: Line): readonly Piece[] {
  return [
    ...(thought === undefined
      ? []
      : [{ type: "reasoning", text: thought, providerMetadata: { mock: { sign: "s" } } }]),
    ...(text === undefined ? [] : [{ type: "text", text: text.join("") }]),
    ...calls.map(({ id, name, input }) => ({
      type: "tool-call",
      toolCallId: id,
      toolName: name,
      input: JSON.stringify(input),
    })),
  ];
}

export function piecesOf({ text, thought, calls = [] }: Line, call = 0): readonly Piece[] {
  const said = (type: string, id: string, deltas: readonly string[]): readonly Piece[] => [
    { type: `${type}-start`, id },
    ...deltas.map((delta) => ({ type: `${type}-delta`, id, delta })),
    { type: `${type}-end`, id, ...(type === "reasoning" && { providerMetadata: { mock: { sign: "s" } } }) },
  ];
  return [
    ...(thought === undefined ? [] : said("reasoning", `r${call}`, [...thought])),
    ...(text === undefined ? [] : said("text", `t${call}`, text)),
    ...calls.flatMap(({ id, name, input }) => {
      const all = JSON.stringify(input);
      return [
        { type: "tool-input-start", id, toolName: name },
        { type: "tool-input-delta", id, delta: all.slice(0, 3) },
        { type: "tool-input-delta", id, delta: all.slice(3) },
        { type: "tool-input-end", id },
        { type: "tool-call", toolCallId: id, toolName: name, input: all },
      ];
    }),
  ];
}

/** Version 5 counts flat and has one word for the end. */
export function endOf(version: Version, { calls = [] }: Line): Fields {
  const finish = calls.length > 0 ? "tool-calls" : "stop";
  if (version === 5)
    return {
      finishReason: finish,
      usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15, cachedInputTokens: 4, reasoningTokens: 2 },
    };
  return {
    finishReason: { unified: finish, raw: `raw-${finish}` },
    usage: {
      inputTokens: { total: 10, noCache: 6, cacheRead: 4, cacheWrite: undefined },
      outputTokens: { total: 5, text: 3, reasoning: 2 },
    },
  };
}

export function streamOf<Item>(items: readonly Item[]): ReadableStream<Item> {
  return new ReadableStream({
    start(controller) {
      for (const item of items) controller.enqueue(item);
      controller.close();
    },
  });
}
