import { deepStrictEqual, equal, ok } from "node:assert";
import type { Condition, Sandbox } from "../../sandbox/index.js";
import { skip, sleep, until } from "../runner.js";
import { check, done, ended, promise, refused, run, type SandboxCase } from "./case.js";

export const lifeCases: readonly SandboxCase[] = [
  check("[L1] an open sandbox is running and ready, since a known moment", async (sandbox) => {
    const before = Date.now();
    const { phase, conditions } = await sandbox.status();
    equal(phase, "running");
    equal(conditionOf(conditions, "Ready")?.status, true);
    equal(new Set(conditions.map(({ type }) => type)).size, conditions.length);
    for (const { at, reason } of conditions) {
      equal(new Date(at).toISOString(), at);
      ok(
        Date.parse(at) >= before - 1000 && Date.parse(at) <= Date.now() + 1000,
        `${at} is not when it happened`,
      );
      ok(reason.length > 0, "no reason is given");
    }
    deepStrictEqual(JSON.parse(JSON.stringify(conditions)), conditions);
    deepStrictEqual(sandbox.ref.status, await sandbox.status());
  }),

  promise("[L2] the spec of a sandbox stays as it was given", async ({ capabilities, open }) => {
    const spec = { env: { A: "1" }, ttl: 600_000, onExpire: "retain" as const };
    const sandbox = await open(spec);
    deepStrictEqual(sandbox.ref.spec, spec);
    await sandbox.renew(500_000);
    if (capabilities.suspend !== "none") {
      await sandbox.suspend();
      equal(sandbox.ref.status.phase, "suspended");
      deepStrictEqual(sandbox.ref.spec, spec);
      await sandbox.resume();
    }
    await sandbox.destroy();
    deepStrictEqual([sandbox.ref.spec, sandbox.ref.status.phase], [spec, "finished"]);
  }),

  check("[L3] a suspended sandbox keeps its files", async (sandbox, { provider, capabilities, trees }) => {
    if (capabilities.suspend === "none") skip("sandboxes of this kind cannot be suspended");
    await sandbox.files.write("a.txt", "kept");
    await sandbox.suspend();
    await sandbox.suspend();
    const { phase, conditions } = await sandbox.status();
    deepStrictEqual(
      [phase, conditionOf(conditions, "Suspended")?.status, conditionOf(conditions, "Ready")?.status],
      ["suspended", true, false],
    );
    const { outcome, why } = await run(sandbox, "echo > began");
    deepStrictEqual([outcome, typeof why], ["unstarted", "string"]);
    await sandbox.resume();
    await sandbox.resume();
    equal((await sandbox.status()).phase, "running");
    equal(conditionOf((await sandbox.status()).conditions, "Suspended")?.status, false);
    equal(await done(sandbox, "cat a.txt; ls"), "kepta.txt\n");
    await sandbox.suspend();
    const again = await provider.connect(sandbox.ref, { trees });
    equal((await again.status()).phase, "running");
    equal(await done(again, "cat a.txt"), "kept");
  }),

  promise("[L4] commands of a suspended sandbox stand still", async ({ capabilities, open }) => {
    if (capabilities.suspend === "none") skip("sandboxes of this kind cannot be suspended");
    const sandbox = await open({ limits: capabilities.limits.includes("wall") ? { wall: 20_000 } : {} });
    const execution = sandbox.exec("while [ ! -e stop ]; do echo x >> log; sleep 0.01; done");
    const size = async () => (await sandbox.files.stat("log"))?.size ?? 0;
    await until("the beginning of the command", async () => (await size()) > 4);
    await sandbox.suspend();
    // Output of that moment may still arrive.
    await sleep(100);
    const before = await size();
    await sleep(400);
    equal(await size(), before, "it went on");
    await sandbox.resume();
    if (capabilities.suspend === "stop") {
      const { outcome, code } = await ended(execution);
      deepStrictEqual([outcome, code], ["killed", null]);
      return;
    }
    await until("going on", async () => (await size()) > before);
    await sandbox.files.write("stop", "");
    equal((await ended(execution)).outcome, "ok");
  }),

  promise("[L5] a sandbox whose time is over is deleted", async ({ provider, trees, open }) => {
    const sandbox = await open({ ttl: 300, onExpire: "delete" });
    await until("the end of its time", async () => (await sandbox.status()).phase === "finished");
    equal(conditionOf((await sandbox.status()).conditions, "Expired")?.status, true);
    await until("the end of the sandbox", async () => {
      for await (const { id } of provider.list()) if (id === sandbox.ref.id) return false;
      return true;
    });
    await refused("sandbox-lost", "connect", () => provider.connect(sandbox.ref, { trees }));
    equal((await run(sandbox, "true")).outcome, "unstarted");
  }),

  promise("[L6] or suspended", async ({ capabilities, open }) => {
    if (capabilities.suspend === "none") skip("sandboxes of this kind cannot be suspended");
    const sandbox = await open({ ttl: 1500, onExpire: "suspend" });
    await sandbox.files.write("a.txt", "kept");
    await until("the end of its time", async () => (await sandbox.status()).phase === "suspended");
    equal(conditionOf((await sandbox.status()).conditions, "Expired")?.status, true);
    await sandbox.resume();
    equal(await done(sandbox, "cat a.txt"), "kept");
  }),

  promise("[L7] or kept, and it is told that its time is over", async ({ open }) => {
    const sandbox = await open({ ttl: 200, onExpire: "retain" });
    await sandbox.files.write("a.txt", "kept");
    await expired(sandbox);
    equal(await done(sandbox, "cat a.txt"), "kept");
    equal((await sandbox.status()).phase, "running");
  }),

  promise("[L8] its time can be set anew, to more or to less, also when it was over", async ({ open }) => {
    const sandbox = await open({ ttl: 2000, onExpire: "delete" });
    await sandbox.renew(600_000);
    for (const nonsense of [Number.NaN, 0, -1, "1000", undefined])
      await refused("sandbox-spec-refused", `a time of ${nonsense}`, () => sandbox.renew(nonsense as number));
    await sleep(2500);
    equal(await done(sandbox, "echo on"), "on\n");
    await sandbox.renew(100);
    await until("the end of its time", async () => (await sandbox.status()).phase === "finished");
    await refused("sandbox-lost", "renewing what is gone", () => sandbox.renew(1000));
    const other = await open({ ttl: 100, onExpire: "retain" });
    await expired(other);
    await other.renew(600_000);
    equal(conditionOf((await other.status()).conditions, "Expired")?.status, false);
  }),
];

async function expired(sandbox: Sandbox): Promise<void> {
  await until(
    "the end of its time",
    async () => conditionOf((await sandbox.status()).conditions, "Expired")?.status === true,
  );
}

function conditionOf(conditions: readonly Condition[], type: Condition["type"]): Condition | undefined {
  return conditions.find((condition) => condition.type === type);
}
