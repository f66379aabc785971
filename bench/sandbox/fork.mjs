// @ts-check
// A hundred forks of a workspace of 5,000 files: what a fork of the session costs, what its sandbox costs when it is first
// used, and what all of them take on the disk.
import { execFileSync } from "node:child_process";
import { mkdirSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Session } from "openrath";
import { CaptureCache, capture, localSandbox } from "openrath/sandbox";
import { median, time, timeAsync, words } from "../measure.mjs";
import { freshTrees, scratch } from "./scratch.mjs";

const FILES = 5_000;
const FORKS = 100;

/** @param {(text: string) => void} progress */
export async function measureForks(progress) {
  progress(`${FORKS} forks of ${FILES} files`);
  const place = join(scratch, "forked");
  for (let file = 0; file < FILES; file++) {
    const folder = join(place, `d${Math.floor(file / 50)}`);
    if (file % 50 === 0) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `f${file}.txt`), words(20_000, file));
  }
  const { store, trees } = await freshTrees();
  const { tree } = await capture(place, trees, { cache: new CaptureCache() });
  const trunk = Session.start("x")
    .to("local")
    .append({ type: "workspace-import", source: "bench", after: tree, files: FILES, bytes: 1 });
  const lazy = Array.from({ length: 1_000 }, (_, fork) => time(() => trunk.fork(`f${fork}`)));
  const provider = localSandbox({ directory: join(scratch, "state") });
  /** @type {{ [figure: string]: number | string }} */
  const figures = { lazy_fork_ms: median(lazy) };
  try {
    const { fork } = await provider.capabilities();
    const first = await provider.create({}, { id: "forks-0", incarnation: 1, tree, trees });
    await first.fork({ id: "forks-warm" }).then((box) => box.destroy());
    const before = used();
    /** @type {number[]} */
    const times = [];
    const boxes = [];
    for (let index = 1; index <= FORKS; index++)
      times.push(
        await timeAsync(async () => {
          const box = await first.fork({ id: `forks-${index}` });
          await box.exec("echo changed > d0/f0.txt").result;
          boxes.push(box);
        }),
      );
    figures.fork_kind = fork;
    figures.fork_used_ms = median(times);
    figures.forks_mib = (used() - before) / 1024 ** 2;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  } finally {
    await provider.close();
    await store.close();
  }
  return figures;
}

/** @param {{ [figure: string]: number | string }} figures @returns {string[][]} */
export function forkRows({ lazy_fork_ms: lazy, fork_kind: kind, fork_used_ms: opened, forks_mib: disk }) {
  const rows = [
    [`fork of a session with ${FILES} files`, `${Number(lazy).toFixed(4)} ms`, "", "", "", "under 1 ms"],
  ];
  if (opened !== undefined)
    rows.push(
      [`its sandbox, opened and written to (${kind})`, `${Number(opened).toFixed(1)} ms`, "", "", "", ""],
      [`${FORKS} of them on the disk`, `${Number(disk).toFixed(1)} MiB`, "", "", "", ""],
    );
  return rows;
}

/** Bytes in use where the sandboxes are. */
function used() {
  execFileSync("sync");
  const { blocks, bfree, bsize } = statfsSync(scratch);
  return (blocks - bfree) * bsize;
}
