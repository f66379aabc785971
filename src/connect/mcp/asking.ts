import type { LanguageModel, Prompt } from "../../agent/model/index.js";
import { callModel, costOf, estimateTokens, failureOf, priceOf, textOf } from "../../agent/model/index.js";
import { admitted, forward, hold, type Module, perform, pricesOf } from "../../runtime/index.js";
import { digestOf, type FactOf, type Json, type Session } from "../../session/index.js";
import { StepError, signal, step } from "../../workflow/index.js";
import type { Answer, Answers, Asking, Called, Question, Resume } from "./call.js";
import type { Connection } from "./connection.js";
import { partOf } from "./content.js";
import { type Definition, misfit, withDefaults } from "./definition.js";
import { McpCallError, McpSamplingError } from "./error.js";
import type { Secrets } from "./http.js";
import type { TaskHandle } from "./task.js";

const ACTIONS: readonly unknown[] = ["accept", "decline", "cancel"] satisfies Answer["action"][];
/** How often a person is told that an answer does not fit. */
const REPAIRS = 5;
const ROUNDS = 10;

/** The instruction for the person who is asked. */
const HOW =
  'answer with { action: "accept", content: { … } }, where the content fits the schema, or with such content alone; with { action: "decline" } or { action: "cancel" } otherwise';

type Told = { readonly output: Json } | { readonly task: TaskHandle } | Asking;

/**
 * A call that may ask a person or a model, as a module: a step that calls, a wait for each question, a model call for
 * each of those, a step that goes on with the answers. Each is on the record, so that the answer may come tomorrow and a
 * replay needs neither server nor person nor model.
 */
export function askingModule(
  name: string,
  definition: Definition,
  connection: Connection,
  shape: (called: Called) => Json,
): Module {
  const { name: server, secrets, sampling } = connection;
  const told = (called: Called): Told =>
    "result" in called
      ? { output: shape(called) }
      : (secrets.json(called) as Exclude<Told, { output: Json }>);
  const { effect } = definition;
  const begin = step(
    name,
    async (input: Json, context) => told(await connection.call(definition, input, context)),
    { effect },
  );
  const goOn = step(
    name,
    async ({ input, resume, answers }: { input: Json; resume: Resume; answers: Answers }, context) =>
      told(await connection.answer(definition, input, context, { resume, of: answers })),
    { effect },
  );
  const follow = step(
    `${name}.task`,
    async (task: TaskHandle, context) => told(await connection.follow(definition, task, context)),
    { effect: "read" },
  );
  const reply = step(
    `${name}.answer`,
    async ({ task, answers }: { task: TaskHandle; answers: Answers }) =>
      told(await connection.reply(task, answers)),
    { effect: "idempotent" },
  );
  const answered = async (
    session: Session,
    { questions, samples }: Asking,
    before: number,
  ): Promise<{ readonly session: Session; readonly answers: Answers }> => {
    const answers: { [key: string]: Json } = {};
    const use = { server, tool: definition.name, secrets };
    let at = session;
    if (samples.length > 0) allow(sampling, before + samples.length, use);
    for (const { key, params } of samples) {
      const heard = await sampled(at, sampling as SamplingOptions, params, use);
      at = heard.session;
      answers[key] = heard.answer;
    }
    for (const question of questions) {
      const heard = await ask(at, server, definition.name, question);
      at = heard.session;
      answers[question.key] = heard.answer;
    }
    return { session: at, answers };
  };
  const module: Module = {
    name,
    kind: "mcp-call",
    forward: (session) =>
      forward(module, session, async (entered) => {
        const input = inputIn(entered);
        let parked: string | undefined;
        try {
          let { session: at, value } = await begin.call(entered, input);
          let samples = 0;
          for (let round = 0; round < ROUNDS; ) {
            const now = value as Told;
            if ("output" in now) return at;
            if ("task" in now) {
              // The task is on the record: a run that is resumed waits for the same one.
              ({ session: at, value } = await follow.call(at, now.task));
              continue;
            }
            round += 1;
            parked = now.resume.parked;
            const heard = await answered(at, now, samples);
            samples += now.samples.length;
            const { task, given } = now.resume;
            if (task !== undefined && parked === undefined) {
              const answers = { ...given, ...heard.answers };
              ({ session: at, value } = await reply.call(heard.session, { task, answers }));
              continue;
            }
            const more = { input, resume: now.resume, answers: heard.answers };
            ({ session: at, value } = await goOn.call(heard.session, more));
          }
          if ("output" in (value as Told)) return at;
          throw new McpCallError("mcp-answer", `The tool "${name}" asks without end.`, { tool: name });
        } catch (error) {
          if (error instanceof StepError) throw said(error);
          // The model is over its limit or gave no answer: the server must not wait for it.
          if (parked !== undefined) connection.drop(parked, error);
          throw error;
        }
      }),
  };
  return Object.freeze(module);
}

