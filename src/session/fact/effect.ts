import { fact } from "./family.js";
import { typed } from "./field.js";
import type { Edited } from "./value.js";
import type { Writer } from "./writer.js";

/** The fields that every outcome may have. */
const OUTCOME = { milliseconds: "number?", from: "id?", redacted: "json?" } as const;

/**
 * Calls of models, tools and steps. An outcome names its request with `of` and, when a finished effect is used again in
 * another run, the outcome it was taken from with `from`; `redacted` are the names of secrets whose values were in it.
 */
export const call = {
  /** How an agent is set up. */
  "agent-configure": fact({
    by: "agent",
    fields: {
      agent: "text",
      instructions: "content text?",
      tools: "content json?",
      output: "content json?",
      parameters: "content json?",
      since: "id?",
      /** The tools whose descriptions are not of this program. */
      foreign: typed<readonly string[]>()("json?"),
    },
    say: ({ agent }, { words }) => `configured the agent ${words(agent)}`,
    quiet: true,
  }),
  /** A model is asked. */
  "model-call": fact({
    by: "agent",
    fields: { model: "text", agent: "text?", config: "id?", prompt: "digest?", parameters: "content json?" },
    say: ({ model }, { words }) => `asked the model ${words(model)}`,
  }),
  /** A model answers. */
  "model-reply": fact({
    by: "service",
    fields: {
      of: "id",
      content: "content words",
      finish: "text",
      usage: "usage",
      cost: "number?",
      model: "text?",
      response: "text?",
      /** Whose words these are: the agent that asked. */
      agent: "text?",
      meta: "content json?",
      raw: "content json?",
      ...OUTCOME,
    },
    say: ({ content, finish }, { quote }) =>
      finish === "unreadable" ? "replied something unreadable" : `replied ${quote(content)}`,
  }),
  /** A model does not answer. */
  "model-failure": fact({
    by: "service",
    fields: { of: "id", error: "content failure", ...OUTCOME },
    say: failed,
    tone: bad,
  }),
  /** A tool is called. */
  "tool-call": fact({
    by: "agent",
    fields: {
      name: "text",
      input: "content json",
      call: "text?",
      effect: "effect?",
      key: "text?",
      source: "json?",
      labels: typed<readonly string[]>()("json?"),
    },
    say: called,
  }),
  /** A tool returns. */
  "tool-result": fact({
    by: "tool",
    fields: {
      of: "id",
      output: "content json",
      origin: "text?",
      /** The person who changed the arguments, and the new arguments. */
      edited: typed<Edited>()("personal json?"),
      ...OUTCOME,
    },
    say: ({ output, edited }, writer) => `returned ${writer.quote(output)}${editedText(edited, writer)}`,
  }),
  /** A tool fails. */
  "tool-failure": fact({
    by: "tool",
    fields: { of: "id", error: "content failure", edited: typed<Edited>()("personal json?"), ...OUTCOME },
    say: failed,
    tone: bad,
  }),
  /** An effect of your own is asked for. */
  "step-call": fact({
    by: "agent",
    fields: {
      name: "text",
      input: "content json?",
      effect: "effect?",
      key: "text?",
      labels: typed<readonly string[]>()("json?"),
    },
    say: called,
  }),
  /** A step returns. */
  "step-result": fact({
    by: "tool",
    fields: {
      of: "id",
      value: "content json",
      /** The origin of the value; without one it is not trusted. "input": the value depends on nothing but its input. */
      origin: "text?",
      edited: typed<Edited>()("personal json?"),
      ...OUTCOME,
    },
    say: ({ value, edited }, writer) => `returned ${writer.quote(value)}${editedText(edited, writer)}`,
  }),
  /** A step fails. */
  "step-failure": fact({
    by: "tool",
    fields: { of: "id", error: "content failure", edited: typed<Edited>()("personal json?"), ...OUTCOME },
    say: failed,
    tone: bad,
  }),
};

