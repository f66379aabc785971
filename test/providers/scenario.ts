import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModelV3, LanguageModelV3CallOptions } from "@ai-sdk/provider";
import { wrapLanguageModel } from "ai";
import { agent, content, type Json, type Rath, type Session, stopAfter, type Tool, tool } from "openrath";
import { type Answered, answeredIn, type Refused, refusedIn } from "./answered.js";
import { type Asked, askedIn, protocolOf, type Said } from "./asked.js";
import type { Cassette, Exchange, Fields } from "./cassette.js";

/** One request for a generation and how it was answered. `place` is its place in the cassette. */
export type Step = {
  readonly place: number;
  readonly exchange: Exchange;
  readonly asked: Asked;
  readonly answer: Answered | Refused;
};

/** What an agent does in one go: all that is said, then request after request with the tools in between. */
export type Run = { readonly say: readonly Said[]; readonly steps: Step[] };

/** A conversation of a cassette: each run goes on with the session of the one before. */
export type Talk = { readonly runs: Run[]; readonly results: Results };
export type Results = Map<string, Json[]>;

/** The exchanges of a cassette that ask for no generation that we could make, and why. */
export function leftOut({ exchanges }: Cassette): readonly (readonly [number, string])[] {
  return exchanges.flatMap((exchange, place) => {
    const reason = reasonAgainst(exchange);
    return reason === undefined ? [] : [[place, reason] as const];
  });
}

function reasonAgainst(exchange: Exchange): string | undefined {
  const protocol = protocolOf(exchange);
  if (typeof protocol !== "string") return protocol.not;
  if (protocol === "responses" && /"status":"queued"/.test(exchange.body) && exchange.body.startsWith("{"))
    return "is answered in the background, which the AI SDK cannot ask for";
  return undefined;
}

/** The conversations of a cassette, in order. */
export function talksIn({ exchanges }: Cassette): readonly Talk[] {
  const talks: Talk[] = [];
  exchanges.forEach((exchange, place) => {
    if (reasonAgainst(exchange) !== undefined) return;
    const protocol = protocolOf(exchange) as Asked["protocol"];
    const asked = askedIn(protocol, exchange.url, exchange.sent as Fields);
    const answer = refusedIn(exchange) ?? answeredIn(protocol, asked.stream, exchange);
    const step: Step = { place, exchange, asked, answer };
    const talk = talks.at(-1);
    const before = talk?.runs.at(-1)?.steps.at(-1);
    if (talk === undefined || before === undefined || !continues(before, asked)) {
      talks.push({ runs: [{ say: asked.said, steps: [step] }], results: new Map() });
      return;
    }
    if (takeResults(talk.results, before.asked, asked)) talk.runs.at(-1)?.steps.push(step);
    else talk.runs.push({ say: newest(asked.said), steps: [step] });
  });
  return talks;
}

/** Whether a request goes on from what an earlier one was answered. */
function continues({ answer }: Step, { said }: Asked): boolean {
  if (!("pieces" in answer)) return false;
  return answer.pieces.some((piece) =>
    said.some((one) => {
      if (one.who !== "assistant") return false;
      if (piece.type === "text") return "text" in one && one.text === piece.text;
      return piece.type === "call" && "input" in one && one.name === piece.name;
    }),
  );
}

/** What was said after the assistant's last words. */
function newest(said: readonly Said[]): readonly Said[] {
  return said.slice(said.findLastIndex(({ who }) => who === "assistant") + 1);
}

/** Notes what the tools gave between two requests. False when none was called. */
function takeResults(results: Results, before: Asked, after: Asked): boolean {
  const known = before.said.filter(({ who }) => who === "tool").length;
  const fresh = after.said.filter((one) => one.who === "tool").slice(known);
  const files = newest(after.said).filter((one) => "file" in one && URL.canParse(one.file));
  for (const { call, result } of fresh) {
    const made = after.said.find((one) => "input" in one && one.call === call) as Said & { input: Json };
    const key = keyOf((made as { name: string }).name, made.input);
    // A file that some APIs take only from a user is what the tool gave, too.
    results.set(key, [
      ...(results.get(key) ?? []),
      fresh.at(-1)?.call === call ? shown(result, files) : result,
    ]);
  }
  return fresh.length > 0;
}

function shown(result: Json, files: readonly Said[]): Json {
  const document = (result as { readonly file?: string; readonly media?: string } | null)?.file;
  const parts = [
    ...(document === undefined ? [] : [fileOf(document, String((result as Fields).media))]),
    ...files.flatMap((one) => ("file" in one ? [fileOf(one.file, one.media)] : [])),
  ];
  if (parts.length === 0) return result;
  const text = document !== undefined ? [] : [{ type: "text" as const, text: textOf(result) }];
  return content([...text, ...parts]);
}

function textOf(result: Json): string {
  if (typeof result === "string") return result;
  return (result as readonly Json[]).filter((item) => typeof item === "string").join("\n");
}

