import { randomBytes } from "node:crypto";
import type {
  CallToolResult,
  CreateMessageResult,
  ElicitResult,
  InputRequiredResult,
} from "@modelcontextprotocol/client";
import type { Json } from "../../session/index.js";
import type { Sample } from "./asking.js";
import type { Definition } from "./definition.js";
import { McpAnswerError } from "./error.js";
import type { Fields, Link, Root } from "./link.js";
import { type TaskHandle, taskIn } from "./task.js";

export type CallContext = { readonly signal: AbortSignal; emit(delta: Json): void };

/** A question of a server to a person. */
export type Question = { readonly key: string; readonly message: string; readonly schema: Json };
export type Answer = { readonly action: "accept" | "decline" | "cancel"; readonly content?: Json };
/** Answers by the keys of what was asked: of persons, and of models. */
export type Answers = { readonly [key: string]: Answer | Json };

/** How far a call got: to its result, to a task of the server, or to what the server wants to know first. */
export type Called = { readonly result: CallToolResult } | { readonly task: TaskHandle } | Asking;
export type Asking = {
  readonly questions: readonly Question[];
  readonly samples: readonly Sample[];
  /** The state that goes back to the server with the answers. */
  readonly resume: Resume;
};
export type Resume = {
  /** Of 2026: what the server sent along, and what it got to know already. */
  readonly state?: string;
  readonly given?: { readonly [key: string]: Json };
  /** Of 2025: which call in this process waits. */
  readonly parked?: string;
  /** The task that asks. */
  readonly task?: TaskHandle;
};

export type CallSettings = {
  readonly server: string;
  readonly sampling: boolean;
  readonly elicitation: boolean;
  readonly roots: readonly Root[] | undefined;
  /** Milliseconds that a server may take between two questions. */
  readonly deadline: number;
};

/** Rounds of questions that one call may take. */
const ROUNDS = 10;

/**
 * Calls a tool of a server of 2026: one that wants to know something says so in its answer, and is called again with
 * what it wants to know. This client answers at once where it can; questions to a model or a person come back.
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
    if (!isAsking(found)) return calledOf(found);
    state = found.requestState;
    const { questions, samples, given } = requestsIn(found.inputRequests, settings);
    responses = given;
    if (questions.length + samples.length > 0)
      return {
        questions,
        samples,
        resume: {
          ...(state !== undefined && { state }),
          ...(Object.keys(given).length > 0 && { given }),
        },
      };
  }
  throw new McpAnswerError(settings.server, "a call", `it asks again after ${ROUNDS} rounds`);
}

/** A question of the server to a person, to a model, or to this client, which answers at once. */
export function requestsIn(
  requests: unknown,
  { server, sampling, elicitation, roots }: CallSettings,
): {
  readonly questions: readonly Question[];
  readonly samples: readonly Sample[];
  readonly given: { readonly [key: string]: Json };
} {
  const questions: Question[] = [];
  const samples: Sample[] = [];
  const given: { [key: string]: Json } = {};
  for (const [key, request] of Object.entries((requests ?? {}) as Fields)) {
    const { method, params } = (request ?? {}) as Fields;
    if (method === "elicitation/create" && elicitation) questions.push(questionOf(key, params));
    else if (method === "sampling/createMessage" && sampling)
      samples.push({ key, params: (params ?? {}) as Json });
    else if (method === "roots/list") given[key] = { roots: [...(roots ?? [])] } as Json;
    else throw new McpAnswerError(server, "a call", `it asks for ${JSON.stringify(method)}`);
  }
  return { questions, samples, given };
}

