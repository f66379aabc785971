import {
  type Awaited,
  CancelledError,
  DivergenceError,
  type Rath,
  RunFailedError,
  type Status,
  statusOf,
  TapeEndedError,
  VerificationError,
} from "../runtime/index.js";
import { type Content, type FactId, type FactOf, RathError, refsOf, type Session } from "../session/index.js";
import type { Erasure, Store } from "../store/index.js";
import { typedWaiting, waitingOf, waitingText } from "./awaited.js";
import { withHint } from "./error.js";
import type { Shell } from "./shell.js";
import { argument, brief, count, oneLine, plain } from "./text.js";

/** Says how a run came out, and what can be typed now; the exit code of the command. */
export async function tellOutcome(
  shell: Shell,
  rath: Rath,
  session: Session,
  told: {
    readonly name: string;
    readonly next?: readonly string[];
    readonly events?: boolean;
    readonly more?: { readonly [field: string]: unknown };
  },
): Promise<number> {
  const { name, next = [] } = told;
  const status = statusOf(session);
  const awaited: readonly Awaited[] = status === "waiting" ? await rath.pending(session.id) : [];
  const resume = `rath resume ${argument(name)}`;
  const waiting = waitingOf(name, awaited, resume, shell.person);
  const answer = lastWords(session);
  const stop = stopIn(session);
  const document = {
    name,
    id: session.id,
    status,
    ...(answer !== undefined && { answer }),
    usage: session.usage,
    ...(stop !== undefined && { stopped: { limit: stop.limit, allowed: stop.allowed, spent: stop.spent } }),
    ...(waiting.length > 0 && { pending: typedWaiting(shell, waiting) }),
    ...told.more,
  };
  if (told.events === true) shell.streams.stdout.write(`${JSON.stringify({ outcome: document })}\n`);
  else shell.tell(document);
  if (told.events === true || shell.json) return codeOf(status);
  if (answer !== undefined) shell.say(`${plain(answer).trimEnd()}\n`);
  const { calls, input, output } = session.usage;
  shell.say(
    `${shell.status(status)} ${shell.bold(plain(name))} ${shell.id(session.id)} ${shell.dim(`${count(calls, "model call")}, ${count(input + output, "token")}`)}`,
  );
  if (stop !== undefined) shell.say(shell.yellow(stopText(stop)));
  for (const one of waiting) shell.say(`\n${waitingText(shell, one)}`);
  const word = argument(name);
  if (next.length > 0) shell.hint(...next);
  else if (status === "waiting")
    shell.hint(...(waiting.find(({ answered }) => !answered)?.commands ?? [resume]));
  else shell.hint(`rath log ${word}`, `rath show ${word}`);
  return codeOf(status);
}

/** A run that failed, or was stopped, as the command line tells it: with what to type instead of what to program. */
export function failing(error: unknown, name: string): unknown {
  const word = argument(name);
  if (error instanceof RunFailedError) {
    const message = error.message.replace(/\n {2}hint: [\s\S]*$/, "");
    return new RathError("run-failed", message, {
      hint: `see what happened: rath log ${word}; repeat the failed step: rath resume ${word} --retry`,
      data: { ...error.data, name, id: error.session.id },
      cause: error,
    });
  }
  if (error instanceof CancelledError && error.session !== undefined)
    return new RathError("cancelled", `${name} was stopped: ${String(error.data.why)}.`, {
      hint: `finished work is kept; continue: rath resume ${word}`,
      data: { ...error.data, name, id: error.session.id },
      cause: error,
    });
  if (!(error instanceof RathError)) return error;
  const hint = HINTS[error.code]?.(word);
  return hint === undefined ? error : withHint(error, hint);
}

/** Whether this says that a program does not do what is recorded. */
export function isDifference(error: unknown): error is RathError {
  return (
    error instanceof DivergenceError || error instanceof VerificationError || error instanceof TapeEndedError
  );
}

/**
 * What is to be said of a program that came out otherwise where content of its past was erased: that no longer
 * tells anything about the program.
 */
export async function erasedBehind(
  store: Store,
  id: FactId,
  name: string,
  error: unknown,
): Promise<RathError | undefined> {
  if (!isDifference(error)) return undefined;
  const erasure = await erasureIn(store, id);
  if (erasure === undefined) return undefined;
  const { digest, by, at, why } = erasure;
  const [problem = ""] = error.message.split("\n");
  return new RathError(
    "content-erased",
    `${name} cannot be replayed: content was erased by ${oneLine(by)} at ${at}: ${oneLine(why)} (without it: ${oneLine(problem, 200)})`,
    {
      hint: `the rest of the record can still be verified: rath verify ${argument(name)}`,
      data: { session: name, digest, by, at, why },
      cause: error,
    },
  );
}

/** The first content of a history that is gone because somebody erased it. */
async function erasureIn(store: Store, id: FactId): Promise<Erasure | undefined> {
  const erasures = new Map(
    (await store.erasures()).flatMap((one) => [
      [one.digest, one],
      [one.fact, one],
    ]),
  );
  if (erasures.size === 0) return undefined;
  for await (const lines of store.lines(id))
    for (const { id: fact, line } of lines)
      for (const key of [fact, ...Object.values(refsOf(line)).map(({ digest }) => digest)]) {
        const erasure = erasures.get(key);
        // The same bytes may have been kept again since.
        if (erasure !== undefined && (await store.blob(erasure.digest)) === undefined) return erasure;
      }
  return undefined;
}

/** Hints for the command line, in place of those for programs. */
const HINTS: { readonly [code: string]: (name: string) => string } = {
  "name-conflict": (name) =>
    `continue from its end: rath run FILE --on ${name}; or choose another name: --name …`,
  "not-a-run": (name) => `run a program on it: rath run FILE --on ${name}`,
  divergence: (name) =>
    `run the program that made it: --with FILE; or let it differ on a branch: rath replay ${name} --mode what-if`,
  "work-pending": (name) =>
    `see what it waits for: rath pending ${name}; or branch before it: rath fork ${name} --at …`,
};

function codeOf(status: Status): number {
  if (status === "waiting") return 4;
  return status === "failed" || status === "cancelled" ? 1 : 0;
}

/** The limit that stopped something in the run that a session is the end of. */
function stopIn(session: Session): FactOf<"budget-stop"> | undefined {
  if (session.atHorizon) return undefined;
  let stop: FactOf<"budget-stop"> | undefined;
  try {
    for (const { fact } of session.history())
      if (fact.type === "budget-stop" && fact.run === session.fact.run) stop = fact;
  } catch {
    // Of a session that is too long to hold, the past is in the store.
  }
  return stop;
}

/** A limit that was reached, in words. */
export function stopText({
  limit,
  allowed,
  spent,
}: Pick<FactOf<"budget-stop">, "limit" | "allowed" | "spent">): string {
  return `a budget is spent: ${spent} of ${allowed} ${limit}; calls beyond it were not made`;
}

/** The last words of the assistant. */
function lastWords(session: Session): string | undefined {
  try {
    const last = session.recent(20).findLast(({ role }) => role === "assistant");
    const words = last?.role === "assistant" ? textIn(last.content) : "";
    return words.trim() === "" ? undefined : words;
  } catch {
    // Of a session that is too long to hold, what was said last may not be known.
    return undefined;
  }
}

function textIn(content: Content): string {
  return typeof content === "string"
    ? content
    : content
        .map((part) => (part.type === "text" ? part.text : part.type === "tool-call" ? "" : brief([part])))
        .join("");
}
