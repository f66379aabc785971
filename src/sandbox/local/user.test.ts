import { describe, expect, it } from "vitest";
import type { Capabilities } from "../spec.js";
import { asUser, obstacle, theirs } from "./testing/as-user.js";
import { missing } from "./testing/bwrap.js";
import { untilClean } from "./testing/traces.js";

const why = missing() ?? obstacle();

describe.skipIf(why !== undefined)(
  `a local sandbox of an ordinary user${why === undefined ? "" : ` (skipped: ${why})`}`,
  () => {
    // Every promise of a sandbox is held by the suite, which src/testkit runs as an ordinary user too.
    it("[L18] forks with layers, limits processes, and stands still, without being root", async () => {
      const directory = theirs();
      const told = await asUser<{ capabilities: Capabilities; [name: string]: unknown }>(
        `import { localSandbox } from "@/sandbox/local/provider.js";
      import { Trees } from "@/sandbox/trees.js";
      import { digestOf } from "@/session/index.js";
      const provider = localSandbox({ directory: process.argv[2] });
      const blobs = new Map();
      const trees = new Trees({
        putBlobs: async (all) => all.map((one) => (blobs.set(digestOf(one), one), digestOf(one))),
        blob: async (id) => blobs.get(id),
      });
      const out = async (box, command, options) => Buffer.from((await box.exec(command, options).result).stdout).toString();
      const box = await provider.create({ limits: { pids: 30 } }, { id: "a", incarnation: 1, tree: null, trees });
      await box.exec("for i in $(seq 300); do echo $i > f$i; done; mkdir -m 000 locked").result;
      const before = await box.snapshot();
      const fork = await box.fork({ id: "b" });
      const layers = await out(fork, "grep -c ' overlay ' /proc/self/mountinfo");
      const same = (await fork.snapshot()).tree === before.tree;
      await fork.exec("rm f1; echo x > f2; rmdir locked").result;
      const apart = (await box.snapshot()).tree === before.tree;
      await fork.restore(before.tree);
      const restored = (await fork.snapshot()).tree === before.tree;
      const processes = Number(await out(box, "(for i in $(seq 200); do sleep 3 & done) 2>/dev/null & sleep 1; set -- /proc/[0-9]*; echo $#"));
      const ticking = fork.exec("while :; do echo tick; sleep 0.05; done", { background: true });
      for await (const event of ticking) if (event.type === "output") break;
      await fork.suspend();
      await new Promise((resolve) => setTimeout(resolve, 200));
      let ticks = 0;
      void (async () => { for await (const event of ticking) if (event.type === "output") ticks++; })();
      await new Promise((resolve) => setTimeout(resolve, 300));
      const then = ticks;
      await new Promise((resolve) => setTimeout(resolve, 500));
      const still = ticks === then;
      await fork.resume();
      for (let turn = 0; ticks === then && turn < 200; turn++) await new Promise((resolve) => setTimeout(resolve, 50));
      const resumed = ticks > then;
      const who = await out(box, "id -un; cat /proc/self/uid_map | tr -s ' '");
      const { capabilities } = box;
      await provider.close();
      console.log(JSON.stringify({ capabilities, layers, same, apart, restored, processes, still, resumed, who }));`,
        [directory],
      );
      expect(told).toMatchObject({ same: true, apart: true, restored: true, still: true, resumed: true });
      expect(told.layers).toBe(told.capabilities.fork === "cow" ? "1\n" : "0\n");
      expect(told.who).toMatch(/^agent\n 1000 \d+ 1\n$/);
      if (told.capabilities.limits.includes("pids")) expect(told.processes).toBeLessThan(50);
      expect(await untilClean(directory)).toEqual([]);
    });
  },
);