/** A result, or the task that it stands for. */
function calledOf(result: CallToolResult): Called {
  const task = taskIn(result);
  return task === undefined ? { result } : { task };
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

type Asked = {
  readonly what: { readonly question: Question } | { readonly sample: Sample };
  readonly answer: (answer: CreateMessageResult & ElicitResult) => void;
  readonly refuse: (error: Error) => void;
};

/**
 * A call of a server of 2025, which asks by a request of its own and waits for the answer with the call open. The call
 * and its connection stay aside until somebody answers, or until this process ends.
 */
export class ParkedCall {
  readonly id = randomBytes(9).toString("base64url");
  readonly link: Link;
  readonly #done: Promise<Called | { readonly error: unknown }>;
  readonly #task: TaskHandle | undefined;
  readonly #waiting: Asked[] = [];
  readonly #controller = new AbortController();
  readonly #what: string;
  readonly #deadline: number;
  #wake: (() => void) | undefined;
  #asked = 0;
  #context: CallContext;

  /** With a task, waits for its result: the server asks on the way. */
  constructor(
    link: Link,
    definition: Definition,
    of: { readonly input: Json } | { readonly task: TaskHandle; readonly milliseconds: number },
    settings: CallSettings,
    context: CallContext,
  ) {
    this.link = link;
    this.#context = context;
    this.#what = `the call of ${JSON.stringify(definition.name)}`;
    this.#task = "task" in of ? of.task : undefined;
    this.#deadline = "task" in of ? of.milliseconds : settings.deadline;
    link.helper = {
      ...(settings.sampling && {
        sample: (params: unknown) =>
          this.#ask((key) => ({ sample: { key, params: (params ?? {}) as Json } })),
      }),
      elicit: (params) => this.#ask((key) => ({ question: questionOf(key, params) })),
    };
    const ask = {
      signal: this.#controller.signal,
      patient: true,
      // The progress goes to the caller who continues it.
      onprogress: (progress: Json) => this.#context.emit(emitted(settings.server, progress)),
    };
    this.#done = (
      "task" in of
        ? link.ask("tasks/result", { taskId: of.task.id }, ask)
        : link.call({ name: definition.name, arguments: of.input }, definition, ask)
    ).then(
      (result) => calledOf(result as CallToolResult),
      (error: unknown) => ({ error }),
    );
  }

  /** Goes on until there is a result, or a question. */
  async next(context: CallContext): Promise<Called> {
    this.#context = context;
    const stop = (): void => this.#controller.abort(context.signal.reason);
    if (context.signal.aborted) stop();
    context.signal.addEventListener("abort", stop, { once: true });
    // The time that a person takes over an answer is not the server's.
    const late = this.link.late(this.#what);
    const timer = setTimeout(() => this.#controller.abort(late), this.#deadline);
    try {
      const asked = new Promise<"asked">((resolve) => {
        this.#wake = () => resolve("asked");
        if (this.#waiting.length > 0) resolve("asked");
      });
      const first = await Promise.race([this.#done, asked]);
      if (first === "asked")
        return {
          questions: this.#waiting.flatMap(({ what }) => ("question" in what ? [what.question] : [])),
          samples: this.#waiting.flatMap(({ what }) => ("sample" in what ? [what.sample] : [])),
          resume: { parked: this.id, ...(this.#task !== undefined && { task: this.#task }) },
        };
      if ("error" in first) throw first.error;
      return first;
    } finally {
      clearTimeout(timer);
      context.signal.removeEventListener("abort", stop);
    }
  }

  /** Passes the answers to the server. Questions that came in between are asked in the next round. */
  answer(answers: Answers): void {
    for (const asked of this.#waiting.splice(0)) {
      const { key } = "question" in asked.what ? asked.what.question : asked.what.sample;
      const answer = answers[key];
      if (answer !== undefined) asked.answer(answer as CreateMessageResult & ElicitResult);
      else this.#waiting.push(asked);
    }
  }

  /** Nobody is going to answer: the server is told so, and that nobody waits for its result. */
  drop(why: Error): void {
    for (const { refuse } of this.#waiting.splice(0)) refuse(why);
    this.#controller.abort(why);
  }

  #ask(what: (key: string) => Asked["what"]): Promise<CreateMessageResult & ElicitResult> {
    return new Promise((resolve, reject) => {
      this.#asked += 1;
      this.#waiting.push({ what: what(String(this.#asked)), answer: resolve, refuse: reject });
      this.#wake?.();
    });
  }
}
