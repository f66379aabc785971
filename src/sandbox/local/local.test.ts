import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Sandbox } from "../sandbox.js";
import { missing } from "./testing/bwrap.js";
import { Child } from "./testing/child.js";
import { folder } from "./testing/folder.js";
import { memoryTrees, open, provider, run } from "./testing/open.js";
import { traces, untilClean } from "./testing/traces.js";

const why = missing();
const title = (text: string) => `${text}${why === undefined ? "" : ` (skipped: ${why})`}`;

describe.skipIf(why !== undefined)(title("isolation of a local sandbox"), () => {
  it("[L2] shows nothing of the host's environment", async () => {
    process.env.OPENRATH_CANARY = "canary-7261";
    const box = await open({ env: { MINE: "mine" } });
    delete process.env.OPENRATH_CANARY;
    const { out } = await run(box, "env; cat /proc/*/environ | tr '\\0' '\\n'");
    expect(out).toContain("MINE=mine");
    expect(out).not.toContain("canary");
    const names = new Set(out.split("\n").map((line) => line.split("=")[0]));
    const expected = [
      "",
      "HOME",
      "LANG",
      "LOGNAME",
      "MINE",
      "OLDPWD",
      "PATH",
      "PWD",
      "SHELL",
      "SHLVL",
      "TMPDIR",
      "USER",
      "_",
    ];
    expect([...names].filter((name) => !expected.includes(name ?? ""))).toEqual([]);
  });

  it("[L3] has nothing of the host's files but its programs and what was named", async () => {
    const shared = folder();
    writeFileSync(join(shared, "data"), "readable");
    const secret = join(folder(), "secret");
    writeFileSync(secret, "secret", { mode: 0o644 });
    const box = await open({ readable: [shared] });
    expect((await run(box, ["cat", join(shared, "data")])).out).toBe("readable");
    expect(await run(box, ["cat", secret])).toMatchObject({ code: 1, out: "" });
    const { out } = await run(box, "ls /; ls -A /home /root /var /run; cat /etc/passwd; ls /sys");
    expect(out).not.toMatch(/boot|srv|mnt|opt\/.*|media/);
    expect(out).not.toMatch(/^\.(bash|profile|ssh|cache|config)/m);
    const writes = [
      `echo x > ${shared}/new`,
      "touch /usr/x",
      "touch /etc/x",
      "touch /x",
      "touch /dev/x",
      "touch /run/openrath/x",
      "rm /run/openrath/0.out",
      "echo 1 > /proc/sys/kernel/printk",
    ];
    for (const command of writes) expect((await run(box, command)).code, command).not.toBe(0);
    await expect(open({ readable: ["/"] })).rejects.toThrow("something else inside");
    await expect(open({ readable: ["/no/such/folder"] })).rejects.toThrow("is not there");
  });

  it("[L3] hides other sandboxes from one that may read the folder they are in", async () => {
    const above = folder();
    const from = provider(join(above, "state"));
    const secret = await open({}, { from });
    await secret.files.write("secret", "secret");
    writeFileSync(join(above, "data"), "data");
    const box = await open({ readable: [above] }, { from });
    expect((await run(box, ["cat", join(above, "data")])).out).toBe("data");
    const { out } = await run(box, `ls -R ${from.state} 2>&1`);
    expect(out).not.toContain("secret");
    await expect(open({ readable: [join(from.state, "live")] }, { from })).rejects.toThrow(
      "where sandboxes are kept",
    );
  });

  it("[L4] sees no process of the host, and has no powers and no descriptors", async () => {
    const box = await open();
    const { out } = await run(
      box,
      "ls -d /proc/[0-9]* | wc -l; grep -E '^(CapEff|CapPrm|CapBnd|CapInh|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status; ls /proc/self/fd; id -u; unshare -U true; echo $?",
    );
    const lines = out.trim().split("\n");
    expect(Number(lines[0])).toBeLessThan(8);
    expect(lines.filter((line) => line.startsWith("Cap")).every((line) => /\t0+$/.test(line))).toBe(true);
    expect(out).toMatch(/NoNewPrivs:\t1/);
    expect(lines.slice(-6)).toEqual(["0", "1", "2", "3", "1000", "1"]);
    const pid = process.pid;
    expect((await run(box, `kill -0 ${pid}`)).code).toBe(1);
  });

  it("[S11] the kernel's memory, locks and command line are not told in /proc", async () => {
    const box = await open();
    // Whatever only root may read on the host is empty too: a sandbox that root opened owns it.
    const { out } = await run(
      box,
      "find /proc -maxdepth 1 -type f ! -perm -044 -size -1 -exec sh -c 'head -c 8 $1 | grep -aq . && echo $1' - {} \\; 2>/dev/null; cat /proc/cmdline /proc/locks /proc/slabinfo /proc/kallsyms /proc/iomem /proc/interrupts 2>/dev/null; true",
    );
    expect(out).toBe("");
    expect((await run(box, "grep -c . /proc/meminfo /proc/stat /proc/cpuinfo")).code).toBe(0);
  });

  it("[L4] gets no descriptor that this process was started with", async () => {
    const held = join(folder(), "held");
    writeFileSync(held, "held");
    const leak = openSync(held, "r");
    const child = new Child(
      `import { localSandbox } from "@/sandbox/local/provider.js";
      const provider = localSandbox({ directory: process.argv[2] });
      const sandbox = await provider.create({}, { id: "one", incarnation: 1, tree: null, trees: undefined });
      const { stdout } = await sandbox.exec("readlink /proc/[0-9]*/fd/*; true").result;
      console.log(JSON.stringify(Buffer.from(stdout).toString("utf8")));
      await provider.close();`,
      [folder()],
      { leak },
    );
    closeSync(leak);
    const opened = (await child.next<string>()).trim().split("\n");
    expect(opened.length).toBeGreaterThan(6);
    const known = /^(\/dev\/null|(pipe|socket):\[\d+\]|\/run\/openrath\/\d+\.(out|err)|\/proc\/.*)$/;
    expect(opened.filter((what) => !known.test(what))).toEqual([]);
    expect(await child.ended()).toBe(0);
  });

  it("[L5] has no network but its own loopback", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    try {
      const box = await open();
      expect((await run(box, `exec 3<>/dev/tcp/127.0.0.1/${port}`)).code).not.toBe(0);
      expect((await run(box, "cat /proc/net/dev | tail -n +3 | cut -d: -f1")).out.trim()).toBe("lo");
      const all = await open({ network: { mode: "full" } });
      expect((await run(all, `exec 3<>/dev/tcp/127.0.0.1/${port}`)).code).toBe(0);
    } finally {
      server.close();
    }
  });

  it("[L5] reaches the hosts that it may, and no others", async () => {
    const server = createHttpServer((_request, response) => response.end("hello from outside")).listen(
      0,
      "127.0.0.1",
    );
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    try {
      const box = await open({ network: { mode: "allow", hosts: [`localhost:${port}`] } });
      const ask = (host: string) =>
        run(
          box,
          `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET http://${host}/ HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3`,
        );
      const reached = await ask(`localhost:${port}`);
      expect(reached.out).toContain("hello from outside");
      expect(reached.network).toEqual([{ host: "localhost", port, allowed: true }]);
      const refused = await ask("example.com");
      expect(refused.out).toContain("403");
      expect(refused.network).toEqual([{ host: "example.com", port: 80, allowed: false }]);
      expect((await run(box, "true")).network).toEqual([]);
      expect((await run(box, "echo $HTTP_PROXY")).out).toBe("http://127.0.0.1:3128\n");
      expect((await run(box, `exec 3<>/dev/tcp/127.0.0.1/${port}`)).code).not.toBe(0);
    } finally {
      server.close();
    }
  });

  it("[L6] has secrets in commands only, and refuses one without a value", async () => {
    const box = await open(
      { secrets: ["TOKEN"] },
      { secrets: { TOKEN: "secret-9153", OTHER: "other-7712" } },
    );
    expect((await run(box, "echo $TOKEN $OTHER")).out).toBe("secret-9153\n");
    expect(
      (await run(box, "cat /proc/1/environ /proc/2/environ /proc/1/cmdline | grep -c -a 9153")).out,
    ).toBe("0\n");
    expect(JSON.stringify(box.ref)).not.toContain("9153");
    for (const file of readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
      expect(readQuietly(`/proc/${file}/cmdline`)).not.toContain("secret-9153");
    await expect(open({ secrets: ["TOKEN"] })).rejects.toThrow("nobody gave a value for TOKEN");
  });
});