/** The work of the runtime on an effect that has no outcome yet. */
export const effect = {
  /** An attempt of a `write` begins. */
  "effect-start": fact({
    by: "runtime",
    fields: { of: "id", attempt: "size", key: "text?" },
    say: ({ of, attempt }, { named }) => `started attempt ${attempt} of ${named(of)}`,
    quiet: true,
  }),
  /** An attempt failed that will be repeated. */
  "effect-fail": fact({
    by: "runtime",
    fields: { of: "id", attempt: "size", error: "content failure", wait: "number" },
    say: ({ of, attempt, error, wait }, { named, problem }) =>
      `saw attempt ${attempt} of ${named(of)} fail and waited ${wait} ms: ${problem(error)}`,
    tone: bad,
  }),
  /** Nobody knows how a `write` ended. */
  "effect-doubt": fact({
    by: "runtime",
    fields: { of: "id", attempt: "size", error: "content failure" },
    say: ({ of, error }, { named, problem }) => `did not learn how ${named(of)} ended: ${problem(error)}`,
    tone: bad,
    trace: ["attempt"],
  }),
  /** Somebody settles how it ended. */
  "effect-settle": fact({
    by: "must say",
    fields: {
      of: "id",
      decision: "settlement",
      value: "personal json?",
      error: "personal failure?",
      why: "personal text?",
      /** With "again" on an approved call: the digest of the call that is to be executed a second time. */
      digest: "digest?",
    },
    say: ({ of, decision, value, why: reason, digest }, { named, words, quote, why }) =>
      `settled ${named(of)}: ${SETTLED[decision] ?? words(decision)}${value === undefined ? "" : ` with ${quote(value)}`}${digest === undefined ? "" : ", a second execution of what was approved"}${why(reason)}`,
    trace: ["decision"],
  }),
  /** A run waits for a time. */
  "timer-set": fact({
    by: "agent",
    fields: { milliseconds: "number?", until: "text?" },
    say: ({ milliseconds, until }, { words }) =>
      `set a timer ${until === undefined ? `of ${milliseconds} ms` : `until ${words(until)}`}`,
    quiet: true,
  }),
  /** The time has come. */
  "timer-fire": fact({
    by: "runtime",
    fields: { of: "id" },
    say: ({ of }, { named }) => `fired the timer ${named(of)}`,
    quiet: true,
  }),
  /** A run waits for an answer. The answer hangs from this request; the chain takes it in with both as parents. */
  "signal-await": fact({
    by: "agent",
    fields: { name: "text", what: "content json?" },
    say: ({ name }, { words }) => `waited for ${words(name)}`,
  }),
  /** Somebody answers. */
  "signal-give": fact({
    by: "must say",
    fields: { of: "id", value: "personal json" },
    say: ({ of, value }, { named, quote }) => `answered ${named(of)}: ${quote(value)}`,
  }),
  /** The run takes an answer in. */
  "answer-take": fact({
    by: "runtime",
    fields: { of: "id", answer: "id" },
    say: ({ of, answer }, { named }) => `took in the answer ${named(answer)} to ${named(of)}`,
    quiet: true,
  }),
  /** Nobody waits for the answer now. */
  "wait-cancel": fact({
    by: "runtime",
    fields: {
      of: "id",
      why: "content text?",
      /** Time to answer was up. */
      late: typed<true>()("flag?"),
    },
    say: ({ of, why: reason }, { named, why }) => `stopped waiting for ${named(of)}${why(reason)}`,
  }),
};

const SETTLED: { readonly [decision: string]: string } = {
  done: "it was done",
  failed: "it was not done",
  again: "do it again",
};

function called(
  { name, input }: { readonly name: string; readonly input?: unknown },
  { words }: Writer,
): string {
  return `called ${words(name)}${input === undefined ? "" : ` with ${words(input)}`}`;
}

function failed({ error }: { readonly error: unknown }, { problem }: Writer): string {
  return `failed: ${problem(error)}`;
}

function bad(): "bad" {
  return "bad";
}

/** Where somebody put other arguments in place of those that were asked for. */
function editedText(edited: unknown, { words }: Writer): string {
  if (edited === undefined) return "";
  const { by, input } = Object(edited) as Partial<Edited>;
  return by === undefined ? `, for ${words(edited)}` : `, for ${words(input)} of ${words(by)}`;
}
