import { type Attempt, perform, splitFailure } from "../runtime/index.js";
import type { Choices, Conflict } from "../sandbox/index.js";
import { joinFiles } from "../sandbox/pool/index.js";
import {
  type FactId,
  type FactOf,
  type Failure,
  type Json,
  type Principal,
  RathError,
  type Session,
} from "../session/index.js";
import { defined } from "../util/index.js";
import { runtimeStep } from "./runtime-step.js";

/** A merge of the files of one branch into those of the session. */
export type FilesMerge = {
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
export async function mergeNext(session: Session): Promise<FilesMerge | undefined> {
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
export function resolveMerge(
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
export function resolvedBy(
  session: Session,
  { id, fact, conflicts }: FilesMerge,
  module: string,
): Promise<Session> {
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
export class FilesError extends RathError {
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
export async function filesStep(
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
