import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { approve, openRath } from "openrath";
import { describe, expect, it } from "vitest";
import { waitingOf, waitingText } from "../../src/cli/awaited.js";
import type { Shell } from "../../src/cli/shell.js";
import { ensureBuilt } from "../../src/store/testing/worker.js";
import { shownNext } from "../demo/command.js";
import { benchOf } from "./bench.js";

const root = new URL("../../", import.meta.url);

type Waiting = {
  readonly id: string;
  readonly kind: string;
  readonly session: string;
  readonly digest?: string;
  readonly commands: readonly string[];
};

describe.concurrent("a run that waits", { timeout: 180_000 }, () => {
  it("[X15] docs/demo.md shows a program and commands that run as they stand", async (context) => {
    const bench = benchOf(context);
    const page = readFileSync(new URL("../../docs/demo.md", import.meta.url), "utf8");
    const [, file = "", program = ""] = /^```js\n\/\/ (\S+)\n(.*?)^```/ms.exec(page) ?? [];
    writeFileSync(join(bench.folder, file), program);
    const commands = [...page.matchAll(/^rath \S+ order.*$/gm)].map(([line]) => line);
    const codes: (number | null)[] = [];
    for (const command of commands) codes.push((await bench.typed(command)).code);
    expect(codes).toEqual([4, 0, 0, 0]);
  });

  it("[X5] [X6] exits with 4, shows the commands that answer it, and goes on to its end by typing them", async (context) => {
    const bench = benchOf(context);
    const begun = await bench.rath("run", "claim.mjs", "--input", "money back", "--name", "claim-3");
    expect(begun.code).toBe(4);
    expect(begun.stdout).toMatch(/waits for the signal parcel[\s\S]*"order":7/);
    const answer = shownNext(begun.stdout)[0]?.replace("JSON", `'{"condition":"fine"}'`) ?? "";
    const answered = await bench.typed(answer);
    expect(answered).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/as user:?\S* .*--by user:ada/),
    });
    const asked = await bench.typed(shownNext(answered.stdout)[0] ?? "");
    expect(asked.code).toBe(4);
    expect(asked.stdout).toContain('{"tool":"refund","input":{"amount":130}}');
    const agreed = await bench.typed(shownNext(asked.stdout)[0] ?? "");
    expect(agreed.stdout).toMatch(/^approved claim-3/);
    const done = await bench.typed(shownNext(agreed.stdout)[0] ?? "");
    expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining("refunded 130") });
    expect((await bench.rath("pending")).stdout).toContain("Nothing waits");
  });

  it("[X5] pending shows all sessions of the store, whom they ask and until when", async (context) => {
    const bench = benchOf(context);
    await bench.rath("run", "claim.mjs#clerk", "--input", "a", "--name", "one");
    await bench.rath("run", "claim.mjs#boss", "--input", "b", "--name", "two");
    const { stdout } = await bench.rath("pending");
    expect(stdout).toMatch(/from {5}any person/);
    expect(stdout).toMatch(/from {5}user:boss/);
    expect(stdout).toMatch(/until {4}\d{4}-\d\d-\d\dT/);
    const all = await bench.json<Waiting[]>("pending");
    expect(all.map(({ session, kind }) => `${session} ${kind}`).sort()).toEqual([
      "one approval",
      "two approval",
    ]);
    for (const { digest, id } of all)
      expect([digest, id]).toEqual([
        expect.stringMatching(/^[0-9a-f]{64}$/),
        expect.stringMatching(/^[0-9a-f]{64}$/),
      ]);
    expect(await bench.json<Waiting[]>("pending", "one")).toHaveLength(1);
  });

  it("[X6] other arguments can be agreed to, and a no is told to the model", async (context) => {
    const bench = benchOf(context);
    await bench.rath("run", "claim.mjs#clerk", "--input", "a", "--name", "edited");
    await bench.rath("approve", "edited", "--edit", '{"amount":100}', "--by", "user:ada", "--why", "less");
    expect((await bench.rath("resume", "edited")).stdout).toContain("refunded 100");
    await bench.rath("run", "claim.mjs#clerk", "--input", "a", "--name", "refused");
    const said = await bench.rath("reject", "refused", "--by", "user:ada", "--why", "too much");
    expect(said.stdout).toMatch(/^rejected refused as user:ada\n/);
    expect((await bench.rath("resume", "refused")).stdout).toContain("not refunded");
  });

  it("[X25] shows all of what would be done, or says that it is cut", () => {
    const asIs = (text: string): string => text;
    const shell = {
      columns: 80,
      yellow: asIs,
      bold: asIs,
      green: asIs,
      id: asIs,
      typed: asIs,
    } as unknown as Shell;
    const told = (note: string): string => {
      const shown = { tool: "pay", input: { note, to: "eve@evil.example" } };
      const one = { id: "a".repeat(64), type: "approval-ask", what: "pay", shown, answered: false } as const;
      return waitingOf("bill", [one], "rath resume bill", "user:ada")
        .map((waiting) => waitingText(shell, waiting))
        .join();
    };
    expect(told("n".repeat(600))).toContain("eve@evil.example");
    expect(told("n".repeat(600))).not.toContain("cut");
    expect(told("n".repeat(9_000))).toContain("cut      it is longer; all of it: rath pending bill --json");
  });

  it("[X29] an answered run waits for a resume, by a command that works", async (context) => {
    const bench = benchOf(context);
    await bench.rath("run", "claim.mjs#boss", "--input", "b", "--name", "raise");
    expect((await bench.rath("list")).stdout).toMatch(/waiting\s+\w{12}\s+raise/);
    const agreed = await bench.rath("approve", "raise", "--by", "user:boss");
    expect(agreed.stdout).toMatch(/next: (npx )?rath resume raise/);
    expect(agreed.stdout).not.toContain("--with FILE");
    expect(await bench.json<object[]>("list")).toMatchObject([{ status: "waiting", answered: true }]);
    const listed = (await bench.rath("list")).stdout;
    expect(listed).toMatch(/answered\s+\w{12}\s+raise/);
    expect(listed).toMatch(/rath resume raise .*# its answer is there/);
    expect(await bench.json<object[]>("list", "--status", "answered")).toHaveLength(1);
    expect(await bench.json<object[]>("list", "--status", "unended")).toHaveLength(0);
    expect(await bench.json("show", "raise")).toMatchObject({ status: "waiting", answered: true });
    const shown = (await bench.rath("show", "raise")).stdout;
    expect(shown).toContain("it is answered, and goes on when it is resumed");
    expect(shown).toContain("(answered)");
    expect((await bench.rath("resume", "raise")).code).toBe(0);
  });

  it("[X31] of a program that node started, every command works as it is shown", async (context) => {
    await ensureBuilt();
    const bench = benchOf(context);
    mkdirSync(join(bench.folder, "node_modules"));
    symlinkSync(fileURLToPath(root), join(bench.folder, "node_modules", "openrath"), "dir");
    mkdirSync(join(bench.folder, "my src"));
    const file = join(bench.folder, "my src", "own.mjs");
    writeFileSync(
      file,
      `import { approve, openRath, statusOf } from "openrath";
      const rath = openRath();
      const session = await rath.turn(approve("own", { amount: 5 }, { from: "user:boss" }), "own", "Go.", { once: true });
      console.log(statusOf(session));
      await rath.close();`,
    );
    const run = (path: string) =>
      promisify(execFile)(process.execPath, [path], { cwd: bench.folder, env: bench.environment({}) });
    expect((await run(file)).stdout).toBe("waiting\n");
    const shown = (await bench.rath("pending", "own")).stdout;
    const [approval = ""] = /rath approve own .*/.exec(shown) ?? [];
    expect(approval).toContain("--by user:boss");
    const again = "node 'my src/own.mjs'   # starts its program again";
    const agreed = await bench.typed(approval);
    expect(agreed).toMatchObject({ code: 0, stdout: expect.stringContaining(`next: ${again}`) });
    for (const words of [["list"], ["show", "own"], ["pending", "own"]])
      expect((await bench.rath(...words)).stdout).toContain(again.slice(0, 21));
    expect((await bench.rath("resume", "own")).stderr).toContain(`hint: ${again}`);
    const [, path = ""] = /^node '(.*)'/.exec(again) ?? [];
    expect((await run(path)).stdout).toBe("finished\n");
    // To start it once more would begin something new: what is over is said to be, and replayed with its file.
    expect(await bench.rath("resume", "own")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^finished own/),
    });
    expect((await bench.rath("replay", "own")).stderr).toContain(
      "hint: npx rath replay own --with 'my src/own.mjs'",
    );
    // One that cannot be started again is not shown.
    rmSync(file);
    await bench.rath("fork", "own", "--name", "copy");
    expect((await bench.rath("doctor")).stdout).not.toContain("own.mjs");
  });

  it("[X30] of a program that was started by itself, the file is to be named", async (context) => {
    const bench = benchOf(context);
    mkdirSync(bench.home, { recursive: true });
    const rath = openRath({ store: `sqlite:${join(bench.home, "rath.db")}` });
    await rath.run(approve("own", { amount: 5 }), rath.start("Go."), { name: "own" });
    await rath.close();
    const agreed = await bench.rath("approve", "own", "--by", "user:boss");
    const command = "rath resume own --with FILE   # or start its program again";
    for (const words of [["list"], ["show", "own"], ["pending", "own"]])
      expect((await bench.rath(...words)).stdout).toContain(command.slice(0, 27));
    expect(agreed.stdout).toContain(command);
    writeFileSync(
      join(bench.folder, "own.mjs"),
      'import { approve } from "openrath"; export default approve("own", { amount: 5 });',
    );
    expect((await bench.rath("resume", "own", "--with", "own.mjs")).code).toBe(0);
  });

  it("[X24] an approval is taken back by the command that pending shows", async (context) => {
    const bench = benchOf(context);
    await bench.rath("run", "claim.mjs#boss", "--input", "b", "--name", "raise");
    expect((await bench.rath("approve", "raise", "--by", "user:boss")).code).toBe(0);
    const [answered] = await bench.json<Waiting[]>("pending", "raise");
    const command = answered?.commands.find((one) => one.startsWith("npx rath revoke raise --id ")) ?? "";
    expect(await bench.typed(command)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no unused"),
    });
    const given = command.split(" ").slice(2, 6);
    expect((await bench.rath(...given, "--by", "user:boss", "--why", "wrong account")).code).toBe(0);
    await bench.rath("resume", "raise");
    const gives = (await bench.json<{ fact: { type: string; decision?: string } }[]>("log", "raise"))
      .map(({ fact }) => fact)
      .filter(({ type }) => type === "approval-give");
    expect(gives.map(({ decision }) => decision).sort()).toEqual(["approve", "reject"]);
  });

  it("[X6] what is not awaited, not theirs, ambiguous, or not what was shown is refused", async (context) => {
    const bench = benchOf(context);
    await bench.rath("run", "claim.mjs#both", "--input", "a", "--name", "both");
    const several = await bench.rath("approve", "both");
    expect(several).toMatchObject({ code: 1, stderr: expect.stringMatching(/2 requests wait/) });
    const [first, second] = await bench.json<Waiting[]>("pending", "both");
    const wrong = await bench.rath(
      "approve",
      "both",
      "--id",
      first?.id.slice(0, 10) ?? "",
      "--digest",
      (second?.digest ?? "").slice(0, 16),
    );
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("not what was shown") });
    expect((await bench.rath("answer", "both", "--text", "yes")).code).toBe(1);
    expect((await bench.json<Waiting[]>("pending", "both")).length).toBe(2);
    for (const one of [first, second]) expect((await bench.typed(one?.commands[0] ?? "")).code).toBe(0);
    const twice = await bench.rath("approve", "both", "--id", first?.id.slice(0, 10) ?? "");
    expect(twice).toMatchObject({ code: 1, stderr: expect.stringContaining("answered already") });
    expect((await bench.rath("resume", "both")).stdout).toContain("both agreed");
    await bench.rath("run", "claim.mjs#boss", "--input", "b", "--name", "raise");
    expect(await bench.rath("approve", "raise", "--by", "user:me")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("user:boss"),
    });
    expect((await bench.rath("approve", "raise", "--by", "user:boss")).code).toBe(0);
    expect((await bench.rath("resume", "raise")).code).toBe(0);
    expect(await bench.rath("approve", "raise")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("does not wait"),
    });
  });

  it("[X6] a question of a model is answered in words", async (context) => {
    const bench = benchOf(context);
    const asked = await bench.rath("run", "ask.mjs", "--input", "Buy paint.", "--name", "paint");
    expect(asked).toMatchObject({ code: 4, stdout: expect.stringContaining("Which colour?") });
    const [command = ""] = shownNext(asked.stdout);
    expect(command).toContain("rath answer paint");
    expect((await bench.typed(command.replace("…", "The blue one."))).code).toBe(0);
    expect((await bench.rath("resume", "paint")).stdout).toContain("You want blue");
  });

  it("[X6] nothing new can be run on what waits", async (context) => {
    const bench = benchOf(context);
    await bench.rath("run", "claim.mjs", "--input", "a", "--name", "waits");
    const { code, stderr } = await bench.rath("run", "poem.mjs", "--on", "waits");
    expect({ code, hint: stderr.includes("rath pending waits") }).toEqual({ code: 1, hint: true });
  });
});
