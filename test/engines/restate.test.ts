import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { ensurePeer } from "../../bench/peer.mjs";
import restate from "../../engines/restate/index.mjs";
import { RestateServers, whyNoRestate } from "../../engines/restate/server.mjs";
import { worker } from "../../src/cluster/index.js";
import { step } from "../../src/workflow/index.js";
import { conformanceOf } from "./testkit.js";

const campaign = fileURLToPath(new URL("../../scripts/crash-cluster.mjs", import.meta.url));
const folder = new URL("../../engines/restate/", import.meta.url);
let reason: string | undefined;
beforeAll(async () => {
  const installed = await ensurePeer(folder, "Restate");
  reason = installed.ok ? whyNoRestate() : installed.reason;
}, 900_000);

conformanceOf("restate", async () => {
  if (reason !== undefined) return { reason };
  const servers = await RestateServers.start();
  return {
    environment: servers.environment,
    stored: () => servers.stored(),
    crash: () => servers.kill(),
    restart: () => servers.restart(),
    stop: () => servers.stop(),
  };
});

it("[EN8] a worker does not start while Restate does not answer", async (context) => {
  context.skip(reason !== undefined, reason);
  const nowhere = restate({ ingress: "http://127.0.0.1:9", admin: "http://127.0.0.1:9" });
  const modules = { one: step("one", () => 1, { effect: "pure" }) };
  await expect(worker({ store: "memory:", modules, engine: nowhere })).rejects.toMatchObject({
    code: "run-refused",
    message: expect.stringContaining("http://127.0.0.1:9 does not answer"),
  });
});

it("[EN10] a Restate server for tests asks nothing outside this machine", async (context) => {
  context.skip(reason !== undefined, reason);
  const hasStrace = spawnSync("strace", ["-V"]).status === 0;
  context.skip(!hasStrace, "strace is not here");
  const servers = await RestateServers.start(1, { trace: true });
  const trace = join(servers.folder, "n1.trace");
  try {
    const calls = () =>
      readFileSync(trace, "utf8")
        .split("\n")
        .filter((line) => /AF_INET/.test(line));
    const remote = calls().filter(
      (line) => !/inet_addr\("127\.0\.0\.1"\)|inet_pton\(AF_INET6, "::1"/.test(line),
    );
    // The question after a newer version is among them, and does not leave the machine.
    expect(calls().some((line) => line.includes("htons(443)"))).toBe(true);
    expect(remote).toEqual([]);
  } finally {
    await servers.stop();
  }
});

it("[EN4] [EN7] a slice of the crash campaign loses nothing, and repeats no write unreported", async () => {
  const words = reason === undefined ? ["--engine", "restate", "--nodes", "3", "--concurrency", "4"] : [];
  const { stdout } = await promisify(execFile)(process.execPath, [
    campaign,
    "--sessions",
    "4",
    "--json",
    ...words,
  ]);
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ engine: reason === undefined ? "restate" : "local", sessions: 4, ended: 4 },
    ...{ lost: 0, repeated: 0, verified: 4 },
  });
});
