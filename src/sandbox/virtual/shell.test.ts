import { join } from "node:path";
import { defineCommand } from "just-bash";
import { describe, expect, it, vi } from "vitest";
import { openStore } from "../../store/index.js";
import { folder } from "../../store/testing/folder.js";
import { Trees } from "../trees.js";
import { said, virtual } from "./testing/counted.js";

describe("the shell", () => {
  it("[V10] says what to install when just-bash is missing, and opens nothing", async () => {
    vi.resetModules();
    vi.doMock("just-bash", () => {
      throw Object.assign(new Error("Cannot find package 'just-bash'"), { code: "ERR_MODULE_NOT_FOUND" });
    });
    try {
      const { virtualSandbox } = await import("./provider.js");
      const provider = virtualSandbox();
      for (const attempt of [
        () => provider.capabilities(),
        () => provider.create({}, { id: "a", incarnation: 1, tree: null, trees: new Trees({} as never) }),
      ])
        await expect(attempt()).rejects.toMatchObject({
          code: "sandbox-unavailable",
          hint: "npm install just-bash",
          data: { provider: "virtual" },
        });
    } finally {
      vi.doUnmock("just-bash");
      vi.resetModules();
    }
  });

  it("[V11] has the commands that it is given, beside its own, and they see the same files", async () => {
    const shout = defineCommand("shout", async (args, { fs, cwd }) => {
      const words = await fs.readFile(fs.resolvePath(cwd, args[0] ?? ""));
      await fs.writeFile(fs.resolvePath(cwd, "shouted"), "yes");
      return { stdout: words.toUpperCase(), stderr: "", exitCode: 0 };
    });
    const { open } = virtual({ commands: [shout] });
    const sandbox = await open();
    await sandbox.files.write("a.txt", "hello\n");
    expect(await said(sandbox, "shout a.txt | tr -d L; cat shouted; which shout")).toBe(
      "HEO\nyes/usr/bin/shout\n",
    );
    expect(await said(sandbox, ["shout", "a.txt"])).toBe("HELLO\n");
  });

  it("[V12] ends loops and recursion that go on forever, and the sandbox goes on", async () => {
    const { open } = virtual();
    const sandbox = await open();
    for (const command of [
      "while true; do :; done",
      "f() { f; }; f",
      "bomb() { bomb | bomb & }; bomb; awk 'BEGIN { while (1) i++ }'",
    ]) {
      const { outcome, code } = await sandbox.exec(command, { wall: 50_000 }).result;
      expect([command, outcome, code === 0]).toEqual([command, "error", false]);
    }
    expect(await said(sandbox, "echo on")).toBe("on\n");
  });

  it.each([
    ["a loop of the shell", "while :; do for i in 1 2 3 4; do x=$((x + i)); done; a+=(x x x x); done"],
    ["commands in commands", "while true; do echo $(echo $(date)); done"],
    [
      "loops of awk in each other",
      "awk 'BEGIN { for (;;) for (i = 0; i < 9000; i++) for (j = 0; j < 9000; j++) x++ }'",
    ],
    ["a loop of awk for each line", "seq 90000 | awk '{ for (i = 0; i < 90000; i++) x++ } END { print x }'"],
    ["a text of sed that grows", `echo a | sed ':a;s/^/${"x".repeat(1000)}/;ba'`],
    ["what comes after", "awk 'BEGIN { for (;;) for (i = 0; i < 9000; i++) x++ }'; echo on > later; true"],
  ])("[V22] ends in time what gives no timer a turn: %s", async (_, command) => {
    const { open } = virtual();
    const sandbox = await open();
    const { outcome, code, why } = await sandbox.exec(command, { wall: 300 }).result;
    expect([outcome, code, why]).toEqual(["timeout", null, "it took longer than 300 ms"]);
    expect(await sandbox.files.stat("later")).toBeUndefined();
    expect(await said(sandbox, "echo on | sed s/on/still/ | awk '{ print $1 }'")).toBe("still\n");
  });

  it("[V23] does not make lists and texts that fill the memory", async () => {
    const { open } = virtual();
    const sandbox = await open();
    // The shell cuts such a list without a word.
    expect(await said(sandbox, "for i in {1..100000000}; do :; done; echo $i")).toBe("10000\n");
    for (const command of [
      "echo {1..1000}{1..1000}{1..1000}",
      "seq 1 1000000000",
      "x=a; for i in {1..40}; do x=$x$x; done",
      "awk 'BEGIN { s = \"a\"; while (1) s = s s }'",
      "printf '%1000000000d' 1",
      "jq -n '[range(1e9)] | length'",
    ]) {
      const { outcome, code } = await sandbox.exec(command, { wall: 50_000 }).result;
      expect([command, outcome, code]).toEqual([command, "error", 126]);
    }
    expect(await said(sandbox, "echo on")).toBe("on\n");
  });

  it("[V13] gives text as UTF-8 and binary data as it is", async () => {
    const { open } = virtual();
    const sandbox = await open();
    const bytes = Uint8Array.from({ length: 256 }, (_, value) => 255 - value);
    await sandbox.files.write("bytes", bytes);
    for (const command of ["cat bytes", "cat bytes | cat", "cp bytes other; cat other", "cat bytes >&2"]) {
      const { stdout, stderr } = await sandbox.exec(command).result;
      expect(Buffer.concat([stdout, stderr]).equals(bytes)).toBe(true);
    }
    for (const words of ["é", "ÀÿÖ", "日本 🙂", "plain", "naïve €"]) {
      await sandbox.files.write("words", words);
      expect(await said(sandbox, "cat words")).toBe(words);
      expect(await said(sandbox, ["printf", "%s", words])).toBe(words);
    }
    // Where the shell's words end and bytes begin cannot be told in between: hence `exact: false`.
    expect(sandbox.capabilities.exact).toBe(false);
  });

  it("[V14] removes links, not what they lead to, also those that lead nowhere", async () => {
    const { open } = virtual();
    const sandbox = await open();
    await said(sandbox, "mkdir dir; echo a > dir/a; ln -s dir d; ln -s dir/a f; ln -s nowhere n; ln -s n m");
    expect(await said(sandbox, "rm d f; rm -f n -- m; echo $?; ls; cat dir/a")).toBe("0\ndir\na\n");
    expect(await said(sandbox, "ln -s dir d; rm d none; echo $?")).toBe(
      "1\nrm: cannot remove 'none': No such file or directory\n",
    );
    expect(await said(sandbox, "ln -s dir ./-x; rm -r -- -x dir; ls; rm; echo $?")).toBe(
      "1\nrm: missing operand\n",
    );
  });

  it("[V15] has a system around the workspace, which is not a part of it and not inherited", async () => {
    const { open } = virtual();
    const sandbox = await open();
    expect(
      await said(sandbox, "echo x > /tmp/a; echo y > /home/b; mkdir /data; cat /tmp/a; cp /tmp/a .; ls"),
    ).toBe("x\na\n");
    expect(await said(sandbox, "cat /tmp/a; ls -d /data; echo lost > /dev/null; cat /dev/null")).toBe(
      "x\n/data\n",
    );
    expect((await sandbox.snapshot()).files).toBe(1);
    const fork = await sandbox.fork({ id: "fork" });
    expect(await said(fork, "cat a; [ -e /tmp/a ] || echo fresh")).toBe("x\nfresh\n");
    expect(await said(sandbox, "rm -rf /workspace 2> /dev/null; ls -A; pwd; cat /tmp/a")).toBe(
      "/workspace\nx\n",
    );
    expect(await said(sandbox, "mv /workspace /gone; ls -d /workspace")).toContain("/workspace");
    expect((await sandbox.snapshot()).files).toBe(0);
  });

  it("[V16] loses nothing when commands write to the same file at the same time", async () => {
    const { open } = virtual();
    const sandbox = await open();
    const append = (who: string) =>
      sandbox.exec(`for i in $(seq 100); do echo ${who} $i >> log; done`).result;
    await Promise.all(["a", "b", "c"].map(append));
    const lines = Buffer.from(await sandbox.files.read("log"))
      .toString()
      .trimEnd()
      .split("\n");
    expect(lines.length).toBe(300);
    for (const who of ["a", "b", "c"])
      expect(lines.filter((line) => line.startsWith(who))).toEqual(
        Array.from({ length: 100 }, (_, place) => `${who} ${place + 1}`),
      );
  });

  it("[V17] lets a command that does not stop change nothing after its end", async () => {
    let late: Promise<unknown> | undefined;
    const stubborn = defineCommand("stubborn", async (_args, { fs }) => {
      const write = async () => {
        await new Promise((resolve) => setTimeout(resolve, 600));
        await fs.writeFile("/workspace/late", "late");
      };
      late = write().catch((error: unknown) => error);
      await late;
      return { stdout: "", stderr: "", exitCode: 0 };
    });
    const { open } = virtual({ commands: [stubborn] });
    const sandbox = await open();
    const { outcome } = await sandbox.exec("stubborn", { wall: 100 }).result;
    expect(outcome).toBe("timeout");
    expect(await late).toBeInstanceOf(Error);
    expect(await sandbox.files.list()).toEqual([]);
  });

  it("[V18] begins when its input is whole, and waits no longer than its time", async () => {
    const { open } = virtual();
    const sandbox = await open();
    const execution = sandbox.exec("cat > got; echo end", { stdin: "open" });
    await execution.write("one ");
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await sandbox.files.list()).toEqual([]);
    await execution.write("two");
    execution.end();
    expect((await execution.result).outcome).toBe("ok");
    expect(await said(sandbox, "cat got")).toBe("one two");
    const never = sandbox.exec("echo > began", { stdin: "open", wall: 100 });
    expect((await never.result).outcome).toBe("timeout");
    const killed = sandbox.exec("echo > began", { stdin: "open" });
    await killed.kill();
    expect((await killed.result).outcome).toBe("killed");
    expect(await sandbox.files.stat("began")).toBeUndefined();
  });

  it("[V19] refuses what only a system has", async () => {
    const { open } = virtual();
    for (const [spec, setting] of [
      [{ readable: ["/usr"] }, "readable"],
      [{ image: "debian" }, "image"],
      [{ limits: { memory: 1e9 } }, "limits.memory"],
      [{ network: { mode: "full" } }, "network"],
    ] as const)
      await expect(open(spec)).rejects.toMatchObject({ code: "sandbox-spec-refused", data: { setting } });
    await expect((await open()).renew(-1)).rejects.toMatchObject({ code: "sandbox-spec-refused" });
  });

  it.each(["memory", "sqlite"])(
    "[V20] reads from a %s: store while a command runs, and keeps there",
    async (scheme) => {
      const store = await openStore(scheme === "memory" ? "memory:" : `${scheme}:${join(folder(), "rath")}`);
      const { provider } = virtual();
      const options = { id: "one", incarnation: 1, tree: null, trees: new Trees(store) };
      const sandbox = await provider.create({}, options);
      await said(sandbox, "for i in $(seq 30); do mkdir -p d$i; echo $i > d$i/f; done");
      const { tree, files } = await sandbox.snapshot();
      expect(files).toBe(30);
      const other = await provider.create({}, { ...options, id: "two", tree, trees: new Trees(store) });
      expect(await said(other, "cat d*/f | sort -n | tail -1; grep -l 17 -r .")).toBe("30\nd17/f\n");
      expect((await other.snapshot()).tree).toBe(tree);
      await provider.close();
      await store.close();
    },
  );

  it("[V21] says the same each time: order, times and names do not depend on the machine", async () => {
    const runs = await Promise.all(
      [1, 2].map(async () => {
        const { open } = virtual({ now: () => Date.UTC(2026, 0, 2, 3, 4, 5) });
        const sandbox = await open();
        const out = await said(
          sandbox,
          "mkdir b a; echo x > a/z; echo y > a/y; ls -laR; env | sort; hostname; whoami; echo $$",
        );
        return [out, await sandbox.snapshot(), await sandbox.status()];
      }),
    );
    expect(runs[0]).toEqual(runs[1]);
    expect(String(runs[0]?.[0])).toContain("Jan  2");
  });
});
