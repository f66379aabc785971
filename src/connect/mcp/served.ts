import { plainJson, textOf } from "../../agent/model/index.js";
import type { Awaited, Module, Rath, Sender } from "../../runtime/index.js";
import {
  detailsOf,
  mayAnswer,
  NotARunError,
  RunFailedError,
  statusOf,
  VerificationError,
} from "../../runtime/index.js";
import { type Json, type Principal, RathError, type Session } from "../../session/index.js";
import { defined, showValue as word } from "../../util/index.js";
import { misfit, withDefaults } from "./definition.js";
import { McpOptionError } from "./error.js";
import { approvalProblem, clientQuestion, type Given, giveApproval } from "./form.js";

/** A run as a client sees it: its status, its name and session, the last words, and the open questions. */
export type Report = {
  readonly status: string;
  readonly run: string;
  readonly session: string;
  readonly text: string;
  readonly waiting: readonly Waiting[];
};

export type Waiting = {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly shown: Json;
  /** The people who may answer, and the end of the time to answer. */
  readonly to?: readonly Principal[];
  readonly expires?: string;
  /** Where it is a question: the JSON schema of an answer. */
  readonly answer?: Json;
  /** The reason why the answer before was refused. */
  readonly problem?: string;
  /** Whether the caller may answer it. */
  readonly mayAnswer?: boolean;
  /** Other details, such as its digest; of a call in doubt, its key, when it began and who approved it. */
  readonly [detail: string]: Json | undefined;
};

/** The caller, whether every session of the store is open to them, and what they may approve. */
export type Caller = { readonly by: Principal; readonly store: boolean; readonly sender: Sender };

/** The prefix of the names of runs that clients began. */
export const RUNS = "mcp/";

/** Begins a run of a module for a caller, on a new session or on one that is there. */
export async function began(
  rath: Rath,
  module: Module,
  name: string,
  { task, session: from }: { readonly task: string; readonly session?: string },
  caller: Caller,
  signal: AbortSignal,
): Promise<Report> {
  const { by, sender } = caller;
  const base =
    from === undefined ? rath.start(task, { by }) : (await known(rath, from, caller)).say(task, { by });
  return reported(rath, name, sender, () => rath.run(module, base, { name, signal, by }));
}

/** A session to go on from. Where the store is not offered, a caller knows only what came of their own calls. */
async function known(rath: Rath, nameOrId: string, { by, store }: Caller): Promise<Session> {
  if (store) return rath.load(nameOrId);
  const session = await rath.load(nameOrId).catch((error: unknown) => {
    if (error instanceof RathError) return undefined;
    throw error;
  });
  for (const { fact } of session?.history() ?? [])
    if (fact.type === "run-start" && fact.nonce === session?.fact.run)
      if (fact.by === by && fact.name?.startsWith(RUNS)) return session;
  // Whether it is there, and somebody else's, is nothing to tell.
  throw new McpOptionError(
    "served here",
    `no call of ${by} came to the session ${word(nameOrId)}`,
    "name the run or the session that an earlier call gave back",
  );
}

/** Gives answers to what a run waits for, and returns the problems of those that do not fit, by what they answer. */
export async function gave(
  rath: Rath,
  run: string,
  answers: ReadonlyMap<string, Given>,
  sender: Sender,
): Promise<ReadonlyMap<string, string>> {
  const { who: by } = sender;
  const may = await mayAnswer(rath, run, sender);
  const problems = new Map<string, string>();
  for (const one of await rath.pending(run)) {
    const given = answers.get(one.id);
    if (given === undefined || one.answered || !may(one)) continue;
    const problem = await problemIn(given, one);
    if (problem !== undefined) problems.set(one.id, problem);
    else if (one.type === "approval-ask") {
      const refused = await giveApproval(rath, run, one, given, by);
      if (refused !== undefined) problems.set(one.id, refused);
    } else if (one.type === "signal-await") await rath.answer(run, one.id, answerOf(given, one.shown), by);
  }
  return problems;
}

/** Gives answers to what a run waits for, and goes on with it. An answer that does not fit is asked for again. */
export async function wentOn(
  rath: Rath,
  module: Module,
  run: string,
  answers: ReadonlyMap<string, Given>,
  sender: Sender,
  signal: AbortSignal,
): Promise<Report> {
  const problems = await gave(rath, run, answers, sender);
  const report = await reported(rath, run, sender, () => rath.resume(run, module, { signal }));
  const waiting = report.waiting.map((one) => {
    const problem = problems.get(one.id);
    return problem === undefined ? one : { ...one, problem };
  });
  return { ...report, waiting };
}

/** The problem of an answer, if any. */
async function problemIn(given: Given, { type, shown, answer }: Awaited): Promise<string | undefined> {
  const question = shown === undefined ? undefined : clientQuestion(shown);
  if (question !== undefined) {
    const { content, roots } = given as { readonly content?: unknown; readonly roots?: unknown };
    const fits =
      question.mcp === "roots/list" ? Array.isArray(roots) : typeof content === "object" && content !== null;
    return fits ? undefined : `this does not answer ${question.mcp}`;
  }
  if (type === "approval-ask") return answer === undefined ? approvalProblem(given) : undefined;
  if (given.action !== "accept" || type !== "signal-await") return undefined;
  const schema = schemaIn(shown);
  return schema === undefined ? undefined : misfit(withDefaults(given.content, schema), schema);
}

