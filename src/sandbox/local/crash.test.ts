import { chmodSync, chownSync, existsSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { campaign } from "../../session/testing/campaign.js";
import { readRegistry } from "./registry.js";
import { sweep } from "./sweep.js";
import { missing } from "./testing/bwrap.js";
import { Child } from "./testing/child.js";
import { folder } from "./testing/folder.js";
import { processesOf, traces, untilClean } from "./testing/traces.js";

const ROUNDS = Number(process.env.OPENRATH_CRASH_ROUNDS ?? campaign(20));
const NOBODY = 65_534;
const without = missing();

/** A runtime that opens, uses, forks and destroys sandboxes, some with processes that want to stay. */
const RUNTIME = `
import { createHash } from "node:crypto";
import { localSandbox } from "@/sandbox/local/provider.js";
import { Trees } from "@/sandbox/trees.js";
const kept = new Map();
const trees = new Trees({
  putBlobs: async (blobs) => blobs.map((bytes) => {
    const digest = createHash("sha256").update(bytes).digest("hex");
    kept.set(digest, bytes);
    return digest;
  }),
  blob: async (digest) => kept.get(digest),
});
const provider = localSandbox({ directory: process.argv[2], onSweep: () => {} });
let number = 0;
const open = () => provider.create({}, { id: "box/" + number++, incarnation: 1, tree: null, trees });
const use = async (sandbox) => {
  sandbox.exec("setsid sleep 1000 & nohup sleep 1000 & sleep 1000", { background: true });
  await sandbox.exec("mkdir -p deep/er; echo text > deep/er/file; chmod 000 deep; ln -s / root").result;
};
const first = await Promise.all([open(), open()]);
await Promise.all(first.map(use));
console.log("1");
for (;;) {
  const one = await open();
  await use(one);
  await (await one.fork({ id: "fork/" + number++ })).destroy();
  await one.destroy();
}
`;

/** The control groups of all sandboxes of a state directory. */
function groupsOf(state: string): readonly string[] {
  return readRegistry(state).flatMap(({ registration }) => registration?.cgroups ?? []);
}

describe.skipIf(without !== undefined)(
  `a runtime that is killed with sandboxes open${without === undefined ? "" : ` (skipped: ${without})`}`,
  () => {
    it(
      `[J1] ${ROUNDS} times at any moment, as root and as somebody: nothing is left`,
      async () => {
        const waits = fc.sample(fc.integer({ min: 0, max: 500 }), ROUNDS);
        const isRoot = process.getuid?.() === 0;
        for (const [round, wait] of waits.entries()) {
          const state = folder();
          const user = isRoot && round % 2 === 1 ? NOBODY : undefined;
          if (user !== undefined) chownSync(state, user, user);
          chmodSync(state, 0o700);
          const child = new Child(RUNTIME, [state], { ...(user !== undefined && { user }) });
          // Some are killed while the first sandboxes are being made.
          if (round % 4 === 0) await sleep(150 + 2 * wait);
          else {
            await child.next();
            await sleep(wait);
          }
          const groups = groupsOf(state);
          await child.crash();
          expect([round, await untilClean(state)]).toEqual([round, []]);
          expect(groups.filter((path) => existsSync(path))).toEqual([]);
          rmSync(state, { recursive: true, force: true });
        }
      },
      60_000 + 20_000 * ROUNDS,
    );

    it("[J12] killed together with its janitor, it is cleaned up after at the next start", async () => {
      const state = folder();
      const child = new Child(RUNTIME, [state]);
      await child.next();
      const janitors = processesOf(state).filter(({ command }) => command.includes("openrath-janitor"));
      expect(janitors.length).toBe(1);
      for (const { pid } of janitors) process.kill(pid, "SIGKILL");
      await child.crash();
      const report = await sweep(state, { onSweep: () => {} });
      expect(report.removed.length).toBeGreaterThanOrEqual(2);
      expect(report.left).toEqual([]);
      expect(traces(state).filter((trace) => !trace.startsWith("file alive/"))).toEqual([]);
    });
  },
);
