import { createHash, randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import type { Execution, Sandbox } from "../sandbox.js";
import { missing } from "./testing/bwrap.js";
import { open, run, shown } from "./testing/open.js";

const why = missing();

describe.skipIf(why !== undefined)(
  `commands in a local sandbox${why === undefined ? "" : ` (skipped: ${why})`}`,
  () => {
    let box: Sandbox;
    beforeAll(async () => {
      box = await open();
    });

    it("[E1] runs a text with bash and a list without", async () => {
      expect(await run(box, "echo $((1+1)) > two; cat two | tr 2 3")).toMatchObject({
        outcome: "ok",
        code: 0,
        out: "3\n",
      });
      expect(await run(box, ["echo", "$((1+1))", "a b", "'"])).toMatchObject({
        out: "$((1+1)) a b '\n",
        err: "",
      });
    });

    it("[E1] tells exact codes, and a signal from a code that looks like one", async () => {
      for (const code of [1, 2, 125, 126, 127, 128, 130, 137, 255])
        expect(await run(box, ["sh", "-c", `exit ${code}`])).toMatchObject(
          // Bash keeps silent about these two signals, so a code that looks like one is taken for it.
          code === 130 ? { outcome: "error" } : { outcome: "error", code },
        );
      for (const signal of ["SIGKILL", "SIGSEGV", "SIGABRT", "SIGHUP", "SIGTERM", "SIGINT"])
        expect(await run(box, ["sh", "-c", `kill -${signal.slice(3)} $$`])).toMatchObject({
          code: null,
          signal,
          outcome: "error",
        });
    });

    it("[E2] keeps every byte, of both kinds apart", async () => {
      const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      await box.files.write("all", all);
      const { stdout, stderr } = await box.exec("cat all; cat all all >&2").result;
      expect(Buffer.from(stdout)).toEqual(all);
      expect(Buffer.from(stderr)).toEqual(Buffer.concat([all, all]));
      expect(await run(box, "printf 'no newline'")).toMatchObject({ out: "no newline" });
    });

    it("[E2] passes ten megabytes on unchanged", async () => {
      const bytes = randomBytes(10 * 1024 ** 2);
      await box.files.write("large", bytes);
      const { stdout, cut } = await box.exec(["cat", "large"]).result;
      expect(cut).toBe(0);
      expect(createHash("sha256").update(stdout).digest("hex")).toBe(
        createHash("sha256").update(bytes).digest("hex"),
      );
    });

    it("[E3] runs a hundred at once, each with its own output and code", async () => {
      const results = await Promise.all(
        Array.from({ length: 100 }, (_, place) =>
          run(box, `echo out ${place}; echo err ${place} >&2; exit $((${place} % 50))`),
        ),
      );
      results.forEach((result, place) => {
        expect(result).toMatchObject({ code: place % 50, out: `out ${place}\n`, err: `err ${place}\n` });
      });
    });

    it("[E4] keeps the beginning of too much output and counts the rest", async () => {
      const result = await box.exec("head -c 3000000 /dev/zero; head -c 1000000 /dev/zero >&2", {
        output: 100_000,
      }).result;
      expect(result.stdout.length + result.stderr.length).toBe(100_000);
      expect(result.cut).toBe(3_900_000);
      expect(await run(box, "echo abcdef", { output: 3 })).toMatchObject({ out: "abc", cut: 4 });
      expect(await run(box, "echo abcdef", { output: 0 })).toMatchObject({ out: "", cut: 7 });
    });

    it("[E4] outlives a command that writes without end", async () => {
      const { cut, outcome, stdout } = await box.exec("yes", { wall: 500, output: 1000 }).result;
      expect({ outcome, kept: stdout.length }).toEqual({ outcome: "timeout", kept: 1000 });
      expect(cut).toBeGreaterThan(100_000);
    });

    it("[E5] ends a command when its time is over, and keeps what it wrote", async () => {
      expect(await run(box, "echo begun; sleep 30", { wall: 300 })).toMatchObject({
        outcome: "timeout",
        code: null,
        signal: "SIGKILL",
        out: "begun\n",
      });
    });

    it("[E5] ends its processes too, also those in groups and sessions of their own", async () => {
      await run(box, "timeout 77 sleep 777 & setsid sleep 778 & (set -m; sleep 779 & wait) & sleep 780", {
        wall: 500,
      });
      const count = async () => (await run(box, "ps -eo args | grep -c '[s]leep 7'")).out;
      await expect.poll(count, { timeout: 10_000 }).toBe("0\n");
    });

    it("[E6] is ended by a kill", async () => {
      const execution = box.exec("echo ready; sleep 30");
      await output(execution, "ready");
      await execution.kill();
      expect(shown(await execution.result)).toMatchObject({
        outcome: "killed",
        signal: "SIGKILL",
        out: "ready\n",
      });
    });

    it("[E6] handles a signal if it can", async () => {
      const execution = box.exec(
        "trap 'echo got it' USR1; echo ready; for i in 1 2 3; do sleep 0.2; done; exit 5",
      );
      await output(execution, "ready");
      await execution.kill("SIGUSR1");
      expect(shown(await execution.result)).toMatchObject({
        outcome: "error",
        code: 5,
        out: "ready\ngot it\n",
      });
      const other = box.exec(["sleep", "30"]);
      await started(other);
      await other.kill("SIGTERM");
      expect(await other.result).toMatchObject({ outcome: "killed", signal: "SIGTERM", code: null });
    });

    it("[E6] is ended by an abort, and does not begin after one", async () => {
      const abort = new AbortController();
      const execution = box.exec("echo ready; sleep 30", { signal: abort.signal });
      await output(execution, "ready");
      abort.abort();
      expect(await execution.result).toMatchObject({ outcome: "killed", why: "it was aborted" });
      const late = box.exec("touch began", { signal: abort.signal });
      expect(await late.result).toMatchObject({ outcome: "unstarted" });
      expect(await box.files.stat("began")).toBeUndefined();
    });

    it("[E6] is ended by a kill that comes before it began", async () => {
      const execution = box.exec("sleep 30");
      await execution.kill();
      expect(await execution.result).toMatchObject({ outcome: "killed" });
    });

    it("[E7] reads what it was given, and then the end", async () => {
      expect(await run(box, "cat", { stdin: "given" })).toMatchObject({ outcome: "ok", out: "given" });
      expect(await run(box, "cat", { stdin: "" })).toMatchObject({ outcome: "ok", out: "" });
      expect(await run(box, "cat")).toMatchObject({ outcome: "ok", out: "" });
      const bytes = randomBytes(3_000_000);
      const { stdout } = await box.exec("sha256sum | cut -d' ' -f1", { stdin: bytes }).result;
      expect(Buffer.from(stdout).toString().trim()).toBe(createHash("sha256").update(bytes).digest("hex"));
    });

    it("[E7] reads what is written while it runs", async () => {
      const execution = box.exec('while read -r line; do echo "<$line>"; done; echo over', { stdin: "open" });
      await execution.write("one\n");
      await output(execution, "<one>");
      await execution.write("two\n");
      await output(execution, "<two>");
      execution.end();
      expect(shown(await execution.result)).toMatchObject({ outcome: "ok", out: "<one>\n<two>\nover\n" });
    });

    it("[E7] is written to as fast as it reads, and never hangs the writer", async () => {
      const slow = box.exec("sleep 0.3; wc -c", { stdin: "open" });
      await slow.write(Buffer.alloc(1_000_000));
      slow.end();
      expect(shown(await slow.result).out.trim()).toBe("1000000");
      const deaf = box.exec("exec 0<&-; exit 3", { stdin: "open" });
      await deaf.write(Buffer.alloc(1_000_000));
      await deaf.write("more");
      expect(await deaf.result).toMatchObject({ code: 3 });
      await deaf.write("after the end");
    });

    it("[E8] has the variables and the directory that were asked for", async () => {
      const odd = {
        PLAIN: "a",
        "odd.name-1": "b c",
        QUOTES: 'it\'s "$HOME" `x` \\ \n end',
        EMPTY: "",
        IFS: "x",
        LC_ALL: "C",
        ÜMLAUT: "é",
      };
      const { out } = await run(box, ["env", "-0"], { env: odd });
      const found = new Map(
        out.split("\0").map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
      );
      for (const [name, value] of Object.entries(odd)) expect(found.get(name)).toBe(value);
      expect((await run(box, ["env", "-0"])).out).not.toContain("PLAIN");
      await box.files.make("some where/$(touch x)");
      expect((await run(box, "pwd", { directory: "some where/$(touch x)" })).out).toBe(
        "/workspace/some where/$(touch x)\n",
      );
      expect((await run(box, "pwd", { directory: "/tmp" })).out).toBe("/tmp\n");
      expect((await run(box, "pwd")).out).toBe("/workspace\n");
    });

    it("[E8] does not begin where there is no directory or no program", async () => {
      expect(await run(box, "touch began", { directory: "nowhere" })).toMatchObject({
        outcome: "unstarted",
        code: null,
        why: "there is no directory nowhere",
      });
      expect(await run(box, "touch began", { directory: "../.." })).toMatchObject({ outcome: "unstarted" });
      expect(await run(box, ["no-such-program"])).toMatchObject({
        outcome: "unstarted",
        why: "there is no program no-such-program",
      });
      expect(await run(box, ["./all"])).toMatchObject({ outcome: "unstarted" });
      expect(await run(box, ["ls"], { env: { PATH: "/nowhere" } })).toMatchObject({ outcome: "unstarted" });
      expect(await run(box, "no-such-program")).toMatchObject({ outcome: "error", code: 127 });
      expect(await box.files.stat("began")).toBeUndefined();
    });

    it("[E9] goes on in the background until it is killed", async () => {
      const execution = box.exec("echo up; sleep 60", { background: true, wall: 1 });
      await output(execution, "up");
      await wait(200);
      expect((await run(box, "pgrep -c sleep")).out).toBe("1\n");
      await execution.kill();
      expect(await execution.result).toMatchObject({ outcome: "killed" });
    });

    it("[E10] has a terminal of the size asked for", async (context) => {
      if (!box.capabilities.pty) context.skip("no `script` here to make a terminal with");
      const result = await run(
        box,
        "test -t 0 && test -t 1 && test -t 2 && stty size; echo err >&2; exit 4",
        { pty: { columns: 91, rows: 17 } },
      );
      expect(result).toMatchObject({ code: 4, out: "17 91\r\nerr\r\n", err: "" });
      const answer = box.exec(["bash", "-c", 'read -r -p "name? " name; echo "hello $name"'], {
        pty: {},
        stdin: "open",
      });
      await output(answer, "name? ");
      await answer.write("you\n");
      expect(shown(await answer.result).out).toContain("hello you");
      const stuck = box.exec("trap '' HUP; echo in; sleep 781", { pty: {}, wall: 500 });
      expect(await stuck.result).toMatchObject({ outcome: "timeout" });
      const count = async () => (await run(box, "ps -eo args | grep -c '[s]leep 781'")).out;
      await expect.poll(count, { timeout: 10_000 }).toBe("0\n");
    });

    it("[E11] is not held up by a process that it leaves behind", async () => {
      const result = await run(
        box,
        "(for i in 1 2 3 4 5 6; do sleep 0.1; echo tick; done; touch lived) & echo done",
      );
      expect(result.outcome).toBe("ok");
      expect(result.out).toMatch(/^done\n/);
      await expect.poll(() => box.files.stat("lived"), { timeout: 20_000 }).toBeDefined();
      // Pipes that were held by it are used again.
      for (let turn = 0; turn < 20; turn++) expect((await run(box, `echo ${turn}`)).out).toBe(`${turn}\n`);
    });

    it("[E12] never throws, whatever the command is", async () => {
      const odd: (string | string[])[] = [
        [],
        [""],
        "a\0b",
        ["echo", "a\0"],
        "\ud800",
        ["echo", "\udfff"],
        `: ${"x".repeat(200_000)}`,
      ];
      for (const command of odd) {
        const result = await run(box, command);
        expect(result).toMatchObject({ outcome: "unstarted", code: null });
        expect(result.why).toBeTruthy();
      }
      expect(await run(box, "echo", { env: { "A=B": "c" } })).toMatchObject({ outcome: "unstarted" });
      expect((await run(box, `echo ${"x".repeat(100_000)} | wc -c`)).out).toBe("100001\n");
      expect((await run(box, "true")).outcome).toBe("ok");
    });
  },
);

async function started(execution: Execution): Promise<void> {
  for await (const event of execution) if (event.type === "start") return;
}

/** Waits until a text was written. */
async function output(execution: Execution, text: string): Promise<void> {
  let seen = "";
  for await (const event of execution) {
    if (event.type === "output") seen += Buffer.from(event.bytes).toString("utf8");
    if (seen.includes(text)) return;
  }
  throw new Error(`it ended without ${text}: ${seen}`);
}
