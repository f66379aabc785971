import { type Budget, type Module, type Rath, type Sender, statusOf } from "../../../runtime/index.js";
import type { Principal, Session, View } from "../../../session/index.js";
import { giveReplies, isAnswerable } from "../answer.js";
import { RequestError } from "../door.js";
import type { AguiInput } from "./input.js";

/** The result of a request: a run that begins, or one that goes on. */
export type Prepared = {
  /** The nonce of a run that goes on. */
  readonly run: string | undefined;
  readonly go: (signal: AbortSignal) => Promise<Session>;
};

type Given = {
  readonly rath: Rath;
  readonly module: Module;
  readonly name: string;
  readonly input: AguiInput;
  readonly budget: Budget | undefined;
} & Sender;

const NOTE = "agui-run";

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
  const session = await rath.load(name);
  const { runs, messages } = session.view(threadView);
  if (runs.includes(input.runId))
    throw conflict("run-known", "There is a run of this id already", input.runId);
  const fresh = input.messages.filter(({ id }) => !messages.includes(id));
  const status = statusOf(session);
  if (status === "waiting") return answered(given, session, fresh);
  requireNoAnswers(input);
  if (status === "open") return continued(given, session, fresh);
  if (status === "finished" && fresh.length === 0)
    throw conflict("nothing-new", "The thread has heard all of these messages", input.threadId);
  return begun(given, session, fresh);
}

/** A run on what was there, with what is new. Which request it was for is on the record before it. */
function begun(given: Given, session: Session, fresh: AguiInput["messages"]): Prepared {
  const { rath, module, name, who, budget } = given;
  const told = saying(given, session, fresh, who);
  return {
    run: undefined,
    go: (signal) =>
      rath.run(module, told, { name, signal, by: who, ...(budget !== undefined && { budget }) }),
  };
}

function saying({ input }: Given, session: Session, fresh: AguiInput["messages"], by: Principal): Session {
  const { threadId, runId, parentRunId } = input;
  let told = session.append({
    type: "note",
    kind: NOTE,
    threadId,
    runId,
    ...(parentRunId !== undefined && { parentRunId }),
    messages: fresh.map(({ id }) => id),
    by: "runtime",
  });
  for (const { content } of fresh) told = told.say(content, { by });
  return told;
}

/**
 * A run that waits goes on with the answers, of this request or of others. New messages are said after it: front ends send
 * all that they know with every request, also what they were refused before.
 */
async function answered(given: Given, session: Session, fresh: AguiInput["messages"]): Promise<Prepared> {
  const { rath, name, input } = given;
  const pending = await rath.pending(name);
  const open = pending.filter((one) => !one.answered);
  if (fresh.length > 0 && input.resume.length === 0 && open.length > 0)
    throw new RequestError(409, "work-pending", "The thread waits for an answer, not for a message.", {
      hint: "answer its interrupts first, in `resume`, or wait until those who may have answered",
      data: { interrupts: open.filter(isAnswerable).map(({ id, what }) => ({ id, what })) },
    });
  const replies = input.resume.flatMap(({ interruptId, status, payload }) => {
    if (status === "resolved") return [{ of: interruptId, value: payload ?? null }];
    // A cancelled approval is a rejection; a cancelled question stays open.
    const asked = pending.find(({ id }) => id === interruptId);
    return asked?.type === "approval-ask"
      ? [{ of: interruptId, value: { approved: false, why: "nobody decided: it was cancelled" } }]
      : [];
  });
  await giveReplies(rath, name, replies, given);
  return continued(given, session, fresh);
}

/** A run that waited, or was cut off by a crash of the server, is brought to its end before anything new is said. */
function continued(given: Given, session: Session, fresh: AguiInput["messages"]): Prepared {
  const { rath, module, name } = given;
  return {
    run: session.fact.run,
    go: async (signal) => {
      const ended = await rath.resume(name, module, { signal });
      if (fresh.length === 0 || statusOf(ended) === "waiting") return ended;
      return begun(given, await rath.load(name), fresh).go(signal);
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

/** The requests that a thread has taken in: runs, and messages by the ids that the front end gave them. */
const threadView: View<{ readonly runs: readonly string[]; readonly messages: readonly string[] }> = {
  start: { runs: [], messages: [] },
  step(known, fact) {
    if (fact.type !== "note" || fact.kind !== NOTE) return known;
    return {
      runs: [...known.runs, String(fact.runId)],
      messages: [...known.messages, ...(fact.messages as readonly string[])],
    };
  },
};