function fileOf(file: string, media: string) {
  const data = URL.canParse(file) ? file : Buffer.from(file).toString("base64");
  return { type: "file" as const, media, data };
}

function keyOf(name: string, input: Json): string {
  return `${name} ${JSON.stringify(input, Object.keys((input ?? {}) as object).sort())}`;
}

/** The session that a run begins with. */
export function sessionFor(rath: Rath, before: Session | undefined, { say }: Run): Session {
  const texts = say.flatMap((one) => ("text" in one ? [one] : []));
  let session = before;
  for (const { who, text } of texts)
    session = session === undefined ? rath.start(text) : session.say(text, { role: who });
  return session as Session;
}

export const NOTHING_RECORDED = "No result was recorded.";

/** The agent that asks what a run asked, at a server that answers as the provider did. */
export function agentFor({ steps }: Run, results: Results, origin: string) {
  const { asked, exchange } = steps[0] as Step;
  const { body, system, tools, choice, schema, stream } = asked;
  const config = (body.generationConfig ?? body) as Fields;
  const max = body.max_tokens;
  return agent({
    name: "cassette",
    ...(system !== "" && { instructions: system }),
    model: modelFor(asked, origin + exchange.url.pathname),
    tools: tools.map((spec) => toolFor(spec, results)),
    parameters: {
      ...(typeof max === "number" && { maxOutputTokens: max }),
      ...(typeof config.temperature === "number" && { temperature: config.temperature }),
      ...(choice !== undefined && tools.length > 0 && { toolChoice: choice }),
      providerOptions: optionsFor(asked),
    },
    ...(schema !== undefined && { output: schema as { readonly [key: string]: Json } }),
    stream,
    stop: stopAfter(steps.length),
  });
}

function toolFor({ name, description, input }: Asked["tools"][number], results: Results): Tool {
  return tool({
    name,
    description: description || name,
    input: input as { readonly [key: string]: Json },
    effect: "read",
    run: (given) => results.get(keyOf(name, given as Json))?.shift() ?? NOTHING_RECORDED,
  }) as Tool;
}

function optionsFor({ protocol, body }: Asked): { [provider: string]: { [option: string]: Json } } {
  if (protocol === "responses")
    return {
      openai: {
        // Else what was said before goes as the ids under which the provider keeps it.
        store: false,
        ...(typeof body.conversation === "string" && { conversation: body.conversation }),
        ...(typeof body.previous_response_id === "string" && {
          previousResponseId: body.previous_response_id,
        }),
      },
    };
  if (protocol !== "anthropic") return {};
  const thinking = body.thinking as Fields | undefined;
  const servers = body.mcp_servers as readonly Fields[] | undefined;
  return {
    anthropic: {
      ...(thinking !== undefined && {
        thinking: {
          type: thinking.type ?? "",
          ...(thinking.budget_tokens !== undefined && { budgetTokens: thinking.budget_tokens }),
        },
      }),
      ...(servers !== undefined && {
        mcpServers: servers.map(({ type = "", name = "", url = "" }) => ({ type, name, url })),
      }),
    },
  };
}

/** The AI SDK's own client for the API. What an agent has no word for is added on the way, as any user could. */
function modelFor(asked: Asked, address: string): LanguageModelV3 {
  const own = asked.own.map((spec) => providerTool(asked.protocol, spec));
  return wrapLanguageModel({
    model: clientFor(asked, address),
    middleware: {
      specificationVersion: "v3",
      transformParams: async ({ params, type }): Promise<LanguageModelV3CallOptions> => ({
        ...params,
        ...(own.length > 0 && { tools: [...(params.tools ?? []), ...own] }),
        ...(type === "stream" && { includeRawChunks: true }),
      }),
    },
  });
}

function clientFor({ protocol, model }: Asked, address: string): LanguageModelV3 {
  const apiKey = "none";
  const before = (end: string) => address.slice(0, address.indexOf(end));
  switch (protocol) {
    case "chat":
      return createOpenAI({ baseURL: before("/chat/"), apiKey }).chat(model);
    case "responses":
      return createOpenAI({ baseURL: before("/responses"), apiKey }).responses(model);
    case "anthropic":
      return createAnthropic({ baseURL: before("/messages"), apiKey }).languageModel(model);
    case "google":
      return createGoogleGenerativeAI({ baseURL: before("/models/"), apiKey }).languageModel(model);
  }
}

function providerTool(protocol: Asked["protocol"], spec: Fields) {
  if (protocol === "anthropic") {
    const { type, name } = spec;
    return { type: "provider", id: `anthropic.${type}`, name: String(name), args: {} } as const;
  }
  const [kind = "", args] = Object.entries(spec)[0] ?? [];
  const name = kind.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const stores = (args as Fields).file_search_store_names;
  return {
    type: "provider",
    id: `google.${name}` as const,
    name,
    args: stores === undefined ? {} : { fileSearchStoreNames: stores },
  } as const;
}
