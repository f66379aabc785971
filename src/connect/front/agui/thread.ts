import {
  type Awaited,
  type Budget,
  canonical,
  type Module,
  type Rath,
  statusOf,
} from "../../../runtime/index.js";
import {
  asJson,
  type FactId,
  type Json,
  type Principal,
  type Session,
  type View,
} from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { type FrontSender, giveReplies, isAnswerable, isRequester, type Reply } from "../answer.js";
import { RequestError } from "../door.js";
import { takenOver } from "../take-over.js";
import { callsOf, frontContext, isFrontCall, offerView } from "./front-tool.js";
import type { AguiInput } from "./input.js";
import { RUN_NOTE } from "./messages.js";
import { APP_NOTE, appState } from "./state.js";

/** The result of a request: a run that begins, one that goes on, or nothing to do but to tell what there is. */
export type Prepared = {
  /** The session before this request, with the messages that it brings. */
  readonly before: Session;
  /** Whether the sender has nothing to say, and reads what there is. */
  readonly isLate: boolean;
  /** The nonce of a run that goes on. */
  readonly run?: string | undefined;
  readonly go?: (signal: AbortSignal, told: Told) => Promise<Session>;
};

/** Hears how a thread goes on while its answer is under way. */
type Told = {
  /** New messages are in the session. */
  readonly said: (session: Session) => void;
  /** Somebody else continued its run, to this session. */
  readonly seen: (session: Session) => void;
};

type Given = {
  readonly rath: Rath;
  readonly module: Module;
  readonly name: string;
  readonly input: AguiInput;
  readonly budget: Budget | undefined;
  readonly sender: FrontSender;
};

/**
 * Finds the session of a thread, takes in what is new, and says what to do. Whatever is wrong with the request is found
 * here, before anything is told.
 */
export async function opened(given: Given): Promise<Prepared> {
  const { rath, name, input } = given;
  const known = await (await rath.store()).head(name);
  if (known === undefined) {
    requireNoAnswers(input);
    return begun(given, rath.start(), input.messages);
  }
  const session = await loaded(given);
  const { runs, messages } = session.view(threadView);
  const fresh = input.messages.filter(({ id }) => !messages.includes(id));
  const isKnown = runs.includes(input.runId);
  if (isKnown && (fresh.length > 0 || input.resume.length > 0))
    throw conflict("run-known", "There is a run of this id already", input.runId);
  const status = statusOf(session);
  if (status === "waiting") return answered(given, session, fresh);
  requireNoAnswers(input);
  if (status === "open") return continued(given, session, fresh);
  const isDone = status === "finished" || isKnown;
  return isDone && fresh.length === 0 ? { before: session, isLate: true } : begun(given, session, fresh);
}

/** A thread to read: nothing is said and nothing is answered. A run that was cut off, or that has its answers, goes on. */
export async function looked(given: Omit<Given, "input">): Promise<Prepared> {
  const { rath, name } = given;
  if ((await (await rath.store()).head(name)) === undefined) return { before: rath.start(), isLate: true };
  const session = await loaded(given);
  const status = statusOf(session);
  if (status === "open") return continued(given, session, []);
  if (status === "waiting" && isDue(await rath.pending(name))) return continued(given, session, []);
  return { before: session, isLate: true };
}

/** The session of a thread. Where nobody says who senders are, threads of known people are out of reach. */
async function loaded({ rath, name, sender }: Omit<Given, "input">): Promise<Session> {
  const session = await rath.load(name);
  if (sender.isKnown !== false || isRequester(session, sender.who)) return session;
  throw foreign();
}

export function foreign(): RequestError {
  return new RequestError(403, "forbidden", "This thread belongs to somebody else.", {
    hint: 'the server says who sends a request: { principal: (request) => "user:ada" }',
  });
}

/** A run on what was there, with what is new. Which request it was for is on the record before it. */
function begun(given: Given, session: Session, fresh: AguiInput["messages"]): Prepared {
  const { rath, module, name, sender, budget } = given;
  const told = saying(given, session, fresh, sender.who);
  return {
    before: told,
    isLate: fresh.length === 0,
    go: (signal) =>
      rath.stream(module, told, { name, signal, by: sender.who, ...defined({ budget }) }).result,
  };
}

function saying({ input }: Given, session: Session, fresh: AguiInput["messages"], by: Principal): Session {
  const { threadId, runId, parentRunId, context } = input;
  const isNews = canonical(asJson(context)) !== canonical(asJson(frontContext(session)));
  const tells = isNews && context.length > 0;
  let told = keeping(input, session, by).append({
    type: "note",
    kind: RUN_NOTE,
    threadId,
    runId,
    ...(parentRunId !== undefined && { parentRunId }),
    messages: fresh.map(({ id }) => id),
    ...(tells && { told: true }),
    by: "runtime",
  });
  if (tells)
    told = told.say(
      `The app shows:\n${context.map(({ description, value }) => `${description}: ${value}`).join("\n")}`,
      { by },
    );
  for (const { content } of fresh) told = told.say(content, { by });
  return told;
}

/** Keeps what the front end sent of its app, where it is new. */
function keeping({ state, tools, context }: AguiInput, session: Session, by: Principal): Session {
  const was: { readonly [field: string]: unknown } = { state: appState(session), ...session.view(offerView) };
  const news = Object.entries({ state, tools, context }).filter(
    ([field, value]) => value !== undefined && canonical(value as Json) !== canonical(was[field] as Json),
  );
  if (news.length === 0) return session;
  return session.append({ type: "note", kind: APP_NOTE, ...(Object.fromEntries(news) as object), by });
}

