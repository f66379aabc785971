import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt } from "../../src/store/testing/worker.js";
import { program, surroundings } from "./call.js";
import { commandIn, scratch } from "./rath.js";

const folder = scratch();
const url = `sqlite:${join(folder, "queue.db")}`;
const rath = commandIn(folder, { RATH_STORE: url });
const text = (effect: string) => `import { step, workflow } from "openrath";
const one = step("one", () => 1, { effect: "${effect}" });
export default workflow("job", { one }, async (session, parts) => parts.one.forward(session));
`;
const children: ReturnType<typeof spawn>[] = [];

beforeAll(() => {
  ensureBuilt();
  writeFileSync(join(folder, "job.mjs"), text("read"));
  writeFileSync(join(folder, "newer.mjs"), text("write"));
}, 180_000);
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
});

const told = async (...words: readonly string[]) => JSON.parse((await rath(...words, "--json")).stdout);
const submit = (name: string) => told("submit", "job.mjs", "--input", "go", "--name", name);

async function until<Found>(look: () => Promise<Found | false>): Promise<Found> {
  for (;;) {
    const found = await look();
    if (found !== false) return found;
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** A worker in a process of its own; resolves when it is on the board. */
async function worker() {
  const child = spawn(process.execPath, [program, "worker", "job.mjs"], {
    cwd: folder,
    env: { ...surroundings, RATH_STORE: url },
    stdio: "ignore",
  });
  children.push(child);
  const over = new Promise<number | null>((done) => child.once("exit", done));
  const { id } = await until(async () => {
    const { workers } = await told("top");
    return workers.find((one: { pid: number }) => one.pid === child.pid) ?? false;
  });
  return { child, over, id: String(id) };
}

const status = async (name: string): Promise<string | undefined> => {
  const sessions = await told("list");
  return sessions.find((one: { name: string }) => one.name === name)?.status;
};

describe("the commands of workers", { timeout: 180_000 }, () => {
  it("[W1] a session is submitted once, stands on the board, and is run by a worker that ends with SIGTERM", async () => {
    expect(await submit("a")).toMatchObject({ name: "a", repeated: false });
    expect(await submit("a")).toMatchObject({ name: "a", repeated: true });
    const other = await rath("submit", "job.mjs", "--input", "stop", "--name", "a");
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining("choose another name") });
    const later = await rath(
      "submit",
      "job.mjs",
      "--input",
      "go",
      "--name",
      "later",
      "--not-before",
      "2999-01-01",
    );
    expect(later).toMatchObject({ code: 0, stdout: expect.stringContaining("later is in the queue.") });
    const before = await rath("top");
    expect(before.stdout).toContain("0 running, 1 due, 0 stuck, 0 paused, 0 held, 1 later, 0 waiting");
    expect(before.stdout).toContain("No worker is here.");
    const { child, over, id } = await worker();
    await until(async () => (await status("a")) === "finished");
    expect((await rath("top")).stdout).toContain(id);
    expect(await submit("a")).toMatchObject({ name: "a", repeated: true });
    child.kill("SIGTERM");
    expect(await over).toBe(0);
    expect((await told("top")).workers).toEqual([]);
    expect((await rath("verify", "a")).code).toBe(0);
  });

  it("[W2] pause and cancel reach sessions that wait in the queue", async () => {
    await submit("paused");
    await submit("cancelled");
    expect((await rath("pause", "paused")).code).toBe(0);
    expect(await told("cancel", "cancelled")).toEqual({ cancelled: ["cancelled"] });
    const { over, id } = await worker();
    await until(async () => (await status("cancelled")) === "cancelled");
    expect((await told("top")).counts.paused).toBe(1);
    expect((await rath("pause", "paused", "--off")).code).toBe(0);
    await until(async () => (await status("paused")) === "finished");
    expect(await told("drain", id)).toMatchObject({ draining: true });
    expect(await over).toBe(0);
  });

  it("[W3] deploy says which versions are needed, and exits with 1 while no worker has an old one", async () => {
    await submit("b");
    const needed = await rath("deploy");
    expect(needed).toMatchObject({ code: 0, stdout: expect.stringContaining("no worker has it") });
    expect((await rath("deploy", "job.mjs")).code).toBe(0);
    const old = await rath("deploy", "newer.mjs", "--json");
    expect(old.code).toBe(1);
    expect(JSON.parse(old.stdout)).toMatchObject([{ module: "job", old: true, workers: [] }]);
  });

  it("[W4] an unknown session or worker is refused with a code and a hint", async () => {
    for (const words of [
      ["pause", "nobody"],
      ["cancel", "nobody"],
      ["drain", "nobody"],
      ["pause", "a"],
    ]) {
      const { code, stdout } = await rath(...words, "--json");
      expect([code, JSON.parse(stdout).error.code]).toEqual([1, "run-refused"]);
      expect(JSON.parse(stdout).error.hint).toContain("rath");
    }
    expect((await rath("submit", "job.mjs")).code).toBe(2);
    expect((await rath("submit", "job.mjs", "--input", "x", "--priority", "high")).code).not.toBe(0);
    expect((await rath("worker", "nothing.mjs")).code).not.toBe(0);
  });

  it("[W5] an engine that cannot be loaded is refused with a hint", async () => {
    writeFileSync(join(folder, "engine.mjs"), "export default () => ({ name: 'none' });");
    const refused = [
      ["missing", "npm install @openrath/engine-missing"],
      ["./missing.mjs", "check the path"],
      ["./engine.mjs", "give local, restate"],
    ];
    for (const [engine = "", hint] of refused) {
      const { code, stdout } = await rath("worker", "job.mjs", "--engine", engine, "--json");
      expect(code).toBe(2);
      expect(JSON.parse(stdout).error).toMatchObject({
        code: "usage",
        hint: expect.stringContaining(hint ?? ""),
      });
    }
  });
});
