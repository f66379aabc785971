import { type Fact, type FactOf, type Json, openRath, RunFailedError, type Session } from "openrath";
import type { Part } from "openrath/session";
import { describe, expect, it } from "vitest";
import type { Answered, Piece, Refused } from "./answered.js";
import { type Asked, askedIn, type Said } from "./asked.js";
import { cassettes, type Fields, hasCassettes } from "./cassette.js";
import {
  agentFor,
  leftOut,
  NOTHING_RECORDED,
  type Results,
  type Run,
  type Step,
  sessionFor,
  type Talk,
  talksIn,
} from "./scenario.js";
import { type Answer, type Arrived, loopback } from "./server.js";

const all = cassettes();
const talks = all.flatMap((cassette) =>
  talksIn(cassette).map(
    (talk, place, { length }) =>
      [length === 1 ? cassette.file : `${cassette.file}, talk ${place}`, talk] as const,
  ),
);

/** What asks for no generation, or for one that the AI SDK cannot ask for. Nothing else is left out. */
const LEFT_OUT = {
  "test_embeddings__TestGoogle.test_embed_error 0": "an embedding",
  "models__test_anthropic__test_anthropic_count_tokens_with_adaptive_thinking_and_output_tools 0":
    "counts tokens",
  "models__test_google__test_google_model_file_search_grounding_gemini_3[True] 0": "fills a file store",
  "models__test_google__test_google_model_file_search_grounding_gemini_3[True] 1": "fills a file store",
  "models__test_google__test_google_model_file_search_grounding_gemini_3[True] 2": "fills a file store",
  "models__test_google__test_google_model_file_search_grounding_gemini_3[True] 5": "DELETE is no generation",
  "models__test_openai_responses__test_background_mode_vcr 0":
    "is answered in the background, which the AI SDK cannot ask for",
  "models__test_openai_responses__test_background_mode_vcr 1": "GET is no generation",
  "models__test_openai_responses__test_background_mode_vcr 2": "GET is no generation",
  "models__test_openai_responses__test_openai_conversation_id_auto_respects_pydantic_ai_conversation_id 0":
    "opens a conversation at the provider",
  "models__test_openai_responses__test_openai_conversation_id_auto_respects_pydantic_ai_conversation_id 3":
    "DELETE is no generation",
  "models__test_openai_responses__test_openai_conversation_id_preserves_mismatched_history 0":
    "opens a conversation at the provider",
  "models__test_openai_responses__test_openai_conversation_id_preserves_mismatched_history 2":
    "DELETE is no generation",
};

const PICTURE = "models__test_openai__test_image_url_tool_response";
const MATRIX = "models__test_multimodal_tool_returns__test_multimodal_tool_return_matrix";

/** Where what is sent after the first request differs from what was recorded, and why. */
const SENT_OTHERWISE: { readonly [name: string]: string } = {
  [`${MATRIX}[direct-uploaded_file-audio-google_2_5]`]: "the file comes with the result",
  [`${MATRIX}[direct-uploaded_file-video-google_2_5]`]: "the file comes with the result",
  [`${MATRIX}[tool_return_content-uploaded_file-video-google_2_5]`]: "the file comes with the result",
  [`${MATRIX}[direct-uploaded_file-document-openai_chat]`]: "a file that only the provider has is not named",
  [`${MATRIX}[direct-url-document-anthropic]`]: "the file comes with words that name it",
  models__test_multimodal_tool_returns__test_text_plain_document_anthropic:
    "the recorded question was changed by hand, and a text comes as text",
  [PICTURE]: "other words stand before the picture",
};

if (!hasCassettes)
  process.stdout.write(
    "no recorded provider traffic is played: ../shared/data/provider-cassettes is not there\n",
  );

