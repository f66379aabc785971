import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { folder } from "../store/testing/folder.js";
import { ensureBuilt } from "../store/testing/worker.js";

const script = fileURLToPath(new URL("./testing/paused.mjs", import.meta.url));
const dist = fileURLToPath(new URL("../../dist", import.meta.url));
/** Milliseconds after which the lease of a process is over that does not renew it. */
const LEASE = 500;

beforeAll(ensureBuilt);

it("[T15] a worker that was really stopped, and replaced meanwhile, does not pay again when it wakes", async () => {
  const home = folder();
  const ledger = join(home, "ledger.txt");
  const worker = (me: string) => {
    const options = { dist, url: `sqlite:${join(home, "rath.db")}`, ledger, me, lease: LEASE };
    const child = spawn(process.execPath, [script, JSON.stringify(options)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => {
      child.kill("SIGKILL");
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async (): Promise<unknown> => JSON.parse((await lines.next()).value ?? "null");
    return { child, next };
  };
  const first = worker("first");
  expect(await first.next()).toEqual({ stops: true });
  await new Promise((resolve) => setTimeout(resolve, LEASE + 100));
  expect(await worker("second").next()).toEqual({ ended: "run-end" });
  first.child.kill("SIGCONT");
  expect(await first.next()).toEqual({ failed: "name-fenced" });
  expect(readFileSync(ledger, "utf8")).toBe("paid by second\n");
});
