// @ts-check
// Workspaces as trees in a SQLite store, beside git with a GIT_DIR and an index of its own (tuned) and `cp -a`: the same
// files on the same disk, turn by turn, so that a busy machine is busy for everybody.
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CaptureCache, capture, checkout, diffTrees, frozen, Trees } from "openrath/sandbox";
import { openStore } from "openrath/store";
import { median, time, timeAsync } from "../measure.mjs";

/** @typedef {{ name: string, files: number, bytes: number, large: number, small: number }} Size */
/** @type {readonly Size[]} how many files and bytes, and how often the large and the small things are measured */
const SIZES = [
  { name: "100", files: 100, bytes: 1e6, large: 9, small: 15 },
  { name: "5k", files: 5_000, bytes: 1e8, large: 5, small: 15 },
  { name: "50k", files: 50_000, bytes: 1e8, large: 3, small: 9 },
];
const FILES_PER_DIRECTORY = 20;
/** A file that changed less than a tick ago is read twice: what is measured is the usual case. */
const TICK_MS = 50;

/**
 * @param {{ progress: (text: string) => void, sizes?: readonly string[] }} options
 * @returns {Promise<{ [figure: string]: number | string }>} milliseconds, medians
 */
export async function measureSnapshots({ progress, sizes = SIZES.map(({ name }) => name) }) {
  const git = spawnSync("git", ["--version"], { encoding: "utf8" });
  /** @type {{ [figure: string]: number | string }} */
  const figures = { git_version: git.status === 0 ? git.stdout.trim() : "none" };
  for (const size of SIZES.filter(({ name }) => sizes.includes(name))) {
    const folder = mkdtempSync(join(tmpdir(), "openrath-bench-"));
    try {
      const all = await measureSize(folder, size, git.status === 0, (what) =>
        progress(`${what} of ${size.files.toLocaleString("en")} files`),
      );
      for (const [figure, times] of Object.entries(all)) figures[`${figure}_ms_${size.name}`] = median(times);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return figures;
}

/**
 * @param {string} folder @param {Size} size @param {boolean} hasGit @param {(what: string) => void} progress
 * @returns {Promise<{ [figure: string]: number[] }>}
 */
async function measureSize(folder, size, hasGit, progress) {
  /** @type {{ [figure: string]: number[] }} */
  const all = {};
  const add = (/** @type {string} */ figure, /** @type {number} */ ms) => {
    all[figure] = [...(all[figure] ?? []), ms];
  };
  const root = join(folder, "workspace");
  progress("making a workspace");
  fill(root, size);

  for (let round = 0; round < size.large; round++) {
    progress(`cold snapshot, round ${round + 1}`);
    const store = await openStore(`sqlite:${join(folder, `cold-${round}.db`)}`);
    add("cold", await timeAsync(() => capture(root, new Trees(store), { cache: new CaptureCache() })));
    await store.close();
    for (const end of ["", "-wal", "-shm"]) rmSync(join(folder, `cold-${round}.db${end}`), { force: true });
    if (hasGit) {
      const git = gitOf(join(folder, "cold.git"), root);
      add(
        "git_cold",
        time(() => {
          git("add", "-A");
          git("write-tree");
        }),
      );
      rmSync(join(folder, "cold.git"), { recursive: true });
    }
    add("cp_cold", copied(root, join(folder, "copy")));
  }

  const store = await openStore(`sqlite:${join(folder, "store.db")}`);
  try {
    const trees = new Trees(store);
    const cache = new CaptureCache();
    const git = hasGit ? gitOf(join(folder, "git"), root) : undefined;
    await capture(root, trees, { cache });
    git?.("add", "-A");
    await pause();
    let { tree } = await capture(root, trees, { cache });
    let gitTree = git?.("write-tree") ?? "";

    for (let round = 0; round < size.small; round++) {
      progress(`incremental snapshot, round ${round + 1}`);
      await pause();
      add("unchanged", await timeAsync(() => capture(root, trees, { cache })));
      if (git !== undefined)
        add(
          "git_unchanged",
          time(() => {
            git("add", "-A");
            git("write-tree");
          }),
        );
      appendFileSync(pathOf(root, (round * 7_919) % size.files), `${round}`);
      let after = tree;
      add(
        "changed",
        await timeAsync(async () => {
          after = (await capture(root, trees, { cache })).tree;
        }),
      );
      let gitAfter = "";
      if (git !== undefined)
        add(
          "git_changed",
          time(() => {
            git("add", "-A");
            gitAfter = git("write-tree");
          }),
        );
      /** @type {readonly { path: string }[]} */
      let changes = [];
      add(
        "diff",
        await timeAsync(async () => {
          changes = await diffTrees(trees, tree, after);
        }),
      );
      if (changes.length !== 1) throw new Error(`one file was changed, and ${changes.length} are different`);
      if (git !== undefined)
        add(
          "git_diff",
          time(() => git("diff", "--name-status", gitTree, gitAfter)),
        );

      add("rollback", await timeAsync(() => checkout(root, trees, tree, { cache, from: after })));
      const { tree: back } = await capture(root, trees, { cache });
      if (back !== tree) throw new Error("the rollback did not bring back the tree");
      if (git !== undefined) {
        // For git the file is made what it was before the rollback, which is what its index says.
        await checkout(root, trees, after, { cache, from: tree });
        git("add", "-A");
        add(
          "git_rollback",
          time(() => git("read-tree", "--reset", "-u", gitTree)),
        );
        await capture(root, trees, { cache });
      }
      ({ tree } = await capture(root, trees, { cache }));
      gitTree = git?.("write-tree") ?? "";
    }

    progress("shared checkout");
    const shared = join(folder, "shared");
    const first = await frozen(shared, trees, tree);
    // What a fork costs that shares a checkout which is there: an overlay over it takes some milliseconds more.
    for (let round = 0; round < size.small; round++)
      add("shared_fork", await timeAsync(async () => (await frozen(shared, trees, tree)).release()));
    for (let round = 0; round < size.large; round++) {
      progress(`fork, round ${round + 1}`);
      const to = join(folder, "fork");
      for (const like of [undefined, first.path]) {
        mkdirSync(to);
        const options = { cache: new CaptureCache(), alone: true, ...(like !== undefined && { like }) };
        const took = await timeAsync(() => checkout(to, trees, tree, options));
        add(like === undefined ? "store_fork" : "fork", took);
        rmSync(to, { recursive: true });
      }
      if (git !== undefined) {
        mkdirSync(to);
        const fork = gitOf(join(folder, "git"), to, join(folder, "fork-index"));
        add(
          "git_fork",
          time(() => {
            fork("read-tree", gitTree);
            fork("checkout-index", "--all", "--force", `--prefix=${to}/`);
          }),
        );
        rmSync(to, { recursive: true });
        rmSync(join(folder, "fork-index"), { force: true });
      }
      add("cp_fork", copied(root, to));
    }
    await first.release();
  } finally {
    await store.close();
  }
  return all;
}

/**
 * Rows for a table: what, here, git, ratio, cp, goal.
 *
 * @param {{ [figure: string]: number | string }} figures
 * @returns {string[][]}
 */
export function snapshotRows(figures) {
  /** @type {readonly (readonly [string, string, string])[]} */
  const kinds = [
    ["cold", "cold snapshot", "ahead of git"],
    ["changed", "snapshot, one file changed", "at most git's"],
    ["unchanged", "snapshot, nothing changed", "at most git's"],
    ["diff", "diff, names", "ahead of git"],
    ["rollback", "rollback of one file", "ahead of git"],
    ["fork", "fork, every file copied", "ahead of git"],
    ["store_fork", "fork, every file read from the store", ""],
    ["shared_fork", "fork, checkout shared", ""],
  ];
  const rows = [["", "here", "git", "ratio", "cp -a", "goal"]];
  for (const { name, files } of SIZES) {
    for (const [kind, what, goal] of kinds) {
      const [ours, git, cp] = [kind, `git_${kind}`, `cp_${kind}`].map((key) => figures[`${key}_ms_${name}`]);
      if (typeof ours !== "number") continue;
      rows.push([
        `${what}, ${files.toLocaleString("en")} files`,
        ms(ours),
        typeof git === "number" ? ms(git) : "",
        typeof git === "number" ? `${(ours / git).toFixed(2)}x` : "",
        typeof cp === "number" ? ms(cp) : "",
        goal,
      ]);
    }
  }
  return rows;
}

/** Git with a directory and an index of its own, told to be quick. @param {string} directory @param {string} root @param {string} [index] */
function gitOf(directory, root, index) {
  const env = {
    ...process.env,
    GIT_DIR: directory,
    GIT_WORK_TREE: root,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    ...(index !== undefined && { GIT_INDEX_FILE: index }),
  };
  /** @param {...string} args */
  const git = (...args) => {
    const { status, stdout, stderr } = spawnSync("git", args, {
      cwd: root,
      env,
      encoding: "utf8",
      maxBuffer: 1e9,
    });
    if (status !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`);
    return stdout.trim();
  };
  if (index !== undefined) return git;
  git("init", "--quiet");
  for (const [name, value] of [
    ["core.compression", "0"],
    ["core.looseCompression", "0"],
    ["core.preloadIndex", "true"],
    ["core.untrackedCache", "true"],
    ["feature.manyFiles", "true"],
    ["index.threads", "true"],
    ["gc.auto", "0"],
  ])
    git("config", /** @type {string} */ (name), /** @type {string} */ (value));
  return git;
}

/** Milliseconds that a copy takes, which is removed again. @param {string} from @param {string} to */
function copied(from, to) {
  const took = time(() => spawnSync("cp", ["-a", from, to]));
  rmSync(to, { recursive: true, force: true });
  return took;
}

/** @param {string} root @param {Size} size */
function fill(root, { files, bytes }) {
  const length = Math.floor(bytes / files);
  for (let index = 0; index < files; index++) {
    const path = pathOf(root, index);
    if (index % FILES_PER_DIRECTORY === 0) mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, randomBytes(length));
  }
}

/** @param {string} root @param {number} index */
function pathOf(root, index) {
  const directory = Math.floor(index / FILES_PER_DIRECTORY);
  const part = `part${Math.floor(directory / 100)}`;
  return join(
    root,
    `package${directory % 10}`,
    `module${Math.floor(directory / 10) % 10}`,
    part,
    `file${index}.txt`,
  );
}

/** @returns {Promise<void>} */
function pause() {
  return new Promise((resolve) => setTimeout(resolve, TICK_MS));
}

/** @param {number} value */
function ms(value) {
  return `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ms`;
}