/** Refuses more than a call may ask of the model. */
function allow(
  sampling: SamplingOptions | undefined,
  asked: number,
  { server, tool }: { readonly server: string; readonly tool: string },
): void {
  const most = sampling?.most ?? MOST;
  if (sampling === undefined || asked > most)
    throw new McpSamplingError(server, tool, `one call may ask the model ${most} times`);
}

/** Waits for an answer that fits. The question names the server, the tool and the problem of the answer before. */
async function ask(
  session: Session,
  server: string,
  tool: string,
  { message, schema }: Question,
): Promise<{ readonly session: Session; readonly answer: Answer }> {
  let at = session;
  let problem: string | undefined;
  for (let time = 0; time <= REPAIRS; time++) {
    const what = { server, tool, message, schema, how: HOW, ...(problem !== undefined && { problem }) };
    const { session: next, value } = await signal(`mcp:${server}`, what).call(at);
    at = next;
    const answer = whole(await hold(at, () => accepted(value, schema)), schema);
    problem = await hold(at, () => problemIn(answer, schema));
    if (problem === undefined) return { session: at, answer: answer as Answer };
  }
  return { session: at, answer: { action: "cancel" } };
}

/** Content that fits is an answer by itself, unless it may also be a word on the form. */
async function accepted(value: Json, schema: Json): Promise<Json> {
  const { properties } = Object(schema) as { readonly properties?: { readonly [field: string]: Json } };
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const fields = Object.keys(value);
  const fits =
    !ACTIONS.includes((value as { readonly action?: Json }).action) &&
    fields.length > 0 &&
    fields.every((field) => Object.hasOwn(properties ?? {}, field)) &&
    (await misfit(withDefaults(value, schema), schema)) === undefined;
  return fits ? { action: "accept", content: value } : value;
}

/** Fills in the defaults of the form. */
function whole(value: Json, schema: Json): Json {
  const { action, content } = (typeof value === "object" && value !== null ? value : {}) as Partial<Answer>;
  return action === "accept" ? { action, content: withDefaults(content, schema) } : value;
}

async function problemIn(value: Json, schema: Json): Promise<string | undefined> {
  const { action, content } = (typeof value === "object" && value !== null ? value : {}) as Partial<Answer>;
  if (!ACTIONS.includes(action)) {
    const why = await misfit(value, schema);
    return why === undefined ? HOW : `${HOW}; as content: ${why}`;
  }
  return action === "accept" ? misfit(content, schema) : undefined;
}

/** The input of the call, from the request that the fork was made of. */
function inputIn(session: Session): Json {
  let node: Session | undefined = session;
  while (node !== undefined && node.fact.type !== "tool-call") node = node.soleParent;
  return node?.fact.type === "tool-call" ? node.fact.input : {};
}

/** A step's failure under its own code, as the tool's. */
function said(error: StepError): unknown {
  const { failure } = error.data as { readonly failure?: { code?: string; message?: string; data?: Json } };
  return new McpCallError(failure?.code ?? "mcp-call-failed", failure?.message ?? error.message, {
    ...(failure?.data !== undefined && { failure: failure.data }),
  });
}

/** Lets a server ask a model while one of its tools is called. */
export type SamplingOptions = {
  readonly model: LanguageModel;
  /** Requests at most that one call may make. Default 5. */
  readonly most?: number;
  /** Tokens at most of each answer. Default 2,000. */
  readonly tokens?: number;
};