/**
 * A run that waits goes on with the answers, of this request or of others. Somebody who goes on speaking withdraws their
 * requests for approval. Other questions are answered first: new messages are said after them, since front ends send all that
 * they know with every request.
 */
async function answered(given: Given, session: Session, fresh: AguiInput["messages"]): Promise<Prepared> {
  const { rath, name, input, sender } = given;
  const pending = await rath.pending(name);
  const open = new Map(pending.filter((one) => !one.answered).map((one) => [one.id, one]));
  const mine = isRequester(session, sender.who);
  const withdrawn = new Map<FactId, string>();
  const replies: Reply[] = [...resultsIn(session, open, input)];
  for (const { interruptId, status, payload } of input.resume) {
    if (status === "resolved") replies.push({ of: interruptId, value: payload ?? null });
    // A cancelled approval is withdrawn by its requester and rejected by others; a cancelled question stays open.
    else if (open.get(interruptId)?.type !== "approval-ask") continue;
    else if (mine) withdrawn.set(interruptId, "nobody decided: it was cancelled");
    else
      replies.push({ of: interruptId, value: { approved: false, why: "nobody decided: it was cancelled" } });
  }
  const taken = new Set([...replies.map(({ of }) => of), ...withdrawn.keys()]);
  const left = [...open.values()].filter(({ id }) => !taken.has(id));
  if (fresh.length > 0) {
    if (!mine || left.some(({ type }) => type !== "approval-ask")) requireNothingOpen(left);
    const said = fresh.flatMap(({ content }) => (typeof content === "string" ? [content] : [])).join(" ");
    for (const { id } of left) withdrawn.set(id, `${sender.who} withdrew the request and said: ${said}`);
  }
  await giveReplies(rath, name, replies, sender);
  for (const [ask, why] of withdrawn) await rath.withdraw(name, { by: sender.who, ask, why });
  const isMoved = taken.size > 0 || withdrawn.size > 0 || isDue(pending);
  if (!isMoved) return { before: session, isLate: true };
  return { ...continued(given, session, fresh), isLate: taken.size === 0 && fresh.length === 0 };
}

/** Whether a run that waits may go on: there is an answer, or a time may have passed. */
function isDue(pending: readonly Awaited[]): boolean {
  return (
    pending.length === 0 ||
    pending.some(({ answered, type, expires }) => answered || type === "timer-set" || expires !== undefined)
  );
}

/** The results that a front end brings of the calls that wait for it. */
function resultsIn(
  session: Session,
  open: ReadonlyMap<FactId, Awaited>,
  { results }: AguiInput,
): readonly Reply[] {
  if (results.length === 0) return [];
  return [...callsOf(session, [...open.keys()])].flatMap(([of, call]) => {
    const result = isFrontCall(call)
      ? results.findLast(({ toolCallId }) => toolCallId === call.id)
      : undefined;
    if (result === undefined) return [];
    const { content, error } = result;
    const value: Json =
      error === undefined ? { approved: false, instead: content } : { approved: false, why: error };
    return [{ of, value }];
  });
}

function requireNothingOpen(left: readonly Awaited[]): void {
  if (left.length === 0) return;
  throw new RequestError(409, "work-pending", "The thread waits for an answer, not for a message.", {
    hint: "answer its interrupts first, in `resume`, or wait until those who may have answered",
    data: { interrupts: left.filter(isAnswerable).map(({ id, what }) => ({ id, what })) },
  });
}

/** A run that waited, or was cut off by a crash of the server, is brought to its end before anything new is said. */
function continued(
  given: Omit<Given, "input"> & { readonly input?: AguiInput },
  session: Session,
  fresh: AguiInput["messages"],
): Prepared {
  const { rath, module, name, input } = given;
  return {
    before: session,
    isLate: fresh.length === 0,
    run: session.fact.run,
    go: async (signal, told) => {
      const resume = () => rath.stream.resume(name, module, { signal });
      const ended = await (await takenOver(rath, name, resume, told.seen, signal)).result;
      if (input === undefined || fresh.length === 0 || statusOf(ended) === "waiting") return ended;
      const { before, go } = begun({ ...given, input }, await rath.load(name), fresh);
      told.said(before);
      return (go as NonNullable<Prepared["go"]>)(signal, told);
    },
  };
}

function requireNoAnswers({ resume, threadId }: AguiInput): void {
  if (resume.length > 0) throw conflict("answer-refused", "The thread waits for no answer", threadId);
}

function conflict(code: string, message: string, id: string): RequestError {
  return new RequestError(409, code, `${message}: ${JSON.stringify(id)}.`, {
    hint: "send a new runId, and messages that are new, or answers to what is asked",
    data: { id },
  });
}

/** The ids of the messages that a thread has taken in. */
export function heardIn(session: Session): readonly string[] {
  return session.view(threadView).messages;
}

/** The requests that a thread has taken in: runs, and messages by the ids that the front end gave them. */
const threadView: View<{ readonly runs: readonly string[]; readonly messages: readonly string[] }> = {
  start: { runs: [], messages: [] },
  step(known, fact) {
    if (fact.type !== "note" || fact.kind !== RUN_NOTE) return known;
    return {
      runs: [...known.runs, String(fact.runId)],
      messages: [...known.messages, ...(fact.messages as readonly string[])],
    };
  },
};
