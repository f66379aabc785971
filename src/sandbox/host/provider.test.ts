import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { type Digest, digestOf } from "../../session/index.js";
import { SandboxSpecError, SandboxUnavailableError } from "../error.js";
import { Child } from "../local/testing/child.js";
import { processesOf, untilClean } from "../local/testing/traces.js";
import type { Sandbox, SandboxProvider } from "../sandbox.js";
import type { SandboxSpec } from "../spec.js";
import { Trees } from "../trees.js";
import { type HostOptions, hostSandbox } from "./provider.js";

const folders: string[] = [];
const providers: SandboxProvider[] = [];
afterEach(async () => {
  for (const provider of providers.splice(0)) await provider.close();
});
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "openrath-host-"));
  folders.push(path);
  return path;
}

function trees(): Trees {
  const kept = new Map<Digest, Uint8Array>();
  return new Trees({
    putBlobs: async (blobs) =>
      blobs.map((bytes) => {
        kept.set(digestOf(bytes), new Uint8Array(bytes));
        return digestOf(bytes);
      }),
    blob: async (digest) => kept.get(digest),
  });
}

async function open(
  spec: SandboxSpec = {},
  options: HostOptions = { directory: folder() },
): Promise<{ sandbox: Sandbox; provider: SandboxProvider }> {
  const provider = hostSandbox(options);
  providers.push(provider);
  return {
    provider,
    sandbox: await provider.create(spec, { id: "one", incarnation: 1, tree: null, trees: trees() }),
  };
}

async function out(sandbox: Sandbox, command: string | readonly string[], options = {}): Promise<string> {
  const { stdout, stderr } = await sandbox.exec(command, options).result;
  return Buffer.concat([stdout, stderr]).toString("utf8");
}