/** A request of a server to a model. */
export type Sample = { readonly key: string; readonly params: Json };

export const MOST = 5;
const TOKENS = 2_000;

/**
 * Asks the model what a server wants to know, through the door: the call is on the record, is charged to every budget
 * around it, and is not made when it does not fit. The model is told nothing but what the server says: neither the
 * conversation nor its tools.
 */
export async function sampled(
  session: Session,
  { model, tokens = TOKENS }: SamplingOptions,
  given: Json,
  use: { readonly server: string; readonly tool: string; readonly secrets: Secrets },
): Promise<{ readonly session: Session; readonly answer: Json }> {
  const { messages = [], systemPrompt, maxTokens, temperature, stopSequences } = (given ?? {}) as Params;
  const output = Math.min(tokens, typeof maxTokens === "number" && maxTokens > 0 ? maxTokens : tokens);
  const prompt = promptOf(messages, systemPrompt, use.secrets);
  const agent = `mcp:${use.server}`;
  const price = priceOf(model.modelId, pricesOf(session)) ?? priceOf(model.modelId);
  const by = `service:${model.provider}` as const;
  const parameters = {
    maxOutputTokens: output,
    ...(typeof temperature === "number" && { temperature }),
    ...(Array.isArray(stopSequences) && { stop: stopSequences.map(String) }),
  };
  const asked = await perform(session, {
    fact: { type: "model-call", model: model.modelId, agent, prompt: prompt.digest, parameters },
    effect: "read",
    act: async ({ signal }) => {
      const taken = await admitted(session, model.provider, prompt.tokens + output, signal);
      const reply = await callModel(model, prompt, { agent, parameters }, { signal });
      taken(reply.usage.input + reply.usage.output);
      const cost = price === undefined ? {} : { cost: costOf(reply.usage, price) };
      return { type: "model-reply", ...reply, ...cost, agent, by };
    },
    failed: (error, thrown) => ({
      type: "model-failure",
      error: thrown === undefined ? error : { ...failureOf(thrown), ...(error.code && { code: error.code }) },
      by,
    }),
    spend: {
      steps: 1,
      tokens: prompt.tokens + output,
      ...(price !== undefined && { money: costOf({ input: prompt.tokens, output }, price) }),
    },
  });
  if (asked.fact.type !== "model-reply")
    throw new McpSamplingError(
      use.server,
      use.tool,
      (asked.fact as FactOf<"model-failure">).error?.message ?? "the model gave no answer",
    );
  const { content, finish } = asked.fact;
  return {
    session: asked,
    answer: {
      role: "assistant",
      model: `${model.provider}/${model.modelId}`,
      content: { type: "text", text: textOf(content) },
      stopReason: finish === "length" ? "maxTokens" : "endTurn",
    },
  };
}

type Params = {
  readonly messages?: readonly { readonly role?: unknown; readonly content?: unknown }[];
  readonly [field: string]: unknown;
};

function promptOf(messages: Params["messages"] & object, system: unknown, secrets: Secrets): Prompt {
  const turns = messages.map(({ role, content }) => {
    const blocks = (Array.isArray(content) ? content : [content]) as Parameters<typeof partOf>[0][];
    const parts = blocks.map((block) => {
      const part = partOf(block, secrets);
      return part.type === "text" ? part : { type: "file" as const, mediaType: part.media, data: part.data };
    });
    return { role: role === "assistant" ? ("assistant" as const) : ("user" as const), content: parts };
  });
  const all = [
    ...(typeof system === "string" && system !== "" ? [{ role: "system" as const, content: system }] : []),
    ...turns,
  ] as Prompt["messages"];
  const text = all.map((message) => JSON.stringify(message)).join("\n");
  return {
    messages: all,
    text,
    digest: digestOf(text),
    tokens: estimateTokens(text),
    replies: turns.filter(({ role }) => role === "assistant").length,
    plain: turns.every(({ content }) => content.every(({ type }) => type === "text")),
  };
}