describe.skipIf(why !== undefined)(title("the life of a local sandbox"), () => {
  it("[L7] is the same for the same id and incarnation", async () => {
    const from = provider();
    const trees = memoryTrees();
    const options = { id: "same", incarnation: 1, tree: null, trees };
    const [one, other] = await Promise.all([from.create({}, options), from.create({}, options)]);
    expect(other).toBe(one);
    expect(await from.create({}, options)).toBe(one);
    const second = await from.create({}, { ...options, incarnation: 2 });
    expect(second).not.toBe(one);
    await one.files.write("mine", "x");
    expect(await second.files.stat("mine")).toBeUndefined();
    await one.destroy();
    const again = await from.create({}, options);
    expect(again).not.toBe(one);
    expect(await again.files.list()).toEqual([]);
  });

  it("[L8] shares its files with the outside, and follows no planted link", async () => {
    const box = await open();
    await box.files.write("a/b", "from outside");
    expect((await run(box, "cat a/b; printf inside > a/c; chmod 600 a/c")).out).toBe("from outside");
    expect(Buffer.from(await box.files.read("a/c")).toString()).toBe("inside");
    expect(await box.files.stat("a/c")).toMatchObject({ kind: "file", size: 6, mode: 0o600 });
    const secret = join(folder(), "secret");
    writeFileSync(secret, "secret");
    await run(box, `ln -s ${secret} file; ln -s ${join(secret, "..")} way`);
    await expect(box.files.read("file")).rejects.toThrow();
    await expect(box.files.read("way/secret")).rejects.toThrow();
    await expect(box.files.write("way/planted", "x")).rejects.toThrow();
    expect(existsSync(join(secret, "../planted"))).toBe(false);
    expect(readFileSync(secret, "utf8")).toBe("secret");
  });

  it("[L9] can be taken down as a tree and made that tree again", async () => {
    const box = await open();
    const outside = folder();
    writeFileSync(join(outside, "keep"), "keep");
    await run(
      box,
      "mkdir -p a/b empty; echo one > a/b/one; ln -s one a/b/link; printf '#!/bin/sh\\n' > run; chmod 755 run; touch $'odd\\nname' $'\\xff'",
    );
    const { tree, files, skipped } = await box.snapshot();
    expect({ files, skipped }).toEqual({ files: 5, skipped: [] });
    expect((await box.snapshot()).tree).toBe(tree);
    await run(box, `rm -r a; ln -s ${outside} a; echo more > more; chmod 644 run; rmdir empty`);
    expect((await box.snapshot()).tree).not.toBe(tree);
    await box.restore(tree);
    expect((await box.snapshot()).tree).toBe(tree);
    expect((await run(box, "cat a/b/link; test -x run && test -d empty && ls | wc -l")).out).toBe("one\n6\n");
    expect(readdirSync(outside)).toEqual(["keep"]);
    await box.restore(null);
    expect((await run(box, "ls -A | wc -l")).out).toBe("0\n");
  });

  for (const files of [20, 400])
    it(`[L10] forks a workspace of ${files} files`, async () => {
      const box = await open();
      await run(
        box,
        `mkdir -p d/e; for i in $(seq ${files}); do echo $i > d/f$i; done; ln -s f1 d/link; chmod 700 d/f2`,
      );
      const { tree } = await box.snapshot();
      const [one, other] = await Promise.all([box.fork({ id: "one" }), box.fork({ id: "other" })]);
      const layers = box.capabilities.fork === "cow" && files > 200;
      for (const fork of [one, other]) {
        expect((await run(fork, "grep -c ' overlay ' /proc/self/mountinfo")).out).toBe(
          layers ? "1\n" : "0\n",
        );
        expect(fork.ref.parent).toEqual({ id: box.ref.id, incarnation: 1, by: "fork" });
        expect((await fork.snapshot()).tree).toBe(tree);
      }
      const change =
        "rm d/f1; echo changed > d/f3; mkdir n; echo x > n/x; mv d/f5 d/g5; rm -r d/e; mkdir d/e; touch d/e/new; chmod 600 d/f6; ln -sf f7 d/link";
      expect(await run(one, change)).toMatchObject({ outcome: "ok", err: "" });
      expect((await other.snapshot()).tree).toBe(tree);
      expect((await box.snapshot()).tree).toBe(tree);
      // The same changes make the same tree, however the files are kept.
      await run(box, change);
      const changed = await one.snapshot();
      expect(changed.tree).toBe((await box.snapshot()).tree);
      expect(changed.tree).not.toBe(tree);
      await one.files.write("d/f9", "from outside");
      expect((await run(one, "cat d/f9")).out).toBe("from outside");
      expect((await run(other, "cat d/f9")).out).toBe("9\n");
      await one.restore(tree);
      expect((await one.snapshot()).tree).toBe(tree);
      const again = await one.fork({ id: "again" });
      expect((await again.snapshot()).tree).toBe(tree);
      await Promise.all([one, other, again, box].map((each) => each.destroy()));
    });

  it("[L11] stands still while it is suspended", async () => {
    const box = await open();
    const execution = box.exec("while :; do echo tick; sleep 0.02; done", { wall: 1500 });
    let ticks = 0;
    const looking = (async () => {
      for await (const event of execution) if (event.type === "output") ticks += 1;
    })();
    await expect.poll(() => ticks, { timeout: 20_000 }).toBeGreaterThan(2);
    await box.suspend();
    expect(await box.status()).toMatchObject({ phase: "suspended" });
    await wait(100);
    const then = ticks;
    await wait(1800);
    expect(ticks).toBe(then);
    expect(await run(box, "true")).toMatchObject({ outcome: "unstarted" });
    await box.files.write("while", "suspended");
    await box.resume();
    await expect.poll(() => ticks, { timeout: 20_000 }).toBeGreaterThan(then);
    expect(await execution.result).toMatchObject({ outcome: "timeout" });
    await looking;
    expect((await run(box, "cat while")).out).toBe("suspended");
    await box.suspend();
    await box.destroy();
  });

  it("[L12] expires as its spec says", async () => {
    const gone = await open({ ttl: 100 });
    const stopped = await open({ ttl: 100, onExpire: "suspend" });
    const kept = await open({ ttl: 100, onExpire: "retain" });
    const renewed = await open({ ttl: 100 });
    await renewed.renew(60_000);
    await expect.poll(async () => (await gone.status()).phase, { timeout: 20_000 }).toBe("finished");
    await expect.poll(async () => (await stopped.status()).phase, { timeout: 20_000 }).toBe("suspended");
    const expired = async (box: Sandbox) =>
      (await box.status()).conditions.find(({ type }) => type === "Expired")?.status;
    await expect.poll(() => expired(kept), { timeout: 20_000 }).toBe(true);
    expect(await expired(gone)).toBe(true);
    expect((await kept.status()).phase).toBe("running");
    expect((await run(kept, "true")).outcome).toBe("ok");
    expect(await expired(renewed)).toBeUndefined();
    expect((await renewed.status()).phase).toBe("running");
    await stopped.renew(60_000);
    await stopped.resume();
    expect(await expired(stopped)).toBe(false);
    expect((await run(stopped, "true")).outcome).toBe("ok");
  });

  it("[L13] leaves nothing when it is destroyed", async () => {
    const from = provider();
    const box = await open({}, { from });
    await run(
      box,
      "mkdir -p locked/deep; touch locked/deep/file; chmod 000 locked; for i in $(seq 300); do echo $i > f$i; done",
    );
    const fork = await box.fork({ id: "fork" });
    await run(fork, "rm f1; echo x > f2");
    const left = box.exec("setsid sleep 791 & (trap '' TERM HUP; sleep 792) & sleep 793", {
      background: true,
    });
    await expect.poll(async () => (await run(box, "pgrep -c sleep")).out, { timeout: 20_000 }).toBe("3\n");
    const groups = groupsOf(from.state);
    await Promise.all([box.destroy(), box.destroy(), fork.destroy()]);
    await box.destroy();
    expect(await left.result).toMatchObject({ outcome: "killed", why: "the sandbox was destroyed" });
    expect(sleeping()).toEqual([]);
    expect((await box.status()).phase).toBe("finished");
    expect(await run(box, "true")).toMatchObject({ outcome: "unstarted" });
    await from.close();
    expect(traces(from.state)).toEqual([]);
    expect(groups.filter((path) => existsSync(path))).toEqual([]);
    expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(from.state);
  });

  it("[L14] is lost when it is ended from outside", async () => {
    const from = provider();
    const box = await open({}, { from });
    const execution = box.exec("echo before; sleep 30");
    for await (const event of execution) if (event.type === "output") break;
    process.kill(Number(box.ref.native?.process), "SIGKILL");
    const result = await execution.result;
    expect(result).toMatchObject({ outcome: "lost", code: null });
    expect(Buffer.from(result.stdout).toString()).toBe("before\n");
    const { phase, conditions } = await box.status();
    expect(phase).toBe("lost");
    expect(conditions.find(({ type }) => type === "Ready")).toMatchObject({ status: false, reason: "Lost" });
    expect(await run(box, "true")).toMatchObject({ outcome: "unstarted", why: "the sandbox is lost" });
    await expect(from.connect(box.ref, { trees: memoryTrees() })).rejects.toThrow("is lost");
    await box.destroy();
    await expect(from.connect(box.ref, { trees: memoryTrees() })).rejects.toThrow("is lost");
  });

  it("[L14] still gives its files when it is lost", async () => {
    const box = await open();
    await run(box, "for i in $(seq 300); do echo $i > f$i; done");
    const fork = await box.fork({ id: "fork" });
    for (const each of [box, fork]) {
      await run(each, "echo last > words");
      process.kill(Number(each.ref.native?.process), "SIGKILL");
      await expect.poll(async () => (await each.status()).phase, { timeout: 20_000 }).toBe("lost");
      expect(Buffer.from(await each.files.read("words")).toString()).toBe("last\n");
      expect((await each.snapshot()).files).toBe(301);
    }
  });

  it("[L15] cannot be stopped or ended by what runs in it", async () => {
    const box = await open();
    expect(
      await run(box, "kill -9 1; kill -STOP 1; kill -TERM 1; kill -INT 1; sleep 0.1; echo on"),
    ).toMatchObject({ outcome: "ok", out: "on\n" });
    // Whatever it finds among the descriptors of others cannot be written to, or is its own.
    await run(
      box,
      'for fd in /proc/[0-9]*/fd/*; do (timeout 1 sh -c \'echo e 1 0 1 > "$1"\' - "$fd") 2>/dev/null; done',
    );
    expect(await run(box, "echo still")).toMatchObject({ out: "still\n" });
    expect(await run(box, "kill -STOP 2; sleep 30", { wall: 300 })).toMatchObject({ outcome: "timeout" });
    await expect.poll(async () => (await box.status()).phase, { timeout: 20_000 }).toBe("lost");
  });

  it("[L15] does not hang when what runs in it has stopped what runs commands", async () => {
    const box = await open();
    await run(box, "(setsid sh -c 'sleep 0.3; kill -STOP 2' >/dev/null 2>&1 &)");
    await wait(600);
    expect(await run(box, "echo never", { wall: 300 })).toMatchObject({ outcome: "timeout", out: "" });
    await expect.poll(async () => (await box.status()).phase, { timeout: 20_000 }).toBe("lost");
  });

  it("[L15] is lost when what runs in it ends a process of ours", async () => {
    const box = await open();
    expect(await run(box, "kill -9 2; sleep 30")).toMatchObject({ outcome: "lost" });
    const other = await open();
    expect(await run(other, "kill -9 -1; sleep 30")).toMatchObject({ outcome: "lost" });
    expect((await other.status()).phase).toBe("lost");
  });

  it("[L16] ends with a program that forgets it", async () => {
    const state = folder();
    const child = new Child(
      `import { localSandbox } from "@/sandbox/local/provider.js";
      const provider = localSandbox({ directory: process.argv[2] });
      const sandbox = await provider.create({ ttl: 1e6 }, { id: "one", incarnation: 1, tree: null, trees: undefined });
      await sandbox.exec("sleep 1000 & echo hello").result;
      console.log("1");`,
      [state],
    );
    await child.next();
    expect(await child.ended()).toBe(0);
    expect(await untilClean(state)).toEqual([]);
  });

  it("[L16] ends with a program that is killed, whatever it was doing", async () => {
    const state = folder();
    const child = new Child(
      `import { localSandbox } from "@/sandbox/local/provider.js";
      import { Trees } from "@/sandbox/trees.js";
      import { digestOf } from "@/session/index.js";
      const provider = localSandbox({ directory: process.argv[2] });
      const blobs = new Map();
      const trees = new Trees({
        putBlobs: async (all) => all.map((one) => (blobs.set(digestOf(one), one), digestOf(one))),
        blob: async (id) => blobs.get(id),
      });
      const options = { incarnation: 1, tree: null, trees };
      const sandbox = await provider.create({}, { ...options, id: "one" });
      await sandbox.exec("for i in $(seq 300); do echo $i > f$i; done; mkdir locked; touch locked/x; chmod 000 locked").result;
      const fork = await sandbox.fork({ id: "two" });
      await fork.exec("rm f1; setsid sleep 1000 & (trap '' TERM; sleep 1000) &").result;
      const still = await provider.create({}, { ...options, id: "three" });
      still.exec("sleep 1000");
      await still.exec("true").result;
      await still.suspend();
      sandbox.exec("while :; do :; done");
      console.log(JSON.stringify([sandbox, fork, still].map((one) => one.ref.native.process)));
      for (let turn = 0; ; turn++) void (await provider.create({}, { ...options, id: "more" + turn }).catch(() => {}));`,
      [state],
    );
    const firsts = await child.next<number[]>();
    const groups = groupsOf(state);
    await child.crash();
    expect(await untilClean(state)).toEqual([]);
    expect(firsts.filter((first) => readQuietly(`/proc/${first}/cmdline`).includes("openrath"))).toEqual([]);
    expect(groups.filter((path) => existsSync(path))).toEqual([]);
  });

  it("[L19] begins with nothing of the one before", async () => {
    const from = provider();
    const refs = async () => {
      const found: string[] = [];
      for await (const ref of from.list()) found.push(ref.id);
      return found;
    };
    const first = await open(
      { env: { MINE: "mine" }, secrets: ["TOKEN"] },
      { from, secrets: { TOKEN: "t-4417" } },
    );
    await run(first, "echo mine > file; echo mine > /tmp/file; (setsid sleep 100 &)");
    await wait(500);
    expect(readdirSync(join(from.state, "live")).length).toBeGreaterThan(1);
    expect(await refs()).toEqual([first.ref.id]);
    const second = await open({}, { from });
    const { out } = await run(second, "env; ls -A . /tmp ~; cat /proc/*/environ; ps -e -o args");
    expect(out).not.toMatch(/mine|t-4417|sleep 100|^file$/m);
    expect(second.ref.native?.namespaces).not.toEqual(first.ref.native?.namespaces);
    // One of another shape is not mistaken for it.
    const third = await open({ limits: { scratch: 16 * 1024 ** 2 } }, { from });
    expect((await run(third, "df -B1 --output=size /tmp | tail -1")).out.trim()).toBe(String(10 * 1024 ** 2));
    await from.close();
    expect(await untilClean(from.state)).toEqual([]);
  });

  it("[L17] lists what is there, connects to it, and closes", async () => {
    const from = provider();
    const [one, other] = await Promise.all([open({}, { from }), open({ env: { A: "b" } }, { from })]);
    const ids = async () => {
      const found: string[] = [];
      for await (const ref of from.list()) found.push(ref.id);
      return found.sort();
    };
    await expect.poll(ids, { timeout: 20_000 }).toEqual([one.ref.id, other.ref.id].sort());
    await other.suspend();
    expect(await from.connect(other.ref, { trees: memoryTrees() })).toBe(other);
    expect((await other.status()).phase).toBe("running");
    await from.close();
    expect((await one.status()).phase).toBe("finished");
    expect(await untilClean(from.state)).toEqual([]);
    expect(await ids()).toEqual([]);
  });
});

function groupsOf(state: string): readonly string[] {
  return readdirSync(join(state, "registry"))
    .filter((name) => name.endsWith(".json"))
    .flatMap(
      (name) =>
        (JSON.parse(readFileSync(join(state, "registry", name), "utf8")) as { cgroups: string[] }).cgroups,
    );
}

/** The processes of this machine that only the test above starts. */
function sleeping(): readonly string[] {
  return readdirSync("/proc").filter(
    (name) => /^\d+$/.test(name) && /^sleep\0(791|792|793)\0/.test(readQuietly(`/proc/${name}/cmdline`)),
  );
}

function readQuietly(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
