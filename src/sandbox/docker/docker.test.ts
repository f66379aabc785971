import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../store/index.js";
import { ownerOf, thisProcess } from "../../store/name/owner.js";
import { sandboxConformance } from "../../testkit/sandbox/index.js";
import { SandboxLostError, SandboxSpecError, SandboxUnavailableError } from "../error.js";
import type { ExecOptions, Sandbox, SandboxProvider } from "../sandbox.js";
import type { SandboxSpec } from "../spec.js";
import { Trees } from "../trees.js";
import { dockerSandbox } from "./docker.js";
import { Engine } from "./engine.js";
import { bodyOf, type DockerOptions, LABELS, nameOf } from "./launch.js";
import { removeImage } from "./testing/image.js";
import { reachable } from "./testing/reachable.js";

const { socket = "", image, isMade = false, why } = await reachable();
const title = why === undefined ? "a real engine" : `a real engine (${why})`;

afterAll(async () => {
  if (isMade) await removeImage(socket, image);
});

describe.skipIf(why !== undefined)(`${title}: the promises of every sandbox`, () => {
  for (const { id, title: promise, run } of sandboxConformance) {
    it(`[${id}] ${promise}`, { timeout: 300_000 }, async (context) => {
      // All of the network means that of the host there.
      const provider = async () => dockerSandbox({ socket, image, network: "host" });
      const note = await run({ provider });
      if (note !== undefined) context.skip(note);
    });
  }
});

