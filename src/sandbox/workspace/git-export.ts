import { mkdir, readdir } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { Digest } from "../../session/index.js";
import { ConflictedExportError, GitError } from "../error.js";
import type { Trees } from "../trees.js";
import { FastImport, type GitAuthor } from "./fast-import.js";
import { commitOf, type Repository, repositoryAt, runGit } from "./git.js";
import type { Step } from "./step.js";

export type ExportOptions = {
  /** The branch that gets the commits; made if it is not there. It must not be checked out anywhere. */
  readonly branch: string;
  /** Whom the commits are by; else the one that each step is by. */
  readonly author?: GitAuthor;
  /** The commit that the first one comes after. */
  readonly onto?: string;
  /** Moves the branch also where that leaves commits behind. */
  readonly force?: boolean;
  /** Exports also steps whose files have the marks of conflicts in them. Else the step that decides them is the commit. */
  readonly conflicts?: "keep";
  readonly signal?: AbortSignal;
};

export type ExportedGit = {
  readonly branch: string;
  /** The commit that the branch stands at now. */
  readonly head: string;
  readonly commits: readonly { readonly session: string; readonly commit: string }[];
  /** What git cannot hold, and what became of it. */
  readonly lost: readonly { readonly path: string; readonly why: string }[];
};

/**
 * Writes steps of a session into a repository, a commit for each, on a branch of its own; the repository is made (without
 * a work tree) where there is none. The work tree, the index and all other branches stay as they are. The same steps
 * give the same commits, so doing it again changes nothing. What is in conflict is not exported: a merge that was decided
 * is one commit, and one that was not is a `ConflictedExportError`.
 */
export async function exportGit(
  trees: Trees,
  repository: string,
  steps: readonly Step[],
  options: ExportOptions,
): Promise<ExportedGit> {
  const { branch, force = false } = options;
  const attempt = `export to the branch ${JSON.stringify(branch)} of ${basename(resolve(repository))}`;
  if (steps.length === 0)
    throw new GitError(
      attempt,
      "there is no step",
      "give the steps of a session that has files: stepsOf(session)",
    );
  const { conflicts = [], session = "" } = steps.at(-1) ?? {};
  const marked = options.conflicts === "keep";
  if (conflicts.length > 0 && !marked) throw new ConflictedExportError(attempt, session, conflicts);
  const ref = `refs/heads/${branch}`;
  if (branch.startsWith("-") || (await runGit(["check-ref-format", ref])).code !== 0)
    throw new GitError(attempt, "a branch cannot be called that", 'give a name such as "rath/fix"');
  const found = await madeRepository(repository, branch, attempt);
  await requireFree(found, ref, attempt);
  const onto = options.onto === undefined ? undefined : await commitOf(found, options.onto);
  if (options.onto !== undefined && onto === undefined)
    throw new GitError(attempt, `there is no commit ${JSON.stringify(options.onto)} in it`);
  const { author, signal } = options;
  const writer = new FastImport(trees, found, attempt, { ref, force, signal });
  const commits: { session: string; commit: string }[] = [];
  let [before, head]: [Digest | undefined, string] = [undefined, ""];
  try {
    for (const step of steps) {
      if (step.conflicts !== undefined && !marked) continue;
      head = await writer.commit(step, { before, onto, author });
      before = step.tree;
      commits.push({ session: step.session, commit: head });
    }
    await writer.finish();
  } catch (error) {
    throw await writer.failed(error);
  }
  return { branch, head, commits, lost: writer.lost };
}

/** The repository at a path, made there if there is nothing yet. */
async function madeRepository(path: string, branch: string, attempt: string): Promise<Repository> {
  await mkdir(path, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    throw new GitError(attempt, `no directory can be made there (${error.code})`, "give another path");
  });
  const found = await repositoryAt(path);
  if (found !== undefined) return found;
  if ((await readdir(path)).length > 0)
    throw new GitError(
      attempt,
      "the directory is not a git repository and not empty",
      "give a repository, or a path where there is nothing",
    );
  const { code, complaint } = await runGit([
    "init",
    "--quiet",
    "--bare",
    "--template=",
    `--initial-branch=${branch}`,
    resolve(path),
  ]);
  const made = code === 0 ? await repositoryAt(path) : undefined;
  if (made === undefined) throw new GitError(attempt, complaint || "git could not make the repository");
  return made;
}

/** A branch that is checked out has files that would not follow. */
async function requireFree({ directory }: Repository, ref: string, attempt: string): Promise<void> {
  const { output } = await runGit([`--git-dir=${directory}`, "worktree", "list", "--porcelain"]);
  if (output.toString("utf8").split("\n").includes(`branch ${ref}`))
    throw new GitError(
      attempt,
      "it is checked out, and its files would not follow",
      'choose a branch that is not: { branch: "rath/fix" }',
    );
}
