// @ts-check
// Snapshots of a workspace beside git, with an index of its own so that it need not read what has not changed, and cp -a.
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { capture, checkout, diffTrees, StatCache } from "openrath/sandbox";
import { median, timeAsync, words } from "../measure.mjs";
import { freshTrees, scratch } from "./scratch.mjs";

/** How many bytes a workspace has, whatever its number of files: but for the smallest. */
const BYTES = 100 * 1024 ** 2;

/** @param {number} files @param {(text: string) => void} progress */
export async function measureWorkspaces(files, progress) {
  const rounds = files > 10_000 ? 2 : 3;
  const place = join(scratch, `workspace-${files}`);
  progress(`${files} files: making them`);
  const size = files <= 100 ? 10_240 : Math.floor(BYTES / files);
  for (let file = 0; file < files; file++) {
    const folder = join(place, `d${Math.floor(file / 1000)}`, `e${Math.floor(file / 50) % 20}`);
    if (file % 50 === 0) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `f${file}.txt`), words(size, file));
  }
  /** @type {{ [what: string]: { ours: number[], git: number[], cp: number[] } }} */
  const times = {};
  const note = (
    /** @type {string} */ what,
    /** @type {"ours" | "git" | "cp"} */ who,
    /** @type {number} */ value,
  ) => {
    times[what] ??= { ours: [], git: [], cp: [] };
    times[what][who].push(value);
  };
  for (let round = 0; round < rounds; round++) {
    progress(`${files} files: round ${round + 1} of ${rounds}`);
    const { store, trees } = await freshTrees();
    const cache = new StatCache();
    const git = gitAt(place, join(scratch, `git-${files}-${round}`));
    const first = join(place, "d0", "e0", "f0.txt");
    let tree = "";
    let old = "";
    note("cold snapshot", "git", await timeAsync(async () => (old = git.snapshot())));
    note(
      "cold snapshot",
      "ours",
      await timeAsync(async () => ({ tree } = await capture(place, trees, { cache }))),
    );
    note("cold snapshot", "cp", await timeAsync(async () => copy(place, join(scratch, "copy"))));
    rmSync(join(scratch, "copy"), { recursive: true });
    // What was just written is looked at again next time, here and in git: let the clock go on.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await capture(place, trees, { cache });
    git.snapshot();
    for (let turn = 0; turn < 3; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      writeFileSync(first, `changed ${round} ${turn}`);
      let changed = "";
      let newer = "";
      note("one file changed", "git", await timeAsync(async () => (newer = git.snapshot())));
      note(
        "one file changed",
        "ours",
        await timeAsync(async () => ({ tree: changed } = await capture(place, trees, { cache }))),
      );
      note(
        "difference",
        "git",
        await timeAsync(async () => git.run("diff-tree", "-r", "--name-status", old, newer)),
      );
      note("difference", "ours", await timeAsync(() => diffTrees(trees, tree, changed)));
      note("nothing changed", "git", await timeAsync(async () => git.snapshot()));
      note("nothing changed", "ours", await timeAsync(() => capture(place, trees, { cache })));
      note("roll back", "git", await timeAsync(async () => git.run("read-tree", "--reset", "-u", old)));
      writeFileSync(first, `changed ${round} ${turn}`);
      const { tree: dirty } = await capture(place, trees, { cache });
      note("roll back", "ours", await timeAsync(() => checkout(place, trees, tree, { cache, from: dirty })));
      git.snapshot();
    }
    const other = join(scratch, "fork");
    mkdirSync(other);
    note(
      "copy for a fork",
      "ours",
      await timeAsync(() =>
        checkout(other, trees, tree, { cache: new StatCache(), from: null, alone: true }),
      ),
    );
    rmSync(other, { recursive: true });
    mkdirSync(other);
    note("copy for a fork", "git", await timeAsync(async () => git.checkout(old, other)));
    rmSync(other, { recursive: true });
    note("copy for a fork", "cp", await timeAsync(async () => copy(place, other)));
    rmSync(other, { recursive: true });
    await store.close();
  }
  rmSync(place, { recursive: true });
  const goals = { "one file changed": "at most git's", "nothing changed": "at most git's" };
  return Object.entries(times).map(([what, { ours, git, cp }]) => ({
    name: `${files} files: ${what}`,
    ours: median(ours),
    theirs: { git: median(git), ...(cp.length > 0 && { "cp -a": median(cp) }) },
    goal: goals[/** @type {keyof typeof goals} */ (what)] ?? "ahead of git",
  }));
}

/** Git as an expert would set it up for this: its own index, no compression, no hooks. */
function gitAt(/** @type {string} */ place, /** @type {string} */ directory) {
  const env = {
    PATH: process.env.PATH ?? "",
    GIT_DIR: directory,
    GIT_WORK_TREE: place,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    HOME: scratch,
  };
  const run = (/** @type {string[]} */ ...args) =>
    execFileSync("git", args, {
      env,
      encoding: "utf8",
      maxBuffer: 1e9,
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  run("init", "--quiet");
  for (const [name, value] of [
    ["core.compression", "0"],
    ["core.looseCompression", "0"],
    ["core.fsync", "none"],
    ["core.preloadIndex", "true"],
    ["core.untrackedCache", "true"],
    ["feature.manyFiles", "true"],
    ["gc.auto", "0"],
  ])
    run("config", String(name), String(value));
  return {
    run,
    snapshot() {
      run("add", "-A", "-f", ".");
      return run("write-tree");
    },
    checkout(/** @type {string} */ tree, /** @type {string} */ to) {
      const other = { ...env, GIT_WORK_TREE: to, GIT_INDEX_FILE: join(directory, "fork-index") };
      execFileSync("git", ["read-tree", "--reset", "-u", tree], { env: other, cwd: to, stdio: "ignore" });
      rmSync(join(directory, "fork-index"));
    },
  };
}

function copy(/** @type {string} */ from, /** @type {string} */ to) {
  execFileSync("cp", ["-a", from, to]);
}
