// @ts-check
// What a command costs: in a sandbox that is made for it, in one that is there, and without any.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { localSandbox } from "openrath/sandbox";
import { median, timeAsync } from "../measure.mjs";
import { freshTrees, scratch } from "./scratch.mjs";

const ROUNDS = 60;

/** @param {(text: string) => void} progress */
export async function measureCommands(progress) {
  progress("commands");
  const { store, trees } = await freshTrees();
  const provider = localSandbox({ directory: join(scratch, "state") });
  const missing = await provider.capabilities().then(
    () => undefined,
    (/** @type {Error} */ error) => error.message,
  );
  if (missing !== undefined) {
    process.stderr.write(`${missing}\n`);
    await store.close();
    return {};
  }
  let count = 0;
  const open = () => provider.create({}, { id: `bench-${++count}`, incarnation: 1, tree: null, trees });
  const live = await open();
  /** @type {{ plain: number[], fresh: number[], live: number[] }} */
  const times = { plain: [], fresh: [], live: [] };
  // Turn by turn, so that a busy machine is busy for everybody.
  for (let round = 0; round < ROUNDS; round++) {
    times.plain.push(await timeAsync(plain));
    times.live.push(
      await timeAsync(async () => {
        const { code } = await live.exec(["/bin/true"]).result;
        if (code !== 0) throw new Error("the command failed");
      }),
    );
    if (round % 3 !== 0) continue;
    /** @type {import("openrath/sandbox").Sandbox | undefined} */
    let fresh;
    times.fresh.push(
      await timeAsync(async () => {
        fresh = await open();
        await fresh.exec(["/bin/true"]).result;
      }),
    );
    await fresh?.destroy();
  }
  await provider.close();
  await store.close();
  return {
    spawn_ms: median(times.plain),
    live_ms: median(times.live),
    fresh_ms: median(times.fresh),
  };
}

/** @param {{ [figure: string]: number | string }} figures @returns {string[][]} */
export function commandRows({ spawn_ms: plain, live_ms: live, fresh_ms: fresh }) {
  if (plain === undefined) return [];
  const row = (/** @type {string} */ name, /** @type {unknown} */ ms, /** @type {string} */ goal) => [
    name,
    `${Number(ms).toFixed(2)} ms`,
    `${Number(plain).toFixed(2)} ms (spawn)`,
    `${(Number(ms) / Number(plain)).toFixed(2)}x`,
    "",
    goal,
  ];
  return [
    row("/bin/true in a live sandbox", live, "at most 1x"),
    row("/bin/true in a fresh sandbox", fresh, "at most 4x"),
  ];
}

async function plain() {
  const child = spawn("/bin/true", { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.resume();
  child.stderr.resume();
  await once(child, "close");
}
