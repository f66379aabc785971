import { mkdir, readdir } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { type Digest, EMPTY_TREE, type TreeEntry } from "../../session/index.js";
import { defined } from "../../util/index.js";
import type { ByteReader } from "../byte-reader.js";
import { ConflictedExportError, GitError } from "../error.js";
import { bytesOfName } from "../path.js";
import type { Trees } from "../trees.js";
import { diffTrees } from "./entries.js";
import type { Repository, RunningGit } from "./git.js";
import { commitOf, isRefusedByGit, readerOf, repositoryAt, runGit, startGit } from "./git.js";
import { quoted } from "./patch.js";
import type { Leaf } from "./stat-cache.js";
import type { Step } from "./step.js";

export type ExportOptions = {
  /** The branch that gets the commits; made if it is not there. It must not be checked out anywhere. */
  readonly branch: string;
  /** The author of the commits; default: that of each step. */
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
  /** Paths that git cannot hold exactly, and how they were changed. */
  readonly lost: readonly { readonly path: string; readonly why: string }[];
};

/**
 * Writes steps of a session as commits on a branch of its own, in a bare repository if none is there. Nothing else of
 * the repository changes, and the same steps give the same commits. Unresolved conflicts are a `ConflictedExportError`.
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
  const writer = new FastImport(trees, { repository: found, ref, attempt, force, signal });
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

export type GitAuthor = { readonly name: string; readonly email: string };

const BUFFER_BYTES = 64 * 1024;

/** Where commits go, and what is attempted with them. */
type ImportTarget = {
  readonly repository: Repository;
  readonly ref: string;
  readonly attempt: string;
  readonly force: boolean;
  readonly signal: AbortSignal | undefined;
};

/** Writes commits into a repository through one `git fast-import`: only what changed from step to step goes through it. */
export class FastImport {
  readonly #trees: Trees;
  readonly #target: ImportTarget;
  readonly #git: RunningGit;
  readonly #answers: ByteReader;
  /** The marks of what was written, by digest, or by target for links. */
  readonly #marks = new Map<string, number>();
  readonly #lost = new Map<string, string>();
  #mark = 0;
  #waiting: Uint8Array[] = [];
  #bytes = 0;

  constructor(trees: Trees, target: ImportTarget) {
    const { repository, force, signal } = target;
    this.#trees = trees;
    this.#target = target;
    const args = ["fast-import", "--quiet", "--done", "--date-format=raw", ...(force ? ["--force"] : [])];
    this.#git = startGit([`--git-dir=${repository.directory}`, ...args], defined({ signal }));
    this.#answers = readerOf(this.#git);
  }

