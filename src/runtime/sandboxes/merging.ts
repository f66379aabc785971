import type { Choices, Conflict } from "../../sandbox/index.js";
import { joinFiles } from "../../sandbox/pool/index.js";
import {
  type FactId,
  type FactOf,
  type Failure,
  type Json,
  type Principal,
  RathError,
  type Session,
} from "../../session/index.js";
import { toldIn } from "../error.js";
import { perform } from "../module-api.js";
import type { Attempt } from "../request/request.js";

/** The result of a merge of files. */
export type MergedSide = {
  readonly session: Session;
  /** The fact of the merge. */
  readonly merge: FactId;
  readonly conflicts: readonly Conflict[];
};

/**
 * Brings the files of the next side that is not merged yet into the session's; undefined when there is none. The session
 * may have no files itself: it adopted a side without any, and that counts as deleting what the other one changed.
 */
export async function mergeNext(session: Session): Promise<MergedSide | undefined> {
  const { tree, unmerged: [next] = [] } = session.files;
  if (next === undefined) return undefined;
  const { base, theirs } = next;
  const input = { base, ours: tree, theirs };
  const done = await filesStep(session, "merge-files", input, async (attempt) => {
    const { fact, merged } = await joinFiles(await attempt.trees(), input);
    attempt.record(fact);
    return { conflicts: merged.conflicts.map(({ path }) => path) };
  });
  const merge = mergeIn(done);
  return { session: done, merge: merge.id, conflicts: merge.fact.conflicts as readonly Conflict[] };
}

/** Decides the conflicts of the last merge, and says who did, and what each path came to. */
export async function resolveMerge(
  session: Session,
  side: MergedSide,
  decision: { readonly choices: Json; readonly by: Principal; readonly why?: string },
): Promise<Session> {
  const { base, ours, theirs } = mergeIn(side.session).fact;
  const { choices, by, why } = decision;
  return filesStep(session, "resolve-files", { merge: side.merge, choices }, async (attempt) => {
    const { ConflictChoiceError, mergeTrees, resolveTree } = await import("../../sandbox/index.js");
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
    attempt.record({
      type: "workspace-resolve",
      merge: side.merge,
      by,
      after,
      paths,
      choices,
      resolved,
      ...(why !== undefined && { why }),
    });
    return null;
  });
}

/** Paths with a choice that is neither a word nor a text: what a person typed must not become an entry without its bytes. */
function oddIn(choices: Json): readonly string[] {
  if (typeof choices !== "object" || choices === null) return [];
  return Object.entries(choices).flatMap(([path, choice]: [string, Json]) => {
    if (typeof choice !== "object") return [];
    const { text, mode = 0, ...more } = Object(choice) as { readonly [field: string]: Json };
    const fits =
      typeof text === "string" &&
      Number.isInteger(mode) &&
      (mode as number) >= 0 &&
      (mode as number) <= 0o7777;
    return fits && Object.keys(more).length === 0 ? [] : [path];
  });
}

/** Notes that a module decided the conflicts by working on the files; refused while marks of them are left. */
export async function resolvedBy(session: Session, side: MergedSide, module: string): Promise<Session> {
  const after = session.files.tree;
  const before = mergeIn(side.session).fact.after;
  return filesStep(session, "resolve-files", { merge: side.merge, by: module }, async (attempt) => {
    const trees = await attempt.trees();
    const { diffTrees, markedPaths } = await import("../../sandbox/index.js");
    const marked = after === null ? [] : await markedPaths(trees, after, side.conflicts);
    if (marked.length > 0) throw new StillMarkedError(module, marked);
    attempt.record({
      type: "workspace-resolve",
      merge: side.merge,
      by: `agent:${module}`,
      after: after ?? before,
      paths: await diffTrees(trees, before, after ?? before),
      choices: { module },
    });
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

/** Something went wrong with the files of a session. */
export class FilesError extends RathError {
  readonly session: Session;
  readonly failure: Failure;

  constructor(what: string, session: Session, failure: Failure) {
    const { message, hint } = toldIn(failure);
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
  act: (attempt: Attempt) => Promise<Json>,
): Promise<Session> {
  const done = await perform(session, {
    fact: {
      type: "step-call",
      name,
      ...(input !== undefined && { input }),
      effect: "idempotent",
      by: "runtime",
    },
    effect: "idempotent",
    act: async (attempt) => ({
      type: "step-result",
      value: await act(attempt),
      origin: "input",
      by: "runtime",
    }),
    failed: (error) => ({ type: "step-failure", error, by: "runtime" }),
  });
  if (done.fact.type === "step-failure") throw new FilesError(name, done, done.fact.error);
  return done;
}

/** The newest merge of files on a chain. */
function mergeIn(session: Session): { readonly id: FactId; readonly fact: FactOf<"workspace-merge"> } {
  let node: Session | undefined = session;
  while (node !== undefined) {
    if (node.fact.type === "workspace-merge") return { id: node.id, fact: node.fact };
    node = node.parents[0];
  }
  throw new RathError("files-unmerged", "There is no merge of files on this session.", {
    hint: "merge two branches first: session = ours.merge(theirs)",
  });
}
