import { type Module, waitFor } from "../runtime/index.js";
import type { Sandbox } from "../sandbox/index.js";
import type { FactOf, Session } from "../session/index.js";
import { sandboxView } from "../session/index.js";
import { defined, showValue } from "../util/index.js";
import { createModule } from "./define.js";
import { FilesConflictError } from "./error.js";
import { FilesError, type FilesMerge, filesStep, mergeNext, resolvedBy, resolveMerge } from "./merge.js";
import { refusing, requireOptions } from "./options.js";

export type MergeFilesOptions = {
  /**
   * Decides where both sides changed the same: "ours" or "theirs" for all of it; "ask", a person, who answers the
   * signal `merge-conflicts` with `{ "path": "ours" | "theirs" | "base" | "delete" | { text } }`; a module, which finds the
   * conflicts marked in the files. Without it, a conflict is a `FilesConflictError`.
   */
  readonly resolve?: "ours" | "theirs" | "ask" | Module;
};

/**
 * Brings the files of merged branches together: a three-way merge against what they had in common. Different
 * changes of the same lines are a conflict, and the record says who decided it.
 *
 * ```ts
 * session = await mergeFiles({ resolve: "theirs" }).forward(ours.merge(theirs));
 * ```
 */
export function mergeFiles(options: MergeFilesOptions = {}): Module {
  const refuse = refusing("mergeFiles");
  requireOptions(options, refuse, 'mergeFiles({ resolve: "ours" })', { resolve: true });
  const { resolve } = options;
  const modular = typeof resolve === "object" && resolve !== null;
  if (modular ? typeof resolve.forward !== "function" : resolve !== undefined && !WORDS.has(resolve))
    throw refuse(`${showValue(resolve)} decides nothing`, 'resolve: "ours", "theirs", "ask", or a module');
  const name = "merge-files";
  const state = Object.freeze({ resolve: modular ? resolve.name : (resolve ?? null) });
  const parts = modular ? { parts: Object.freeze({ resolve }) } : {};
  return createModule({ name, kind: name, state, ...parts }, async (session) => {
    let now = session;
    for (let side = await mergeNext(now); side !== undefined; side = await mergeNext(now))
      now = side.conflicts.length === 0 ? side.session : await decide(side, resolve);
    return now;
  });
}

const WORDS: ReadonlySet<string> = new Set(["ours", "theirs", "ask"]);

async function decide(side: FilesMerge, resolve: MergeFilesOptions["resolve"]): Promise<Session> {
  const { session, conflicts } = side;
  if (resolve === undefined)
    throw new FilesConflictError(
      session,
      conflicts.map(({ path }) => path),
    );
  if (resolve === "ours" || resolve === "theirs")
    return resolveMerge(session, side, { choices: resolve, by: "runtime" });
  if (resolve === "ask") return askPerson(side, session);
  return resolvedBy(await resolve.forward(session), side, resolve.name);
}

/** Faults of an answer. Another answer cannot help against other failures. */
const OF_THE_ANSWER: ReadonlySet<string> = new Set([
  "conflict-choice-refused",
  "conflicts-unresolved",
  "option-refused",
]);

/** Asks a person, and asks again with the reason when the answer does not decide it. */
async function askPerson(side: FilesMerge, session: Session): Promise<Session> {
  let now = session;
  let problem: string | undefined;
  for (;;) {
    const taken = await waitFor(now, {
      type: "signal-await",
      name: "merge-conflicts",
      what: { conflicts: side.conflicts, ...defined({ problem }) },
    });
    // An answer hangs from its request, so the session that takes it in has it as its second parent.
    const answer = taken.parents[1] as Session;
    const { value, by } = answer.fact as FactOf<"signal-give">;
    try {
      return await resolveMerge(taken, side, { choices: value, by });
    } catch (error) {
      if (!(error instanceof FilesError)) throw error;
      // With the hint: the person who reads it can act on it.
      const { code = "", message } = error.failure;
      if (!OF_THE_ANSWER.has(code)) throw error;
      now = error.session;
      problem = message;
    }
  }
}

/**
 * Stops everything in the session's sandbox and keeps it, files and processes, until it is used again: as long as this
 * runtime is open. After that its files are still on the record, and its processes are gone.
 */
export function suspendSandbox(): Module {
  return sandboxStep("suspend-sandbox", async (sandbox) => sandbox.suspend());
}

/** Lets a suspended sandbox go on. Using it does the same. */
export function resumeSandbox(): Module {
  return sandboxStep("resume-sandbox", async () => {});
}

function sandboxStep(name: string, act: (sandbox: Sandbox) => Promise<void>): Module {
  return createModule({ name, kind: name }, async (session) => {
    if (session.view(sandboxView).open === null) return session;
    return filesStep(session, name, undefined, async (attempt) => {
      await act(await attempt.sandbox());
      return null;
    });
  });
}
