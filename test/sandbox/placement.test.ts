import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  agent,
  type FactOf,
  type Module,
  mergeFiles,
  openRath,
  type Rath,
  type Session,
  scripted,
  sequence,
  step,
  tool,
  workflow,
} from "openrath";
import { dockerSandbox, type Sandbox, SandboxLostError, virtualSandbox, whoChanged } from "openrath/sandbox";
import type { FactType } from "openrath/session";
import { moduleTool, sandboxTools } from "openrath/tool";
import { suspendSandbox } from "openrath/workflow";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const bwrap = spawnSync("bwrap", ["--ro-bind", "/", "/", "true"]).status === 0;
let folder: string;
let rath: Rath;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "openrath-placement-"));
  rath = openRath({ store: `sqlite:${join(folder, "rath.db")}`, secrets: { TOKEN: "s3cr3t-value" } });
});
afterEach(async () => {
  await rath.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A step that runs a command in the sandbox of the session. */
const sh = (name: string, command: string): Module =>
  step(
    name,
    async (_input, { sandbox }) => {
      const result = await (await sandbox()).exec(command).result;
      return { code: result.code, out: Buffer.from(result.stdout).toString() };
    },
    { effect: "write" },
  );
const withBox = (name: string, act: (sandbox: Sandbox) => Promise<unknown>): Module =>
  step(name, async (_input, { sandbox }) => (await act(await sandbox())) ?? null, { effect: "write" });
const start = (spec?: object): Session => rath.start("work").to("virtual", (spec ?? {}) as never);
const factsOf = <Type extends FactType>(session: Session, type: Type): FactOf<Type>[] =>
  [...session.history()].flatMap(({ fact }) => (fact.type === type ? [fact as FactOf<Type>] : []));
const textAt = async (session: Session, path: string): Promise<string> =>
  (await rath.filesAt(session)).text(path);

/** The same thing, with some of its methods replaced. */
function instead<Thing extends object>(thing: Thing, methods: Partial<Thing>): Thing {
  return new Proxy(thing, {
    get(target, name) {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

describe("a placed session", () => {
  it("[P1] opens its sandbox when it is first used, and says so", async () => {
    writeFileSync(join(folder, "hello.txt"), "hello\n");
    const idle = await rath.run(
      workflow("idle", async (session) => session.say("nothing")),
      start(),
    );
    expect(factsOf(idle, "sandbox-open")).toEqual([]);
    const session = await rath.run(sh("look", "cat hello.txt"), start({ workspace: folder }));
    const types = [...session.history()].map(({ fact }) => fact.type);
    expect(types.slice(types.indexOf("step-call"))).toEqual([
      "step-call",
      "effect-start",
      "workspace-import",
      "sandbox-open",
      "command-run",
      "step-result",
      "sandbox-close",
      "run-end",
    ]);
    const [open] = factsOf(session, "sandbox-open");
    expect(open).toMatchObject({
      provider: "virtual",
      isolation: "virtual",
      incarnation: 1,
      spec: { workspace: folder },
      status: { phase: "running" },
      capabilities: { isolation: "virtual" },
    });
    expect(factsOf(session, "workspace-import")[0]).toMatchObject({ source: folder, after: open?.tree });
    expect(factsOf(session, "step-result")[0]?.value).toEqual({ code: 0, out: "hello\n" });
  });

  it("[P2] leaves tree before, tree after and paths of a call that changes files", async () => {
    const session = await rath.run(
      sequence([
        sh("write", "mkdir -p src && echo one > src/a.txt && echo two > b.txt"),
        sh("read", "cat src/a.txt"),
        sh("change", "echo more >> src/a.txt && rm b.txt"),
      ]),
      start(),
    );
    const changes = factsOf(session, "workspace-change");
    expect(changes.map(({ paths }) => paths)).toEqual([
      [
        { path: "b.txt", change: "add" },
        { path: "src/a.txt", change: "add" },
      ],
      [
        { path: "b.txt", change: "delete" },
        { path: "src/a.txt", change: "modify" },
      ],
    ]);
    expect(changes[0]?.before).toBeNull();
    expect(changes[1]?.before).toBe(changes[0]?.after);
    expect(session.files).toEqual({ tree: changes[1]?.after });
    expect(changes.map(({ by }) => by)).toEqual(["tool:write", "tool:change"]);
    expect((await whoChanged(session, "src/a.txt")).map(({ by }) => by)).toEqual([
      "tool:change",
      "tool:write",
    ]);
    expect(await (await rath.filesAt(session)).paths()).toEqual(["src/a.txt"]);
  });

  it("[P3] keeps the whole output of a command, and bytes that are not text", async () => {
    const session = await rath.run(
      sequence([sh("long", "seq 1 20000"), sh("bytes", "printf '\\xff\\x00a'"), sh("fails", "exit 3")]),
      start(),
    );
    const [long, bytes, fails] = factsOf(session, "command-run");
    expect(String(long?.stdout)).toMatch(/^1\n2\n[\s\S]*\n20000\n$/);
    expect(fails).toMatchObject({ outcome: "error", code: 3 });
    const [open] = factsOf(session, "sandbox-open");
    if (JSON.stringify(open?.capabilities).includes('"exact":true'))
      expect(bytes?.stdout).toEqual({ base64: Buffer.from([255, 0, 97]).toString("base64") });
  });

  it("[P4] forks its files with the session", async () => {
    const trunk = sh("base", "echo base > shared.txt");
    const flow = workflow("fork", async (session) => {
      const base = await trunk.forward(session);
      const [a, b] = await Promise.all([
        sh("a", "cat shared.txt; echo a >> shared.txt; ls").forward(base.fork("a")),
        sh("b", "cat shared.txt; echo b > only-b.txt; ls").forward(base.fork("b")),
      ]);
      return (a as Session).merge(b as Session, { adopt: "ours" });
    });
    const session = await rath.run(flow, start());
    const results = factsOf(session, "step-result").map(({ value }) => (value as { out: string }).out);
    expect(results).toEqual(expect.arrayContaining(["base\nshared.txt\n", "base\nonly-b.txt\nshared.txt\n"]));
    const opens = factsOf(session, "sandbox-open");
    expect(new Set(opens.map(({ sandbox }) => sandbox)).size).toBe(3);
    expect(opens.slice(1).map(({ parent }) => parent)).toEqual([
      { id: opens[0]?.sandbox, incarnation: 1, by: "fork" },
      { id: opens[0]?.sandbox, incarnation: 1, by: "fork" },
    ]);
    expect(await textAt(session, "shared.txt")).toBe("base\na\n");
    expect(await (await rath.filesAt(session)).has("only-b.txt")).toBe(false);
  });

  it("[P5] replays and verifies without a sandbox", async () => {
    const flow = sequence([sh("one", "echo 1 > a"), sh("two", "cat a; echo 2 > b")]);
    const session = await rath.run(flow, start(), { name: "flow" });
    let opened = 0;
    const elsewhere = openRath({
      store: await rath.store(),
      sandboxes: {
        virtual: () => {
          opened += 1;
          return virtualSandbox();
        },
      },
    });
    const replayed = await elsewhere.replay("flow", flow);
    expect(replayed.id).toBe(session.id);
    expect((await elsewhere.replay("flow", flow, { mode: "verify" })).id).toBe(session.id);
    expect(opened).toBe(0);
  });

  it("[P6] goes on after a crash with the files that were recorded", async () => {
    let crash = true;
    const flow = workflow("crashing", async (session) => {
      const first = await sh("one", "echo kept > a.txt").forward(session);
      const second = await step(
        "pause",
        () => {
          if (!crash) return "on";
          return new Promise(() => {}) as Promise<string>;
        },
        { effect: "read" },
      ).forward(first);
      return sh("two", "cat a.txt").forward(second);
    });
    const dying = openRath({ store: `sqlite:${join(folder, "rath.db")}` });
    const seen = new Promise<void>((resolve) => {
      dying.observe((event) => {
        if (event.kind === "fact" && event.session.fact.type === "step-result") resolve();
      });
    });
    void dying.run(flow, dying.start("work").to("virtual"), { name: "crashing" }).catch(() => {});
    await seen;
    await dying.close();
    crash = false;
    const session = await rath.resume("crashing", flow);
    expect(factsOf(session, "step-result").at(-1)?.value).toEqual({ code: 0, out: "kept\n" });
    const opens = factsOf(session, "sandbox-open");
    expect(opens.map(({ incarnation }) => incarnation)).toEqual([1, 2]);
    expect(opens[1]?.sandbox).toBe(opens[0]?.sandbox);
    expect(opens[1]?.parent).toMatchObject({ incarnation: 1, by: "retry" });
    expect(factsOf(session, "sandbox-lose")).toHaveLength(1);
    expect((await rath.replay("crashing", flow, { mode: "verify" })).id).toBe(session.id);
  });

  it("[P7] begins a repeated attempt with the files from before", async () => {
    let attempts = 0;
    const flaky = step(
      "flaky",
      async (_input, { sandbox }) => {
        const box = await sandbox();
        const { stdout } = await box.exec("ls; echo dirt > dirt.txt; echo x > x.txt").result;
        attempts += 1;
        if (attempts < 3) throw Object.assign(new Error("again"), { isRetryable: true });
        return Buffer.from(stdout).toString();
      },
      { effect: "write", retry: { attempts: 3, wait: 1 } },
    );
    const session = await rath.run(sequence([sh("first", "echo 1 > first.txt"), flaky]), start());
    expect(factsOf(session, "step-result").at(-1)?.value).toBe("first.txt\n");
    expect(factsOf(session, "effect-fail")).toHaveLength(2);
    expect(factsOf(session, "workspace-change")).toHaveLength(2);
    expect(factsOf(session, "command-run")).toHaveLength(4);
  });

  it("[P8] closes what a run opened", async () => {
    let live = 0;
    const provider = virtualSandbox();
    const own = openRath({ store: await rath.store(), sandboxes: { virtual: provider } });
    const session = await own.run(sh("one", "echo 1 > a"), own.start("x").to("virtual"));
    expect(factsOf(session, "sandbox-close")).toHaveLength(1);
    for await (const _ref of provider.list()) live += 1;
    expect(live).toBe(0);
    const again = await own.run(sh("two", "cat a"), session);
    expect(factsOf(again, "sandbox-open").map(({ incarnation }) => incarnation)).toEqual([1, 2]);
    expect(factsOf(again, "step-result").at(-1)?.value).toEqual({ code: 0, out: "1\n" });
  });

  it("[P9] moves its files along", async () => {
    const flow = workflow("move", async (session) => {
      const made = await sh("make", "mkdir d && echo moved > d/a.txt && chmod 755 d/a.txt").forward(session);
      return sh("there", "cat d/a.txt").forward(made.to("host"));
    });
    const session = await rath.run(flow, start());
    expect(factsOf(session, "step-result").at(-1)?.value).toEqual({ code: 0, out: "moved\n" });
    const [one, two] = factsOf(session, "sandbox-open");
    expect(two).toMatchObject({
      provider: "host",
      isolation: "none",
      parent: { id: one?.sandbox, incarnation: 1, by: "migrate" },
    });
    expect(two?.sandbox).not.toBe(one?.sandbox);
  });

  it("[P10] merges by itself what does not touch", async () => {
    const flow = workflow("merge", async (session) => {
      const base = await sh("base", "printf '1\\n2\\n3\\n4\\n5\\n' > lines.txt").forward(session);
      const [a, b] = await Promise.all([
        sh("a", "printf 'one\\n2\\n3\\n4\\n5\\n' > lines.txt; echo a > a.txt").forward(base.fork("a")),
        sh("b", "printf '1\\n2\\n3\\n4\\nfive\\n' > lines.txt; echo b > b.txt").forward(base.fork("b")),
      ]);
      return sh("after", "cat lines.txt a.txt b.txt").forward((a as Session).merge(b as Session));
    });
    const session = await rath.run(flow, start(), { name: "merge" });
    expect(factsOf(session, "step-result").at(-1)?.value).toEqual({
      code: 0,
      out: "one\n2\n3\n4\nfive\na\nb\n",
    });
    expect(factsOf(session, "workspace-merge")[0]?.conflicts).toEqual([]);
    expect((await rath.replay("merge", flow, { mode: "verify" })).id).toBe(session.id);
  });

  describe("conflicts", () => {
    const conflicting = (resolve: Parameters<typeof mergeFiles>[0]): Module =>
      workflow("conflict", async (session) => {
        const base = await sh("base", "echo base > a.txt; echo x > x.txt").forward(session);
        const [a, b] = await Promise.all([
          sh("a", "echo ours > a.txt").forward(base.fork("a")),
          sh("b", "echo theirs > a.txt; echo y > x.txt").forward(base.fork("b")),
        ]);
        return mergeFiles(resolve).forward((a as Session).merge(b as Session));
      });

    it("[P11] are an error that names the paths when nobody decides", async () => {
      await expect(rath.run(conflicting({}), start())).rejects.toThrow(/a\.txt/);
    });

    it("[P11] are decided by a side", async () => {
      const session = await rath.run(conflicting({ resolve: "theirs" }), start(), { name: "sides" });
      expect(await textAt(session, "a.txt")).toBe("theirs\n");
      expect(await textAt(session, "x.txt")).toBe("y\n");
      expect(factsOf(session, "workspace-merge")[0]?.conflicts).toMatchObject([
        { path: "a.txt", kind: "content" },
      ]);
      expect(factsOf(session, "workspace-resolve")[0]).toMatchObject({ choices: "theirs", by: "runtime" });
      const verified = await rath.replay("sides", conflicting({ resolve: "theirs" }), { mode: "verify" });
      expect(verified.id).toBe(session.id);
    });

    it("[P11] are decided by a person", async () => {
      const module = conflicting({ resolve: "ask" });
      const waiting = await rath.run(module, start(), { name: "person" });
      expect(waiting.pending.map(({ what }) => what)).toContain("merge-conflicts");
      const [asked] = await rath.pending("person");
      expect(asked?.shown).toMatchObject({ conflicts: [{ path: "a.txt" }] });
      await rath.signal("person", "merge-conflicts", { "a.txt": { text: "both\n" } }, "user:ada");
      const session = await rath.resume("person", module);
      expect(await textAt(session, "a.txt")).toBe("both\n");
      expect(factsOf(session, "workspace-resolve")[0]).toMatchObject({ by: "user:ada" });
    });

    it("[P11] are decided by a module, which must leave no marks", async () => {
      const session = await rath.run(conflicting({ resolve: sh("mend", "echo mended > a.txt") }), start());
      expect(await textAt(session, "a.txt")).toBe("mended\n");
      expect(factsOf(session, "workspace-resolve")[0]).toMatchObject({ by: "agent:mend" });
      await expect(rath.run(conflicting({ resolve: sh("idle", "true") }), start())).rejects.toThrow(
        /left the marks/,
      );
    });
  });

  it("[P12] has files that can be read, compared and put into a folder, whichever session it is", async () => {
    const first = await rath.run(sh("one", "mkdir d; echo 1 > d/a.txt"), start());
    const second = await rath.run(sh("two", "echo 2 > d/a.txt; echo b > b.txt"), first);
    const [before, after] = [await rath.filesAt(first), await rath.filesAt(second)];
    expect(await before.text("d/a.txt")).toBe("1\n");
    expect(await after.changesSince(first)).toEqual([
      { path: "b.txt", change: "add" },
      { path: "d/a.txt", change: "modify" },
    ]);
    expect(await after.patchSince(first)).toContain("-1\n+2\n");
    await before.checkout(join(folder, "out"));
    expect(readFileSync(join(folder, "out", "d", "a.txt"), "utf8")).toBe("1\n");
    expect(await (await rath.filesAt(rath.start("nothing"))).paths()).toEqual([]);
  });

  it("[P13] says what is missing when it cannot be placed", async () => {
    const failing = async (session: Session): Promise<unknown> =>
      rath.run(sh("x", "true"), session).catch((error: Error) => error.message);
    expect(await failing(rath.start("nowhere"))).toMatch(/session\.to\("local"\)/);
    expect(await failing(rath.start("x").to("virtuel"))).toMatch(/did you mean "virtual"/);
    expect(await failing(rath.start("x").to("virtual", { limitz: {} }))).toMatch(/limits/);
    expect(await failing(rath.start("x").to("virtual", { workspace: join(folder, "none") }))).toMatch(/none/);
  });

  it("[P14] gets back the files that a module changed as a tool", async () => {
    const write = tool({
      name: "write",
      description: "Writes a file.",
      input: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
      effect: "write",
      conflicts: ["workspace"],
      run: async (input, { sandbox }) => {
        const { path } = input as { path: string };
        await (await sandbox()).files.write(path, `${path}\n`);
        return "written";
      },
    });
    const child = agent({
      name: "child",
      model: scripted({ tool: "write", input: { path: "child.txt" } }, "done"),
      tools: [write],
    });
    const parent = agent({
      name: "parent",
      model: scripted(
        { tool: "write", input: { path: "parent.txt" } },
        { tool: "child", input: { task: "go" } },
        "all done",
      ),
      tools: [write, moduleTool(child, { description: "Does it." })],
    });
    const session = await rath.run(parent, start(), { name: "nested" });
    expect(await (await rath.filesAt(session)).paths()).toEqual(["child.txt", "parent.txt"]);
    expect(factsOf(session, "workspace-merge")).toHaveLength(1);
    expect((await rath.replay("nested", parent, { mode: "verify" })).id).toBe(session.id);
  });

  it("[P15] takes over in a what-if what was done to the same files, and does the rest again", async () => {
    const ran: string[] = [];
    const counted = (name: string, command: string): Module =>
      withBox(name, async (box) => {
        ran.push(name);
        return Buffer.from((await box.exec(command).result).stdout).toString();
      });
    const flow = (text: string): Module =>
      workflow("flow", async (session) => {
        const one = await counted("one", "echo 1 > a.txt").forward(session.say(text));
        const two = await counted(text === "first" ? "two" : "other", "echo 2 > b.txt").forward(one);
        return counted("three", "cat a.txt b.txt; echo 3 >> b.txt").forward(two);
      });
    await rath.run(flow("first"), start(), { name: "original" });
    expect(ran.splice(0)).toEqual(["one", "two", "three"]);
    const session = await rath.replay("original", flow("second"), { mode: "what-if", name: "changed" });
    // The first is the same effect on the same files; after another one in between, the files of the third are the same again.
    expect(ran.splice(0)).toEqual(["other"]);
    expect(await textAt(session, "b.txt")).toBe("2\n3\n");
    expect(await textAt(session, "a.txt")).toBe("1\n");
  });

  it("[P16] keeps secrets off the record", async () => {
    const session = await rath.run(
      sh("use", 'echo "$TOKEN" | tr a-z A-Z; echo "it is $TOKEN"'),
      start({ secrets: ["TOKEN"] }),
      {
        name: "secret",
      },
    );
    expect(factsOf(session, "step-result")[0]?.value).toEqual({
      code: 0,
      out: "S3CR3T-VALUE\nit is [secret TOKEN]\n",
    });
    let record = "";
    for await (const line of (await rath.store()).export("secret")) record += line;
    expect(record).not.toContain("s3cr3t-value");
    await expect(rath.run(sh("use", "true"), start({ secrets: ["OTHER"] }))).rejects.toThrow(/OTHER/);
  });

  it("[P17] lets calls of one reply use the workspace one after the other", async () => {
    const write = (conflicts: readonly string[]) =>
      tool({
        name: "write",
        description: "Writes.",
        input: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
        effect: "write",
        conflicts,
        run: async (input, { sandbox }) => {
          await (await sandbox()).files.write((input as { path: string }).path, "x");
          return "ok";
        },
      });
    const writer = (conflicts: readonly string[]) =>
      agent({
        name: "writer",
        model: scripted(
          { call: ["a", "b", "c"].map((path) => ({ tool: "write", input: { path } })) },
          "done",
        ),
        tools: [write(conflicts)],
      });
    const session = await rath.run(writer(["workspace"]), start());
    expect(factsOf(session, "workspace-change").map(({ paths }) => paths.map(({ path }) => path))).toEqual([
      ["a"],
      ["b"],
      ["c"],
    ]);
    const refused = await rath.run(writer([]), start());
    expect(factsOf(refused, "tool-failure")[0]?.error.message).toMatch(/conflicts: \["workspace"\]/);
  });

  it("[P18] keeps a suspended sandbox for the next run", async () => {
    const flow = sequence([sh("one", "echo 1 > a; echo tmp > /tmp/kept"), suspendSandbox()]);
    const session = await rath.run(flow, start());
    expect(factsOf(session, "sandbox-suspend")).toHaveLength(1);
    expect(factsOf(session, "sandbox-close")).toHaveLength(0);
    const next = await rath.run(sh("two", "cat /tmp/kept a"), session);
    expect(factsOf(next, "step-result").at(-1)?.value).toEqual({ code: 0, out: "tmp\n1\n" });
    expect(factsOf(next, "sandbox-resume")).toHaveLength(1);
    expect(factsOf(next, "sandbox-open")).toHaveLength(1);
  });

  it("[P19] keeps runs from the same session apart", async () => {
    const base = await rath.run(sh("base", "echo base > a"), start());
    const [a, b] = await Promise.all([
      rath.run(sh("a", "ls; echo a > only-a"), base),
      rath.run(sh("b", "ls; echo b > only-b"), base),
    ]);
    expect(factsOf(a, "step-result").at(-1)?.value).toEqual({ code: 0, out: "a\n" });
    expect(factsOf(b, "step-result").at(-1)?.value).toEqual({ code: 0, out: "a\n" });
    expect(await (await rath.filesAt(a)).paths()).toEqual(["a", "only-a"]);
    expect(await (await rath.filesAt(b)).paths()).toEqual(["a", "only-b"]);
  });

  it.skipIf(!bwrap)(
    `[P20] records a sandbox that goes away, and repeats the call where that is safe${bwrap ? "" : " (skipped: bubblewrap is missing)"}`,
    async () => {
      let deaths = 0;
      const dying = (safe: boolean): Module =>
        step(
          "dying",
          async (_input, { sandbox }) => {
            const box = await sandbox();
            const running = box.exec("ls; echo dirt > dirt.txt; sleep 1; echo alive");
            if (deaths === 0) {
              deaths += 1;
              await new Promise((resolve) => setTimeout(resolve, 200));
              process.kill(Number(box.ref.native?.process), "SIGKILL");
            }
            const { outcome, stdout, why } = await running.result;
            if (outcome === "lost") throw new SandboxLostError(box.ref.id, why ?? "it went away");
            return Buffer.from(stdout).toString();
          },
          { effect: "write", ...(safe && { reconcile: async () => "again" as const }) },
        );
      const safe = sequence([sh("first", "echo 1 > first.txt"), dying(true)]);
      const session = await rath.run(safe, rath.start("x").to("local"), { name: "safe" });
      expect(factsOf(session, "step-result").at(-1)?.value).toBe("first.txt\nalive\n");
      expect(factsOf(session, "sandbox-lose")).toHaveLength(1);
      expect(factsOf(session, "effect-doubt")).toHaveLength(1);
      expect(factsOf(session, "sandbox-open").map(({ incarnation }) => incarnation)).toEqual([1, 2]);
      expect((await rath.replay("safe", safe, { mode: "verify" })).id).toBe(session.id);
      deaths = 0;
      const doubtful = await rath.run(dying(false), rath.start("x").to("local"), { name: "doubtful" });
      expect(doubtful.pending).toMatchObject([{ what: "dying", doubt: true }]);
    },
  );

  it.skipIf(!bwrap)(
    `[P24] opens one sandbox for each attempt, and runs a command that ends its sandbox twice at most${bwrap ? "" : " (skipped: bubblewrap is missing)"}`,
    async () => {
      const worker = agent({
        name: "worker",
        model: scripted(
          { tool: "shell", input: { command: "echo 1 > first.txt" } },
          { tool: "shell", input: { command: "kill -9 -1" } },
          { tool: "shell", input: { command: "ls" } },
          "done",
        ),
        tools: sandboxTools(),
      });
      const session = await rath.run(worker, rath.start("x").to("local"), { name: "killer" });
      const commands = factsOf(session, "command-run");
      expect(commands.map(({ command, outcome, incarnation }) => [command, outcome, incarnation])).toEqual([
        ["echo 1 > first.txt", "ok", 1],
        ["kill -9 -1", "lost", 1],
        ["kill -9 -1", "lost", 2],
        ["ls", "ok", 3],
      ]);
      expect(factsOf(session, "sandbox-open").map(({ incarnation }) => incarnation)).toEqual([1, 2, 3]);
      expect(factsOf(session, "sandbox-lose").map(({ incarnation }) => incarnation)).toEqual([1, 2]);
      expect(factsOf(session, "tool-failure")).toMatchObject([{ error: { code: "sandbox-lost" } }]);
      expect(factsOf(session, "tool-result").at(-1)?.output).toContain("first.txt");
      expect((await rath.replay("killer", worker, { mode: "verify" })).id).toBe(session.id);
    },
  );

  it("[P14] keeps the files of modules that run side by side, and beside other calls", async () => {
    const write = tool({
      name: "write",
      description: "Writes a file after a while.",
      input: {
        type: "object",
        properties: { path: { type: "string" }, wait: { type: "number" } },
        required: ["path"],
      },
      effect: "write",
      conflicts: ["workspace"],
      run: async (input, { sandbox }) => {
        const { path, wait = 0 } = input as { path: string; wait?: number };
        const box = await sandbox();
        await new Promise((resolve) => setTimeout(resolve, wait));
        await box.files.write(path, path);
        return "written";
      },
    });
    const child = (name: string) =>
      moduleTool(
        agent({
          name,
          model: scripted({ tool: "write", input: { path: `${name}.txt` } }, "done"),
          tools: [write],
        }),
        { description: "Does it." },
      );
    const parent = agent({
      name: "parent",
      model: scripted(
        {
          call: [
            { tool: "one", input: { task: "go" } },
            { tool: "two", input: { task: "go" } },
            { tool: "write", input: { path: "own.txt", wait: 100 } },
            { tool: "three", input: { task: "go" } },
          ],
        },
        "all done",
      ),
      tools: [write, child("one"), child("two"), child("three")],
    });
    const session = await rath.run(parent, start(), { name: "side by side" });
    expect(await (await rath.filesAt(session)).paths()).toEqual([
      "one.txt",
      "own.txt",
      "three.txt",
      "two.txt",
    ]);
    expect((await rath.replay("side by side", parent, { mode: "verify" })).id).toBe(session.id);
  });

  it("[P15] reads again in a what-if what may be something else now", async () => {
    const flow = (text: string): Module =>
      sequence([sh(`write ${text}`, `echo ${text} > a.txt`), sh("read", "cat a.txt")]);
    await rath.run(flow("one"), start(), { name: "read" });
    const session = await rath.replay("read", flow("two"), { mode: "what-if" });
    expect(factsOf(session, "step-result").at(-1)?.value).toEqual({ code: 0, out: "two\n" });
  });

  it("[P25] stops where the sandbox is not available, and goes on where it is", async () => {
    const store = await rath.store();
    let replies = 0;
    const coder = agent({
      name: "coder",
      model: scripted(() => {
        replies += 1;
        return { tool: "write", input: { path: "a.txt", text: "42" } };
      }, "Done."),
      tools: sandboxTools(),
    });
    const without = openRath({
      store,
      sandboxes: { box: dockerSandbox({ socket: join(folder, "none.sock") }) },
    });
    const session = without.start("Write it.").to("box");
    await expect(without.run(coder, session, { name: "w" })).rejects.toMatchObject({
      code: "sandbox-unavailable",
      data: { provider: "docker" },
    });
    await without.close();
    const here = openRath({ store, sandboxes: { box: virtualSandbox() } });
    const done = await here.resume("w", coder);
    expect(done.text).toBe("Done.");
    expect(replies).toBe(1);
    expect(factsOf(done, "tool-failure")).toEqual([]);
    expect(await (await here.filesAt(done)).text("a.txt")).toBe("42");
    await here.close();
  });

  it("[P21] does not call a success what could not be kept", async () => {
    let fail = true;
    const provider = virtualSandbox();
    const frail = instead(provider, {
      create: async (...given: Parameters<typeof provider.create>) => {
        const box = await provider.create(...given);
        return instead(box, {
          snapshot: async () => {
            if (!fail) return box.snapshot();
            fail = false;
            throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
          },
        });
      },
    });
    const own = openRath({ store: await rath.store(), sandboxes: { virtual: frail } });
    const doubtful = await own.run(sh("one", "echo 1 > a"), own.start("x").to("virtual"), { name: "frail" });
    expect(doubtful.pending).toMatchObject([{ what: "one", doubt: true }]);
    expect(factsOf(doubtful, "step-result")).toEqual([]);
  });

  it.skipIf(!bwrap)(
    `[P23] fails a call whose files are too large to be kept${bwrap ? "" : " (skipped: bubblewrap is missing)"}`,
    async () => {
      const large = sh("large", "truncate -s 30M hole; echo $?");
      const flow = workflow("grow", async (session) => {
        const first = await sh("first", "echo 1 > a.txt").forward(session);
        const failed = await large.forward(first).catch((error: { session: Session }) => error.session);
        return sh("after", "ls").forward(failed);
      });
      const placed = rath.start("x").to("local", { limits: { disk: 20 * 1024 ** 2 } });
      const session = await rath.run(flow, placed, { name: "large" });
      expect(factsOf(session, "step-failure")).toMatchObject([{ error: { code: "snapshot-too-large" } }]);
      expect(factsOf(session, "effect-doubt")).toEqual([]);
      expect(factsOf(session, "command-run")).toHaveLength(3);
      expect(factsOf(session, "step-result").at(-1)?.value).toEqual({ code: 0, out: "a.txt\n" });
      expect((await rath.replay("large", flow, { mode: "verify" })).id).toBe(session.id);
    },
  );

  it("[P22] keeps a call that was given up out of the sandbox", async () => {
    let late: Promise<unknown> = Promise.resolve();
    const ghost = step(
      "ghost",
      async (_input, { sandbox }) => {
        const box = await sandbox();
        late = new Promise((resolve) => setTimeout(resolve, 300)).then(() =>
          box.files.write("ghost.txt", "boo"),
        );
        late.catch(() => {});
        await late;
      },
      { effect: "read", timeout: 100 },
    );
    const flow = workflow("haunted", async (session) => {
      const given = await ghost.forward(session).catch((error: { session: Session }) => error.session);
      return sh("after", "sleep 0.5; ls").forward(given);
    });
    const session = await rath.run(flow, start());
    await expect(late).rejects.toThrow(/the call is over/);
    expect(factsOf(session, "step-result").at(-1)?.value).toEqual({ code: 0, out: "" });
  });
});
