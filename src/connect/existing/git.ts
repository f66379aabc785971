import { createHash } from "node:crypto";
import { basename, resolve } from "node:path";
import { repositoryAt, runGit } from "../../sandbox/index.js";
import { digestOf, isPrincipal, type Principal } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { type ExistingEntry, ExistingError, type ExistingSource, reasonOf } from "./source.js";

/** Paths that a commit is linked with. */
const PATHS = 1_000;

/**
 * The commits of all branches of a repository, after their parents. A line `Session: NAME` or the branch
 * names the session.
 *
 * ```ts
 * gitCommits("./repository");
 * ```
 */
export function gitCommits(path: string): ExistingSource {
  const use = `link the commits of ${JSON.stringify(String(path).slice(0, 200))}`;
  if (typeof path !== "string" || path === "")
    throw new ExistingError("option", use, "the path must be a text", 'gitCommits("./repository")');
  return Object.freeze<ExistingSource>({
    format: "git",
    source: path,
    isTrace: true,
    async *entries(): AsyncGenerator<ExistingEntry> {
      const repository = await repositoryAt(path).catch((error: unknown) => {
        throw new ExistingError("missing", use, reasonOf(error), "install git, and look at the path", {
          cause: error,
        });
      });
      if (repository === undefined)
        throw new ExistingError("missing", use, "it is not a repository", "give the folder that holds .git");
      const git = async (...args: string[]): Promise<string> => {
        const { code, output, complaint } = await runGit([`--git-dir=${repository.directory}`, ...args]);
        if (code === 0) return output.toString("utf8");
        throw new ExistingError(
          "broken",
          use,
          complaint || `git ended with ${code}`,
          "look at the repository",
        );
      };
      const branches = await branchesIn(git);
      const changed = await pathsIn(git);
      const all = createHash("sha256");
      for (const commit of commitsIn(await git("log", "--all", "--topo-order", "--reverse", FORMAT))) {
        const { id, parents, tree, author, mail, at, message } = commit;
        // A commit is named by what is in it, so these say all of it that is linked.
        const digest = digestOf(`${id}\n${tree}\n${message}`);
        all.update(digest);
        const trailer = /^Session: *(\S.{0,200})$/m.exec(message)?.[1]?.trim();
        const who = author
          .trim()
          .toLowerCase()
          .replaceAll(/[^\w.-]+/g, "-");
        const by = `user:${mail === "" ? who : mail}` as Principal;
        yield {
          record: {
            key: id,
            digest,
            session: trailer ?? branches.get(id) ?? basename(resolve(path)),
            at: new Date(at).toISOString(),
            text: message,
            parents,
            does: {
              kind: "step",
              name: "git commit",
              about: { tree, paths: (changed.get(id) ?? []).slice(0, PATHS) },
              ...defined({ by: isPrincipal(by) ? by : undefined }),
            },
          },
        };
      }
      yield { digest: all.digest("hex") };
    },
  });
}

type Git = (...args: string[]) => Promise<string>;

const FORMAT = "--format=%H%x00%P%x00%T%x00%aI%x00%an%x00%ae%x00%B%x00%x00";

function* commitsIn(log: string) {
  for (const part of log.split("\0\0\n")) {
    const [id = "", parents = "", tree = "", at = "", author = "", mail = "", message = ""] =
      part.split("\0");
    if (id.trim() === "") continue;
    const from = parents.split(" ").filter(Boolean);
    yield { id: id.trim(), parents: from, tree, at, author, mail, message: message.trim() };
  }
}

/** The branch of each commit: the first whose line it stands on, beginning with the one that is checked out. */
async function branchesIn(git: Git): Promise<ReadonlyMap<string, string>> {
  const format = "--format=%(HEAD)%(objectname) %(refname:short)";
  const heads = await git("for-each-ref", format, "refs/heads", "refs/remotes");
  const branches = new Map<string, string>();
  // The one that is checked out has a star, which is sorted after a space.
  for (const head of heads.split("\n").filter(Boolean).sort().reverse()) {
    const [id = "", ...name] = head.slice(1).split(" ");
    for (const commit of (await git("rev-list", "--first-parent", id)).split("\n"))
      if (commit !== "" && !branches.has(commit)) branches.set(commit, name.join(" "));
  }
  return branches;
}

/** The paths that each commit changed. Those of a merge came with its parents. */
async function pathsIn(git: Git): Promise<ReadonlyMap<string, readonly string[]>> {
  const log = await git("log", "--all", "--no-renames", "--name-only", "-z", "--format=%x01%H%x01");
  const paths = new Map<string, readonly string[]>();
  const [, ...parts] = log.split("\u0001");
  for (let place = 0; place < parts.length; place += 2) {
    const names = (parts[place + 1] ?? "").split("\0").map((name) => name.replace(/^\n/, ""));
    paths.set(parts[place] ?? "", names.filter(Boolean));
  }
  return paths;
}
