import type { CallToolResult, InputRequiredResult } from "@modelcontextprotocol/client";
import type { Json } from "../../session/index.js";
import type { Definition } from "./definition.js";
import { McpAnswerError } from "./error.js";
import type { Fields, Link, Root } from "./link.js";
import type { Sample } from "./sampling.js";

/** What a call is given by whoever makes it. */
export type CallContext = { readonly signal: AbortSignal; emit(delta: Json): void };

/** What a server wants to know from a person before it goes on. */
export type Question = { readonly key: string; readonly message: string; readonly schema: Json };
/** What a person says to it. */
export type Answer = { readonly action: "accept" | "decline" | "cancel"; readonly content?: Json };
/** Answers by the keys of what was asked: of persons, and of models. */
export type Answers = { readonly [key: string]: Answer | Json };

/** How far a call got: to its result, or to what the server wants to know first. */
export type Called = { readonly result: CallToolResult } | Asking;
export type Asking = {
  readonly questions: readonly Question[];
  readonly samples: readonly Sample[];
  /** What the server has to be given back with the answers. */
  readonly resume: Resume;
};
export type Resume = {
  /** Of 2026: what the server sent along, and what it got to know already. */
  readonly state?: string;
  readonly given?: { readonly [key: string]: Json };
  /** Of 2025: which call in this process waits. */
  readonly parked?: string;
};

export type CallSettings = {
  readonly server: string;
  readonly sampling: boolean;
  readonly roots: readonly Root[] | undefined;
  /** Milliseconds that a server may take between two questions. */
  readonly deadline: number;
};

/** Rounds of questions that one call may take. */
const ROUNDS = 10;

/**
 * Calls a tool of a server of 2026: one that wants to know something says so in its answer, and is called again with
 * what it wants to know. What this client can tell is told at once; what a model or a person must say comes back.
 */
export async function callInRounds(
  link: Link,
  definition: Definition,
  input: Json,
  settings: CallSettings,
  context: CallContext,
  answers?: { readonly resume: Resume; readonly of: Answers },
): Promise<Called> {
  let state = answers?.resume.state;
  let responses: { [key: string]: unknown } | undefined =
    answers === undefined ? undefined : { ...answers.resume.given, ...answers.of };
  for (let round = 0; round < ROUNDS; round++) {
    const found = await link.call(
      {
        name: definition.name,
        arguments: input,
        ...(responses !== undefined && { inputResponses: responses }),
        ...(state !== undefined && { requestState: state }),
      },
      definition,
      { signal: context.signal, onprogress: (progress) => context.emit(emitted(settings.server, progress)) },
    );
    if (!isAsking(found)) return { result: found };
    state = found.requestState;
    responses = {};
    const questions: Question[] = [];
    const samples: Sample[] = [];
    for (const [key, request] of Object.entries(found.inputRequests ?? {})) {
      const { method, params } = request as { readonly method: string; readonly params?: unknown };
      if (method === "elicitation/create") questions.push(questionOf(key, params));
      else if (method === "sampling/createMessage" && settings.sampling)
        samples.push({ key, params: (params ?? {}) as Json });
      else if (method === "roots/list") responses[key] = { roots: settings.roots ?? [] };
      else throw new McpAnswerError(settings.server, "a call", `it asks for ${JSON.stringify(method)}`);
    }
    if (questions.length + samples.length > 0)
      return {
        questions,
        samples,
        resume: {
          ...(state !== undefined && { state }),
          ...(Object.keys(responses).length > 0 && { given: responses as { [key: string]: Json } }),
        },
      };
  }
  throw new McpAnswerError(settings.server, "a call", `it asks again after ${ROUNDS} rounds`);
}

/** Progress as observers hear it. */
export function emitted(server: string, progress: Json): Json {
  return { type: "mcp-progress", server, progress };
}

export function questionOf(key: string, params: unknown): Question {
  const { message, requestedSchema } = (params ?? {}) as Fields;
  return { key, message: String(message ?? ""), schema: (requestedSchema ?? { type: "object" }) as Json };
}

function isAsking(found: CallToolResult | InputRequiredResult): found is InputRequiredResult {
  return (found as { readonly resultType?: unknown }).resultType === "input_required";
}