describe.skipIf(!hasCassettes)(
  "recorded traffic of real providers (../shared/data/provider-cassettes)",
  () => {
    it("[R20] every exchange is driven, or listed with its reason", () => {
      const out = all.flatMap((cassette) =>
        leftOut(cassette).map(([place, reason]) => [`${cassette.file} ${place}`, reason] as const),
      );
      expect(Object.fromEntries(out)).toEqual(LEFT_OUT);
      const exchanges = all.reduce((sum, { exchanges }) => sum + exchanges.length, 0);
      expect(talks.flatMap(([, talk]) => stepsOf(talk)).length).toBe(exchanges - out.length);
    });

    it.each(talks)(
      "[R21] %s lands in a session as it was, and replays without the provider",
      async (name, talk) => {
        const done = await drive(talk);
        check(talk, done);
        const [recorded, sent] = [stepsOf(talk).map(recordedGist), done.arrived.map(sentGist(talk))];
        expect(sent[0]).toEqual(recorded[0]);
        if (SENT_OTHERWISE[name] === undefined) expect(sent).toEqual(recorded);
        else expect(sent).not.toEqual(recorded);
      },
    );

    it("[R21] a tool's picture goes where OpenAI's chat API took it", async () => {
      const [, talk] = talks.find(([name]) => name === PICTURE) as (typeof talks)[0];
      const places = ({ said }: Asked) => said.map((one) => ("file" in one ? one : one.who));
      const sent = (await drive(talk)).arrived.map(({ path, body }) =>
        askedIn("chat", new URL(path, "http://localhost"), body as Fields),
      );
      expect(sent.map(places)).toEqual(stepsOf(talk).map(({ asked }) => places(asked)));
      expect(places(sent[1] as Asked).at(-1)).toMatchObject({ who: "user", media: "image/*" });
    });

    it.each(talks.filter(([, talk]) => stepsOf(talk).some(({ asked }) => asked.stream)))(
      "[R22] %s, in pieces of seven bytes, says the same",
      async (_, talk) => {
        check(talk, await drive(talk, { cut: 7 }));
      },
    );

    it("[R23] a provider that is busy is asked again after as long as it says", async () => {
      const [, talk] = talks.find(([name]) =>
        name.includes("tools_plus_output-anthropic"),
      ) as (typeof talks)[0];
      const [run] = talk.runs as [Run];
      const error = { type: "overloaded_error", message: "Overloaded" };
      const busy: Answer = {
        status: 529,
        headers: [
          ["content-type", "application/json"],
          ["retry-after-ms", "3"],
        ],
        body: JSON.stringify({ type: "error", error }),
      };
      const server = await loopback([busy, ...stepsOf(talk).map(({ exchange }) => exchange)]);
      const rath = openRath({ store: "memory:" });
      const module = agentFor(run, copied(talk.results), server.origin);
      const session = await rath.run(module, sessionFor(rath, undefined, run), { name: "busy" });
      await server.close();
      const failed = [...session.history()].flatMap(({ fact }) =>
        fact.type === "effect-fail" ? [fact] : [],
      );
      expect(failed).toMatchObject([
        { attempt: 1, wait: 3, error: { message: "Overloaded", code: "http-529" } },
      ]);
      expect(server.arrived.length).toBe(stepsOf(talk).length + 1);
      expect((await rath.replay("busy", module, { mode: "verify" })).id).toBe(session.id);
      await rath.close();
    });
  },
);

type Done = {
  readonly session: Session;
  readonly arrived: readonly Arrived[];
  readonly deltas: readonly Fields[];
  readonly errors: readonly RunFailedError[];
};