/** An answer to a form is what was done with the form; any other is what was written. */
function answerOf(given: Given, shown: Json | undefined): Json {
  if (shown !== undefined && clientQuestion(shown) !== undefined) return given as Json;
  const { action, content } = given;
  const schema = schemaIn(shown);
  if (action !== "accept")
    return {
      action: String(action),
      ...(schema !== undefined && content !== undefined && { content: content as Json }),
    };
  if (schema !== undefined) return { action: "accept", content: withDefaults(content, schema) };
  const { value } = (content ?? {}) as { readonly value?: Json };
  return value ?? null;
}

function schemaIn(shown: Json | undefined): Json | undefined {
  const { schema } = (typeof shown === "object" && shown !== null ? shown : {}) as { readonly schema?: Json };
  return typeof schema === "object" && schema !== null ? schema : undefined;
}

async function reported(
  rath: Rath,
  run: string,
  sender: Sender,
  act: () => Promise<Session>,
): Promise<Report> {
  let session: Session;
  try {
    session = await act();
  } catch (error) {
    if (!(error instanceof RunFailedError)) throw error;
    return { ...reportOf(error.session, run), status: "failed", text: error.message, waiting: [] };
  }
  if (statusOf(session) !== "waiting") return { ...reportOf(session, run), waiting: [] };
  const waiting = waitingFor(await rath.pending(run), await mayAnswer(rath, run, sender));
  return { ...reportOf(session, run), waiting };
}

/** The pending requests of a run, as shown to a caller who may answer some of them. */
export function waitingFor(pending: readonly Awaited[], may: (one: Awaited) => boolean): readonly Waiting[] {
  return pending.map((one) => ({ ...waitingOf(one), mayAnswer: may(one) }));
}

/** The report of a run that is over, from its record alone. */
export function reportIn(session: Session, run: string): Report {
  const report = { ...reportOf(session, run), waiting: [] };
  const end = [...session.history()].findLast(({ fact }) => fact.type === "run-end")?.fact;
  const message = end?.type === "run-end" ? end.error?.message : undefined;
  return message === undefined ? report : { ...report, text: message };
}

function waitingOf(one: Awaited): Waiting {
  const { id, type, what, expires, answer, doubt } = one;
  const kinds: { readonly [type: string]: string } = { "approval-ask": "approval", "signal-await": "signal" };
  return {
    id,
    kind: doubt === true ? "in-doubt" : (kinds[type] ?? type),
    name: what,
    shown: what,
    ...detailsOf(one),
    ...defined({ expires, answer }),
  };
}

function reportOf(session: Session, run: string): Omit<Report, "waiting"> {
  return { status: statusOf(session), run, session: session.id, text: lastWords(session) };
}

function lastWords(session: Session): string {
  const said = session.transcript.findLast(
    (message) => message.role === "assistant" && textOf(message.content) !== "",
  );
  return said?.role === "assistant" ? textOf(said.content) : "";
}

/** The sessions that have names, the newest first. */
export async function listed(rath: Rath, under: string | undefined, most: number): Promise<Json> {
  const store = await rath.store();
  const names = await store.names(under === undefined ? {} : { under });
  return names
    .filter(({ name }) => !/^(answer|run)\//.test(name))
    .slice(0, most)
    .map(({ name, id }) => ({ name, session: id }));
}

/** A session in JSON: who said what, how it stands, what it cost, what it waits for. */
export async function shown(rath: Rath, nameOrId: string): Promise<Json> {
  const session = await rath.load(nameOrId);
  return {
    session: session.id,
    status: statusOf(session),
    facts: session.depth + 1,
    transcript: plainJson(session.transcript) ?? [],
    usage: { ...session.usage },
    pending: plainJson((await rath.pending(nameOrId)).map(waitingOf)) ?? [],
  };
}

/** A branch of a session under a name of its own. */
export async function forked(
  rath: Rath,
  by: Principal,
  nameOrId: string,
  branch: string,
  name: string,
): Promise<Json> {
  const session = await rath.save((await rath.load(nameOrId)).fork(branch, { by }), name);
  return { session: session.id, name };
}

/** Goes through a recorded run again: with the record as the world, and whether it ends in the same id. */
export async function replayed(
  rath: Rath,
  module: Module,
  nameOrId: string,
  mode: "replay" | "verify",
): Promise<Json> {
  const recorded = await (await rath.store()).resolve(nameOrId);
  try {
    const session = await rath.replay(nameOrId, module, { mode });
    return { same: session.id === recorded, session: session.id, recorded };
  } catch (error) {
    if (error instanceof NotARunError || !(error instanceof RathError)) throw error;
    if (error instanceof VerificationError || mode === "verify")
      return { same: false, recorded, why: error.message };
    throw error;
  }
}
