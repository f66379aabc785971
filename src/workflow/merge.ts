import { type Attempt, type Module, perform, splitFailure, waitFor } from "../runtime/index.js";
import type { Choices, Conflict, Sandbox } from "../sandbox/index.js";
import { joinFiles } from "../sandbox/pool/index.js";
import {
  type FactId,
  type FactOf,
  type Failure,
  type Json,
  type Principal,
  RathError,
  type Session,
  sandboxView,
} from "../session/index.js";
import { defined, showValue } from "../util/index.js";
import { createModule } from "./define.js";
import { FilesConflictError } from "./error.js";
import { runtimeStep } from "./host.js";
import { refusing, requireOptions } from "./options.js";

/** A merge of the files of one branch into those of the session. */
type FilesMerge = {
  /** The session that ends with the merge. */
  readonly session: Session;
  readonly id: FactId;
  readonly fact: FactOf<"workspace-merge">;
  readonly conflicts: readonly Conflict[];
};

/**
 * Merges the files of the next branch that is not merged yet into the session's; undefined when all are merged. The session
 * may have no files itself: it adopted a side without any, and that counts as deleting what the other one changed.
 */
async function mergeNext(session: Session): Promise<FilesMerge | undefined> {
  const { tree: ours, unmerged: [next] = [] } = session.files;
  if (next === undefined) return undefined;
  const sides = { base: next.base, ours, theirs: next.theirs };
  const done = await filesStep(session, "merge-files", sides, async (attempt) => {
    const { fact, merged } = await joinFiles(await attempt.trees(), sides);
    attempt.record(fact);
    return { conflicts: merged.conflicts.map(({ path }) => path) };
  });
  let node = done;
  while (node.fact.type !== "workspace-merge") node = node.parents[0] as Session;
  const { id, fact } = node;
  return { session: done, id, fact, conflicts: fact.conflicts as readonly Conflict[] };
}

/** Decides the conflicts of a merge, and records who did, and what each path came to. */
function resolveMerge(
  session: Session,
  { id, fact: { base, ours, theirs } }: FilesMerge,
  { choices, by }: { readonly choices: Json; readonly by: Principal },
): Promise<Session> {
  return filesStep(session, "resolve-files", { merge: id, choices }, async (attempt) => {
    const { ConflictChoiceError, mergeTrees, resolveTree } = await import("../sandbox/index.js");
    const odd = oddIn(choices);
    if (odd.length > 0)
      throw new ConflictChoiceError(
        odd,
        "nobody knows this choice",
        'choose "ours", "theirs", "base", "delete" or { "text": "…" }',
      );
    const trees = await attempt.trees();
    const merged = await mergeTrees(trees, { base, ours, theirs });
    const { tree: after, paths, choices: resolved } = await resolveTree(trees, merged, choices as Choices);
    attempt.record({ type: "workspace-resolve", merge: id, by, after, paths, choices, resolved });
    return null;
  });
}

/** Paths with a choice that is neither a word nor a text: what a person typed must not become an entry without its bytes. */
function oddIn(choices: Json): readonly string[] {
  if (typeof choices !== "object" || choices === null) return [];
  const isOdd = ([, choice]: [string, Json]): boolean => {
    if (typeof choice !== "object") return false;
    const { text, mode = 0, ...more } = Object(choice) as { readonly [field: string]: Json };
    const isMode = Number.isInteger(mode) && (mode as number) >= 0 && (mode as number) <= 0o7777;
    return typeof text !== "string" || !isMode || Object.keys(more).length > 0;
  };
  return Object.entries(choices)
    .filter(isOdd)
    .map(([path]) => path);
}

/** Records that a module decided the conflicts by working on the files; refused while marks of them are left. */
function resolvedBy(session: Session, { id, fact, conflicts }: FilesMerge, module: string): Promise<Session> {
  const { tree } = session.files;
  return filesStep(session, "resolve-files", { merge: id, by: module }, async (attempt) => {
    const trees = await attempt.trees();
    const { diffTrees, markedPaths } = await import("../sandbox/index.js");
    const marked = tree === null ? [] : await markedPaths(trees, tree, conflicts);
    if (marked.length > 0) throw new StillMarkedError(module, marked);
    const after = tree ?? fact.after;
    const paths = await diffTrees(trees, fact.after, after);
    const by = `agent:${module}` as const;
    attempt.record({ type: "workspace-resolve", merge: id, by, after, paths, choices: { module } });
    return null;
  });
}

class StillMarkedError extends RathError {
  constructor(module: string, paths: readonly string[]) {
    super("conflict-unresolved", `${module} left the marks of a conflict in ${paths.join(", ")}.`, {
      hint: "edit these files so that no line begins with <<<<<<< or >>>>>>>",
      data: { module, paths },
    });
  }
}

/** Something went wrong with the files of a session, which ends with the failure. */
class FilesError extends RathError {
  readonly session: Session;
  readonly failure: Failure;

  constructor(what: string, session: Session, failure: Failure) {
    const { message, hint } = splitFailure(failure);
    super("files-failed", `Cannot ${what.replace("-", " ")}: ${message.split("\n")[0]}`, {
      hint:
        hint === undefined
          ? "look at error.data, or go on from error.session"
          : `${hint}; error.session ends with the failure`,
      data: { failure },
    });
    this.session = session;
    this.failure = failure;
  }
}

/** A step of the runtime that works on the files of a session. Throws a `FilesError` when it fails. */
async function filesStep(
  session: Session,
  name: string,
  input: Json | undefined,
  value: (attempt: Attempt) => Promise<Json>,
): Promise<Session> {
  const fact = { name, ...defined({ input }), effect: "idempotent", by: "runtime" } as const;
  const done = await perform(session, runtimeStep(fact, "input", value));
  if (done.fact.type === "step-failure") throw new FilesError(name, done, done.fact.error);
  return done;
}

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