/** Runs a talk against its recorded provider, then all of it again with nobody there. */
async function drive(talk: Talk, options: { readonly cut?: number } = {}): Promise<Done> {
  const results = copied(talk.results);
  const server = await loopback(
    stepsOf(talk).map(({ exchange }) => exchange),
    options,
  );
  const rath = openRath({ store: "memory:" });
  const deltas: Fields[] = [];
  rath.observe((one) => {
    if (one.kind === "delta") deltas.push(one.delta as Fields);
  });
  const runs: { readonly name: string; readonly module: ReturnType<typeof agentFor>; readonly id: string }[] =
    [];
  const errors: RunFailedError[] = [];
  let session: Session | undefined;
  for (const [place, run] of talk.runs.entries()) {
    const module = agentFor(run, results, server.origin);
    const name = `run-${place}`;
    const begun = sessionFor(rath, session, run);
    session = await rath.run(module, begun, { name }).catch(failed);
    runs.push({ name, module, id: session.id });
  }
  await server.close();
  const { length } = server.arrived;
  for (const { id, module } of runs) {
    const failures = errors.length;
    for (const mode of ["replay", "verify"] as const)
      expect((await rath.replay(id, module, { mode }).catch(failed)).id).toBe(id);
    errors.length = failures;
  }
  expect(server.arrived.length, "nothing was asked again").toBe(length);
  await rath.close();
  return { session: session as Session, arrived: server.arrived, deltas, errors };

  function failed(error: unknown): Session {
    if (!(error instanceof RunFailedError)) throw error;
    errors.push(error);
    return error.session;
  }
}

/** Tools take the results out. */
function copied(results: Results): Results {
  return new Map([...results].map(([key, list]) => [key, [...list]]));
}

function check(talk: Talk, { session, arrived, deltas, errors }: Done): void {
  const steps = stepsOf(talk);
  expect(arrived.map(({ method, path }) => `${method} ${path}`)).toEqual(
    steps.map(({ exchange }) => `${exchange.method} ${exchange.url.pathname}`),
  );
  const facts = [...session.history()].map((node) => node.fact);
  const outcomes = facts.filter((fact) => fact.type === "model-reply" || fact.type === "model-failure");
  expect(outcomes.map(({ type }) => type)).toEqual(
    steps.map(({ answer }) => ("pieces" in answer ? "model-reply" : "model-failure")),
  );
  steps.forEach(({ asked, answer }, place) => {
    const fact = outcomes[place] as Fact;
    if ("pieces" in answer) checkReply(fact as FactOf<"model-reply">, answer, asked.stream);
    else checkFailure(fact as FactOf<"model-failure">, answer, errors);
  });
  checkTools(facts, talk);
  const streamed = steps.flatMap(({ asked, answer }) =>
    asked.stream && "pieces" in answer ? answer.pieces : [],
  );
  for (const type of ["text", "reasoning"])
    expect(deltas.flatMap((delta) => (delta.type === type ? [delta.text] : [])).join("")).toBe(
      streamed.flatMap((piece) => (piece.type === type && "text" in piece ? [piece.text] : [])).join(""),
    );
  const total = steps.flatMap(({ answer }) => ("usage" in answer ? [answer.usage] : []));
  expect(session.usage.input).toBe(total.reduce((sum, { input }) => sum + input, 0));
  expect(session.usage.output).toBe(total.reduce((sum, { output }) => sum + output, 0));
}

function checkReply(fact: FactOf<"model-reply">, answer: Answered, stream: boolean): void {
  const parts =
    typeof fact.content === "string" ? [{ type: "text", text: fact.content } as const] : fact.content;
  const pieces = piecesOf(parts);
  expect(pieces).toEqual(
    answer.pieces.map((piece, place) =>
      // A call that the provider gives no id has one of ours.
      "call" in piece && piece.call === undefined ? { ...piece, call: callOf(pieces[place]) } : piece,
    ),
  );
  expect(fact.finish).toBe(answer.finish);
  const { cached = 0, reasoning = 0, input, output } = fact.usage;
  expect({ input, output, cached, reasoning }).toEqual(answer.usage);
  const meta = fact.meta as Fields;
  expect(meta.finish ?? (answer.ended === "" ? "" : fact.finish)).toBe(answer.ended);
  // The AI SDK drops counts that it has no word for; the raw reply below has them all.
  expect(Object.keys(meta.usage as Fields).length).toBeGreaterThan(2);
  expect(answer.counts).toMatchObject(meta.usage as Fields);
  expect(fact.response).toBe(answer.response);
  expect(fact.model).toBe(answer.model);
  const raw = fact.raw as Fields;
  expect(stream ? raw.chunks : raw.body).toEqual(answer.raw);
}