  /** Paths that git cannot hold exactly, and how they were changed. */
  get lost(): readonly { readonly path: string; readonly why: string }[] {
    const lost = [...this.#lost].map(([path, why]) => ({ path, why }));
    return lost.sort((one, other) => (one.path < other.path ? -1 : 1));
  }

  /** Writes a step as a commit after the last one; a first step may follow a commit of others (`onto`). */
  async commit(
    step: Step,
    after: { before: Digest | undefined; onto: string | undefined; author: GitAuthor | undefined },
  ): Promise<string> {
    const { before, onto, author } = after;
    const isFirst = before === undefined;
    const changes = await this.#changes(before ?? null, step.tree);
    this.#mark += 1;
    const mark = this.#mark;
    const who = identOf(author, step);
    const message = Buffer.from(`${clean(step.message)}\n\nRath-Session: ${step.session}\n`, "utf8");
    await this.#say(
      `commit ${this.#target.ref}\nmark :${mark}\nauthor ${who}\ncommitter ${who}\ndata ${message.length}\n`,
    );
    await this.#say(message);
    if (isFirst && onto !== undefined) await this.#say(`from ${onto}\n`);
    // The content of a commit of others is unknown here: the first step says all of it.
    if (isFirst) await this.#say("deleteall\n");
    await this.#say(`${changes.join("")}\n`);
    if (isFirst && onto !== undefined && (await this.#isSame(mark, onto))) {
      await this.#say(`reset ${this.#target.ref}\nfrom ${onto}\n\n`);
      return onto;
    }
    return this.#ask(`get-mark :${mark}\n`);
  }

  /** Ends the import: now the branch moves. */
  async finish(): Promise<void> {
    await this.#say("done\n");
    await this.#flush();
    this.#git.child.stdin.end();
    const { code, complaint } = await this.#git.ended;
    if (code !== 0) throw this.#refused(complaint || `git ended with ${code}`);
  }

  /** The error to throw: the reason why git stopped, if it did. Nothing of the import is left to go on. */
  async failed(error: unknown): Promise<unknown> {
    const hasStopped = error instanceof GitStopped;
    if (!hasStopped) this.#git.child.kill("SIGKILL");
    try {
      const { complaint } = await this.#git.ended;
      return hasStopped ? this.#refused(complaint || "git stopped in the middle") : error;
    } catch (why) {
      return hasStopped ? why : error;
    }
  }

  #refused(complaint: string): GitError {
    if (!/not updating/i.test(complaint)) return new GitError(this.#target.attempt, complaint);
    return new GitError(
      this.#target.attempt,
      "the branch has commits that these do not come after",
      "choose another branch, or move this one all the same: { force: true }",
    );
  }

  /** The commands that make one tree into another: removals first. The bytes of files are written at once. */
  async #changes(before: Digest | null, after: Digest): Promise<readonly string[]> {
    const gone: string[] = [];
    const come: string[] = [];
    for (const { path } of await diffTrees(this.#trees, before, after)) {
      const refused = refusedIn(path);
      if (refused !== undefined) {
        this.#lost.set(refused, "git refuses this name: it is left out");
        continue;
      }
      const name = quoted(bytesOfName(path), { always: true });
      const way = await this.#way(after, path);
      const old = (await this.#way(before, path)).get(path);
      const now = way.get(path);
      for (const [above, entry] of way) this.#checkDirectory(above, entry);
      if (now !== undefined && now.kind !== "tree")
        come.push(`M ${this.#mode(path, now)} :${await this.#blob(now)} ${name}\n`);
      else if (old !== undefined && old.kind !== "tree") gone.push(`D ${name}\n`);
    }
    return [...gone, ...come];
  }

  /** The entries on the way to a path, as far as there are any. */
  async #way(tree: Digest | null, path: string): Promise<ReadonlyMap<string, TreeEntry>> {
    const way = new Map<string, TreeEntry>();
    let digest = tree ?? EMPTY_TREE;
    const names = path.split("/");
    for (const [place, name] of names.entries()) {
      const entry = (await this.#trees.tree(digest)).entries.find((one) => one.name === name);
      if (entry !== undefined) way.set(names.slice(0, place + 1).join("/"), entry);
      if (entry?.kind !== "tree") break;
      digest = entry.digest;
    }
    return way;
  }

  #checkDirectory(path: string, entry: TreeEntry): void {
    if (entry.kind !== "tree") return;
    if (entry.digest === EMPTY_TREE) this.#lost.set(path, "git holds no empty directories: it is left out");
    else if (entry.mode !== 0o755)
      this.#lost.set(path, `git holds no modes of directories: ${entry.mode.toString(8)} is not kept`);
  }

  #mode(path: string, entry: Leaf): string {
    if (entry.kind === "link") return "120000";
    const mode = (entry.mode & 0o100) === 0 ? 0o644 : 0o755;
    if (entry.mode !== mode)
      this.#lost.set(
        path,
        `git holds two modes of files: ${entry.mode.toString(8)} became ${mode.toString(8)}`,
      );
    return `100${mode.toString(8)}`;
  }

  /** The mark of some bytes, written when they are new. */
  async #blob(entry: Leaf): Promise<number> {
    const key = entry.kind === "link" ? `link ${entry.target}` : entry.digest;
    const known = this.#marks.get(key);
    if (known !== undefined) return known;
    this.#mark += 1;
    const mark = this.#mark;
    this.#marks.set(key, mark);
    if (entry.kind === "link") {
      const target = bytesOfName(entry.target);
      await this.#say(`blob\nmark :${mark}\ndata ${target.length}\n`);
      await this.#say(target);
    } else {
      await this.#say(`blob\nmark :${mark}\ndata ${entry.size}\n`);
      for await (const piece of this.#trees.pieces(entry)) await this.#say(piece);
    }
    await this.#say("\n");
    return mark;
  }

  async #isSame(mark: number, onto: string): Promise<boolean> {
    const [, , tree] = (await this.#ask(`ls :${mark} ""\n`)).split(/[ \t]/);
    const args = [`--git-dir=${this.#target.repository.directory}`, "rev-parse", `${onto}^{tree}`];
    return tree === (await runGit(args)).output.toString("utf8").trim();
  }

  async #ask(question: string): Promise<string> {
    await this.#say(question);
    await this.#flush();
    const answer = await this.#answers.line();
    if (answer === undefined) throw new GitStopped();
    return answer;
  }

  async #say(what: string | Uint8Array): Promise<void> {
    const bytes = typeof what === "string" ? Buffer.from(what, "utf8") : what;
    this.#waiting.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes >= BUFFER_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#bytes = 0;
    await new Promise<void>((resolved, rejected) => {
      this.#git.child.stdin.write(bytes, (error) => (error ? rejected(new GitStopped()) : resolved()));
    });
  }
}

/** Git does not listen: how it ended says why. */
class GitStopped extends Error {}

/** The path up to a name that git refuses. */
function refusedIn(path: string): string | undefined {
  const names = path.split("/");
  const place = names.findIndex(isRefusedByGit);
  return place < 0 ? undefined : names.slice(0, place + 1).join("/");
}

function identOf(author: GitAuthor | undefined, { by, at }: Step): string {
  const plain = (text: string): string =>
    text
      .replace(/[<>\n\r\0]/g, " ")
      .trim()
      .toWellFormed();
  const name = plain(author?.name ?? by) || "rath";
  const email = plain(author?.email ?? `${by.replace(/[^\w.-]+/g, ".")}@rath.invalid`);
  const seconds = Math.max(0, Math.floor(Date.parse(at) / 1000) || 0);
  return `${name} <${email}> ${seconds} +0000`;
}

function clean(message: string): string {
  return message.replaceAll("\0", "").toWellFormed().trim() || "A step";
}