describe("the host as a sandbox", () => {
  it("[H6] says that it isolates nothing: in its capabilities, its status and its ref", async () => {
    const { sandbox, provider } = await open();
    expect((await provider.capabilities()).isolation).toBe("none");
    expect(sandbox.capabilities.isolation).toBe("none");
    expect(sandbox.ref.provider).toBe("host");
    expect(sandbox.ref.status.conditions.find(({ type }) => type === "Isolated")).toMatchObject({
      status: false,
      reason: "Host",
    });
    // It is this machine: its files, its numbers of processes.
    expect(await out(sandbox, `kill -0 ${process.pid} && echo mine`)).toBe("mine\n");
  });

  it("[H7] refuses what it cannot honour: no network, and limits other than time and output", async () => {
    const directory = folder();
    for (const spec of [
      { network: { mode: "none" } },
      { network: { mode: "allow", hosts: ["example.com"] } },
      { limits: { memory: 1e9 } },
      { limits: { pids: 10 } },
    ] as const)
      await expect(open(spec, { directory })).rejects.toThrow(SandboxSpecError);
    expect(existsSync(join(directory, "live")) ? readdirSync(join(directory, "live")) : []).toEqual([]);
    await open({ network: { mode: "full" }, limits: { wall: 1000, output: 10 } }, { directory });
  });

  it("[H8] a command has of our environment where programs are and the language, and nothing else", async () => {
    process.env.OPENRATH_TEST_TOKEN = "secret";
    try {
      const { sandbox } = await open({ env: { MINE: "1" } });
      const names = (await out(sandbox, ["env"]))
        .split("\n")
        .flatMap((line) => /^(\w+)=/.exec(line)?.[1] ?? []);
      const known = /^(PATH|LANG|LANGUAGE|TZ|LC_\w+|HOME|TMPDIR|MINE|OPENRATH_SANDBOX)$/;
      expect(names.filter((name) => !known.test(name))).toEqual([]);
      expect(names).toEqual(expect.arrayContaining(["PATH", "HOME", "TMPDIR", "MINE"]));
      expect(await out(sandbox, 'cd; pwd; echo > "$TMPDIR/file"; ls -A "$HOME"')).toBe(
        `${sandbox.ref.native?.directory}/home\n`,
      );
    } finally {
      delete process.env.OPENRATH_TEST_TOKEN;
    }
  });

  it("[H9] a command gets no descriptor of ours but its three", async () => {
    const at = folder();
    writeFileSync(join(at, "secret"), "");
    const secret = openSync(join(at, "secret"), "r");
    const child = new Child(
      `import { hostSandbox } from "@/sandbox/host/provider.js";
      const provider = hostSandbox({ directory: process.argv[2] });
      const sandbox = await provider.create({}, { id: "one", incarnation: 1, tree: null, trees: undefined });
      const { stdout } = await sandbox.exec("readlink /proc/$$/fd/*; true").result;
      console.log(JSON.stringify(Buffer.from(stdout).toString("utf8")));
      await provider.close();`,
      [folder()],
      { leak: secret },
    );
    closeSync(secret);
    const listing = await child.next<string>();
    const opened = listing.trim().split("\n");
    expect(opened.length).toBeGreaterThanOrEqual(3);
    expect(opened.filter((what) => !/^(\/dev\/null|(pipe|socket):\[\d+\])$/.test(what))).toEqual([]);
    expect(await child.ended()).toBe(0);
  });

  it("[H10] a timeout ends the whole command, also what is in a group of its own; destroying ends what it left", async () => {
    const directory = folder();
    const { sandbox } = await open({}, { directory });
    const { outcome } = await sandbox.exec("timeout 1000 sleep 1000 & sleep 1000 | sleep 1000", { wall: 300 })
      .result;
    expect(outcome).toBe("timeout");
    const sleeping = () => processesOf(directory).filter(({ command }) => /^\S*sleep /.test(command));
    // All were killed; the last of them may still be on their way out.
    for (let turn = 0; sleeping().length > 0 && turn < 200; turn++) await sleep(20);
    expect(sleeping()).toEqual([]);
    await sandbox.exec("(setsid nohup sleep 1000 > /dev/null 2>&1 < /dev/null &) ; sleep 1000 &").result;
    expect(sleeping().length).toBeGreaterThan(1);
    await sandbox.destroy();
    expect(sleeping()).toEqual([]);
    expect(readdirSync(join(directory, "live"))).toEqual([]);
  });

  it("[H11] killed with commands under way, our process leaves none of them, and no folder", async () => {
    const directory = folder();
    for (let round = 0; round < 3; round++) {
      const child = new Child(
        `import { hostSandbox } from "@/sandbox/host/provider.js";
        const provider = hostSandbox({ directory: process.argv[2] });
        const sandbox = await provider.create({}, { id: "one", incarnation: 1, tree: null, trees: undefined });
        sandbox.exec("(setsid sleep 1000 &) ; sleep 1000 & sleep 1000; true", { background: true });
        sandbox.exec("exec env -i /bin/sleep 1000");
        await sandbox.exec("sleep 0.1").result;
        console.log("1");`,
        [directory],
      );
      await child.next();
      expect(processesOf(directory).length).toBeGreaterThan(2);
      await child.crash();
      expect(await untilClean(directory)).toEqual([]);
    }
  });

  it("[H12] paths that begin with /workspace are the workspace; others are the host's", async () => {
    const { sandbox } = await open();
    await sandbox.files.write("deep/a.txt", "here");
    expect(await out(sandbox, "cat a.txt", { directory: "/workspace/deep" })).toBe("here");
    expect(await out(sandbox, "cat deep/a.txt", { directory: "/workspace" })).toBe("here");
    expect(await out(sandbox, "pwd", { directory: "/usr" })).toBe("/usr\n");
    expect((await sandbox.exec("true", { directory: "/workspacex" }).result).outcome).toBe("unstarted");
  });

  it("[H13] a directory that others can write to is refused", async () => {
    const directory = join(folder(), "open");
    mkdirSync(directory, { mode: 0o755 });
    await expect(open({}, { directory })).rejects.toThrow(SandboxUnavailableError);
    await expect(open({}, { directory: "relative" })).rejects.toThrow(SandboxSpecError);
  });

  it("[H14] input of a command that does not read, or has ended, is dropped", async () => {
    const { sandbox } = await open();
    const execution = sandbox.exec("sleep 1000", { stdin: "open" });
    const written = execution.write(Buffer.alloc(1_000_000));
    await execution.kill();
    await written;
    await execution.write("late");
    execution.end();
    expect((await execution.result).outcome).toBe("killed");
  });

  it("[H15] output is not lost while this process is busy as commands end", async () => {
    const { sandbox } = await open();
    // The first one's output is read while the second one ends, so that the end of the second is known before its output.
    const first = sandbox.exec("sleep 0.2; echo first");
    const second = sandbox.exec("sleep 0.8; echo second");
    // The output of the first is read while the second ends: its end is known before its output.
    const begun = first[Symbol.asyncIterator]();
    await begun.next();
    const read = begun.next().then(() => {
      busy(700);
      setImmediate(() => busy(200));
    });
    busy(400);
    await read;
    expect(Buffer.from((await second.result).stdout).toString()).toBe("second\n");
  });
});

/** Lets no callback run for a while. */
function busy(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}