function checkFailure(
  fact: FactOf<"model-failure">,
  { status, message }: Refused,
  errors: Done["errors"],
): void {
  expect(fact.error).toMatchObject({ message, code: `http-${status}`, data: { status, retryable: false } });
  expect(errors.map(({ cause }) => cause)).toMatchObject([
    { name: "ModelFailedError", code: "model-failed" },
  ]);
  expect(errors[0]?.message).toContain(message);
}

/** Each call that was asked for is made once, under the provider's id, and gives what it gave then. */
function checkTools(facts: readonly Fact[], { runs, results }: Talk): void {
  const asked = runs.flatMap(({ steps }) =>
    steps.flatMap(({ answer }) =>
      "pieces" in answer ? answer.pieces.flatMap((piece) => (piece.type === "call" ? [piece] : [])) : [],
    ),
  );
  const made = facts.filter((fact) => fact.type === "tool-call");
  expect(made.map(({ name, input }) => ({ name, input }))).toEqual(
    asked.map(({ name, input }) => ({ name, input })),
  );
  made.forEach(({ call }, place) => {
    const given = asked[place]?.call;
    if (given === undefined) expect(call).toMatch(/./);
    else expect(call).toBe(given);
  });
  const given = facts.flatMap((fact) => (fact.type === "tool-result" ? [fact.output] : []));
  const recorded = [...results.values()].flat();
  const ends = Array.from({ length: asked.length - recorded.length }, () => NOTHING_RECORDED);
  expect(given.map(text).sort()).toEqual([...recorded, ...ends].map(text).sort());
  expect(facts.filter(({ type }) => type === "tool-failure")).toEqual([]);
}

function text(value: Json): string {
  return JSON.stringify(value);
}

function piecesOf(parts: readonly Part[]): readonly Piece[] {
  const pieces: Piece[] = [];
  for (const part of parts) {
    const last = pieces.at(-1);
    if (part.type === "text") {
      if (last?.type === "text") pieces.splice(-1, 1, { type: "text", text: last.text + part.text });
      else if (part.text !== "") pieces.push({ type: "text", text: part.text });
    } else if (part.type === "reasoning") pieces.push({ type: "reasoning", text: part.text });
    else if (part.type === "tool-call" && part.provider === true)
      pieces.push({ type: "own-call", call: part.call });
    else if (part.type === "tool-call")
      pieces.push({ type: "call", call: part.call, name: part.name, input: part.input });
    else if (part.type === "tool-result") pieces.push({ type: "own-result", call: part.call });
  }
  return pieces;
}

function callOf(piece: Piece | undefined): string | undefined {
  return piece !== undefined && "call" in piece ? piece.call : undefined;
}

function stepsOf({ runs }: Talk): readonly Step[] {
  return runs.flatMap(({ steps }) => steps);
}

/** What a request says and offers, in no API's words. Files are left out: APIs take them in different places. */
type Gist = { readonly system: string; readonly said: readonly Said[]; readonly tools: readonly Json[] };

function recordedGist({ asked }: Step): Gist {
  return gistOf(asked);
}

function sentGist(talk: Talk): (arrived: Arrived, place: number) => Gist {
  return ({ path, body }, place) => {
    const { protocol } = (stepsOf(talk)[place] as Step).asked;
    return gistOf(askedIn(protocol, new URL(path, "http://localhost"), body as Fields));
  };
}

function gistOf({ system, said, tools }: ReturnType<typeof askedIn>): Gist {
  return {
    system: system.trim(),
    said: said.filter((one) => !("file" in one)),
    tools: tools.map(({ name }) => name),
  };
}