describe.skipIf(why !== undefined)(title, { timeout: 120_000 }, () => {
  let trees: Trees;
  let engine: Engine;
  let provider: SandboxProvider;
  const others: SandboxProvider[] = [];

  beforeAll(async () => {
    trees = new Trees(await openStore("memory:"));
    engine = await Engine.open(socket, 60_000);
    provider = dockerSandbox({ socket, image });
  });
  afterEach(async () => {
    for (const other of others.splice(0)) await other.close();
    await provider.close();
  });
  afterAll(async () => {
    const left = await engine.json<{ Labels: { [name: string]: string } }[]>("GET", "/containers/json", {
      query: { all: "true", filters: encodeURIComponent(JSON.stringify({ label: [LABELS.owner] })) },
    });
    expect(left.filter(({ Labels }) => Labels[LABELS.id]?.startsWith(begin) !== false)).toEqual([]);
  });

  const begin = `test-${randomUUID()}`;
  const newId = (): string => `${begin}-${randomUUID()}`;
  const open = (spec: SandboxSpec = {}, more: object = {}): Promise<Sandbox> =>
    provider.create(spec, { id: newId(), incarnation: 1, tree: null, trees, ...more });
  const opened = (options: DockerOptions, spec: SandboxSpec = {}, more: object = {}): Promise<Sandbox> => {
    const other = dockerSandbox({ socket, image, ...options });
    others.push(other);
    return other.create(spec, { id: newId(), incarnation: 1, tree: null, trees, ...more });
  };

  it("[D16] commands have no powers, no way to more, a filter of system calls, and a root they cannot write to", async () => {
    const box = await open();
    const status = await out(box, "cat /proc/self/status");
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    expect(status).toMatch(/^CapBnd:\s+0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(status).toMatch(/^Seccomp:\s+2$/m);
    const tried = await result(box, "for f in /x /bin/x /etc/x /usr/x; do : > $f; done 2>&1");
    expect(tried.text.match(/Read-only file system|can't create/g)).toHaveLength(4);
    expect(await out(box, "cat /proc/1/environ /proc/self/environ | tr '\\0' '\\n'")).not.toContain("DOCKER");
    const free = await opened({ root: "writable" });
    expect(await out(free, "echo 1 > /etc/x && cat /etc/x")).toBe("1\n");
  });

  it("[D17] a command that fills the sandbox with processes is ended with everything in it; the files stay", async () => {
    const box = await open({ limits: { pids: 40 } });
    await box.files.write("kept", "kept");
    const other = box.exec("echo ready; sleep 1000", { background: true });
    await said(other, "ready");
    const bomb = await result(box, "bomb() { bomb | bomb & }; bomb; sleep 60", { wall: 1_500 });
    expect([bomb.outcome, bomb.code]).toEqual(["timeout", null]);
    // Whether the other one had to go too depends on how full it was.
    await other.kill();
    expect((await other.result).outcome).toBe("killed");
    await expect
      .poll(() => result(box, "cat kept").then(({ text }) => text), { timeout: 20_000 })
      .toBe("kept");
  });

  it("[D18] a command that ran out of memory says so, also when only a part of it did", async () => {
    const box = await open({ limits: { memory: 48 * 1024 ** 2 } });
    const all = await result(box, ["tail", "/dev/zero"]);
    expect([all.outcome, all.code, all.signal]).toEqual(["oom", null, "SIGKILL"]);
    expect((await result(box, "false")).outcome).toBe("error");
    const part = await result(box, "tail /dev/zero; exit 3");
    expect([part.outcome, part.code]).toEqual(["oom", 3]);
    expect((await result(box, "exit 137")).outcome).toBe("error");
    expect(await out(box, "echo on")).toBe("on\n");
  });

  it("[D19] a kill reaches jobs in groups of their own, and processes that give themselves strange names", async () => {
    const box = await open();
    const jobs = box.exec("set -m; sleep 4141 & sleep 4142 | cat & echo ready; wait");
    await said(jobs, "ready");
    await jobs.kill();
    expect((await jobs.result).outcome).toBe("killed");
    expect(await out(box, "ps -e -o args= | grep -c '[s]leep 414' || true")).toBe("0\n");
    const named = box.exec(
      "cp /bin/sleep \"$(printf 'od) d\\n1 (x')\"; \"./$(printf 'od) d\\n1 (x')\" 4143 & echo ready; wait",
    );
    await said(named, "ready");
    await named.kill();
    expect((await named.result).outcome).toBe("killed");
    expect(await out(box, "ps -e -o args= | grep -c '[4]143' || true")).toBe("0\n");
  });

  it.each(["1000:1000", "agent", "agent:staff", "1234"])(
    "[D20] as the user %s, the workspace and all that is put there is theirs",
    async (user) => {
      const first = await open();
      await out(first, "mkdir -p a/b; echo x > a/b/c; ln -s ../../up out; chmod 500 a/b");
      const { tree } = await first.snapshot();
      const box = await opened({ user }, {}, { tree });
      expect((await result(box, "id -u")).text).toBe(user.startsWith("1234") ? "1234\n" : "1000\n");
      expect(await out(box, "echo y > new; echo z >> a/b/c; cat a/b/c new")).toBe("x\nz\ny\n");
      await box.files.write("d/e", "from outside");
      await out(box, "echo more >> d/e; mv d f; chmod 000 f");
      await box.restore(tree);
      expect((await box.snapshot()).tree).toBe(tree);
      await box.restore(null);
      expect(await out(box, "touch z; ls -A")).toBe("z\n");
    },
  );

  it("[D20] a user that the image does not have is refused, and nothing is left", async () => {
    await expect(opened({ user: "nobody-here" })).rejects.toThrow(SandboxSpecError);
  });

  it("[D21] a container that somebody removes is lost: to its commands, its files, its status, and who looks for it", async () => {
    const box = await open();
    const running = box.exec("echo ready; sleep 1000");
    await said(running, "ready");
    await engine.json("DELETE", `/containers/${String(box.ref.native?.container)}`, {
      query: { force: "true", v: "true" },
    });
    expect(await running.result).toMatchObject({ outcome: "lost", code: null });
    await expect(box.files.read("x")).rejects.toThrow(SandboxLostError);
    await expect(box.files.stat("x")).rejects.toThrow(SandboxLostError);
    await expect(box.snapshot()).rejects.toThrow(SandboxLostError);
    expect((await box.status()).phase).toBe("lost");
    expect((await result(box, "true")).outcome).toBe("lost");
    const elsewhere = dockerSandbox({ socket, image });
    others.push(elsewhere);
    await expect(elsewhere.connect(box.ref, { trees })).rejects.toThrow(SandboxLostError);
  });

  it("[D21] a container that ended by itself is lost too, and is not started again behind anybody's back", async () => {
    const box = await open();
    await engine.json("POST", `/containers/${String(box.ref.native?.container)}/kill`);
    await expect.poll(() => box.status().then(({ phase }) => phase)).toBe("lost");
    const elsewhere = dockerSandbox({ socket, image });
    others.push(elsewhere);
    await expect(elsewhere.connect(box.ref, { trees })).rejects.toThrow(/exited/);
    await expect(box.files.read("x")).rejects.toThrow(SandboxLostError);
  });

  it("[D22] another process that opens the same sandbox finds the same container, its files and its commands", async () => {
    const id = newId();
    const box = await provider.create({}, { id, incarnation: 1, tree: null, trees });
    await box.files.write("a", "1");
    const elsewhere = dockerSandbox({ socket, image });
    others.push(elsewhere);
    const [same, found] = [
      await elsewhere.create({}, { id, incarnation: 1, tree: null, trees }),
      await elsewhere.connect(box.ref, { trees }),
    ];
    expect(same.ref.native).toEqual(box.ref.native);
    expect(found).toBe(same);
    expect(await out(same, "cat a")).toBe("1");
    const listed = [];
    for await (const ref of elsewhere.list()) if (ref.id === id) listed.push(ref);
    expect(listed).toMatchObject([
      { id, incarnation: 1, tree: null, provider: "docker", status: { phase: "running" } },
    ]);
  });

  it("[D23] containers of an ended process are removed by the next one, unless their time is not over", async () => {
    const identity = thisProcess();
    if (identity === undefined) return;
    const dead = ownerOf({ ...identity, start: identity.start - 1 }, "00000000");
    const make = async (spec: SandboxSpec, owner: string): Promise<string> => {
      const create = { id: newId(), incarnation: 1, tree: null, trees };
      const name = nameOf(create.id, 1);
      await engine.json("POST", "/containers/create", {
        query: { name },
        body: bodyOf(spec, create, { image }, owner, engine.about.name),
      });
      return name;
    };
    const isThere = (name: string): Promise<boolean> =>
      engine.json("GET", `/containers/${name}/json`).then(
        () => true,
        () => false,
      );
    const gone = await make({}, dead);
    const over = await make({ ttl: 1 }, dead);
    const kept = [await make({ ttl: 600_000 }, dead), await make({ ttl: 1, onExpire: "retain" }, dead)];
    const alive = await make({}, ownerOf(identity, "00000000"));
    const elsewhere = await make({}, "somebody else");
    const left = [...kept, alive, elsewhere];
    // The engine tells in whole seconds when a container was made.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await opened({});
    const found = await Promise.all([gone, over, ...left].map(isThere));
    for (const name of [gone, over, ...left])
      await engine
        .json("DELETE", `/containers/${name}`, { query: { force: "true", v: "true" } })
        .catch(() => {});
    expect(found).toEqual([false, false, true, true, true, true]);
  });

  it("[D24] nothing is left of a sandbox that was destroyed: no container, no volume, nothing it was filled through", async () => {
    const volumes = async () =>
      (await engine.json<{ Volumes: { Name: string }[] | null }>("GET", "/volumes")).Volumes?.map(
        ({ Name }) => Name,
      ) ?? [];
    const before = await volumes();
    const box = await open();
    await out(box, "ln -s ../../../etc out; mkdir -p d/e; ln -s ../../.. d/e/far; echo x > f");
    const { tree } = await box.snapshot();
    const fork = await box.fork({ id: newId() });
    expect((await fork.snapshot()).tree).toBe(tree);
    await out(fork, "rm out; mkdir out; echo planted > out/passwd");
    await fork.restore(tree);
    expect((await fork.snapshot()).tree).toBe(tree);
    expect(await volumes()).toHaveLength(before.length + 2);
    await Promise.all([box.destroy(), fork.destroy(), fork.destroy()]);
    expect((await volumes()).sort()).toEqual(before.sort());
  });

  it("[D25] files of a suspended sandbox can be worked with, and the time of its commands stands still", async () => {
    const box = await open();
    const slow = box.exec("echo ready; sleep 0.4; echo done", { wall: 3_000 });
    await said(slow, "ready");
    await box.suspend();
    await box.files.write("in", "written meanwhile");
    await box.files.make("gone");
    await box.files.remove("gone");
    const { tree } = await box.snapshot();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect((await box.status()).phase).toBe("suspended");
    await box.resume();
    expect((await slow.result).outcome).toBe("ok");
    expect(await out(box, "cat in; ls")).toBe("written meanwhilein\n");
    await box.suspend();
    await box.restore(tree);
    const stopped = box.exec("true");
    expect(await stopped.result).toMatchObject({ outcome: "unstarted" });
    await box.resume();
  });

  it("[D25] a command that is killed while its sandbox is suspended ends when that is resumed", async () => {
    const box = await open();
    const slow = box.exec("echo ready; sleep 1000");
    await said(slow, "ready");
    await box.suspend();
    await slow.kill();
    await box.resume();
    expect((await slow.result).outcome).toBe("killed");
  });

  it("[D26] a restore leaves what the tree excludes, unless the directory it is in goes", async () => {
    const box = await open({ exclude: ["node_modules", "*.log"] });
    await out(
      box,
      "mkdir -p a/node_modules/x b node_modules; echo 1 > a/f; echo 2 > a/node_modules/x/y; echo 3 > n.log",
    );
    const { tree } = await box.snapshot();
    await out(box, "mkdir -p c/node_modules; echo 4 > c/node_modules/z; echo 5 > a/g; rm -r b; ln -s / b");
    await box.restore(tree);
    expect(await out(box, "find . | sort")).toBe(
      "./a\n./a/f\n./a/node_modules\n./a/node_modules/x\n./a/node_modules/x/y\n./b\n./n.log\n./node_modules\n"
        .split("\n")
        .filter(Boolean)
        .reduce((text, line) => `${text}${line}\n`, ".\n"),
    );
    expect((await box.snapshot()).tree).toBe(tree);
  });

  it("[D27] a restore does not believe a container that says it is empty", async () => {
    const box = await opened({ root: "writable" });
    await box.files.write("a", "1");
    const { tree } = await box.snapshot();
    await out(
      box,
      "echo 2 > b; printf '#!/bin/sh\\nexit 0\\n' > /bin/rm.new; chmod 755 /bin/rm.new; mv /bin/rm.new /bin/rm",
    );
    await expect(box.restore(tree)).rejects.toThrow("could not be removed");
    await expect(box.files.remove("a")).rejects.toThrow("Cannot do this");
  });

  it("[D28] commands and calls on files in quick succession never trip over each other", async () => {
    const box = await open();
    const rounds = Array.from({ length: 40 }, (_, round) => round);
    const commands = (async () => {
      for (const round of rounds)
        expect(await out(box, `echo ${round} > c${round}; cat c${round}`)).toBe(`${round}\n`);
    })();
    for (const round of rounds) {
      await box.files.write(`f${round}`, `${round}`);
      expect(Buffer.from(await box.files.read(`f${round}`)).toString()).toBe(`${round}`);
      if (round % 4 === 0) await box.files.remove(`f${round}`);
    }
    await commands;
    expect(await box.files.list()).toHaveLength(40 + 30);
    expect((await box.status()).phase).toBe("running");
  });

  it("[D10] an image that the engine does not have is named, with what to type", async () => {
    const error = await open({ image: "openrath-no-such-image:1" }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SandboxUnavailableError);
    expect((error as SandboxUnavailableError).hint).toBe("get it: docker pull openrath-no-such-image:1");
  });
});

async function result(box: Sandbox, command: string | readonly string[], options?: ExecOptions) {
  const ended = await box.exec(command, options).result;
  return { ...ended, text: Buffer.from(ended.stdout).toString("utf8") };
}

async function out(box: Sandbox, command: string | readonly string[]): Promise<string> {
  const { outcome, text, stderr, why: reason } = await result(box, command);
  expect([outcome, Buffer.from(stderr).toString("utf8"), reason]).toEqual(["ok", "", undefined]);
  return text;
}

/** Waits until a command has said something. */
async function said(execution: ReturnType<Sandbox["exec"]>, word: string): Promise<void> {
  for await (const event of execution)
    if (event.type === "output" && Buffer.from(event.bytes).toString("utf8").includes(word)) return;
  throw new Error(`it ended without saying ${word}`);
}
