import { exec } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { approve, openRath, Session, workflow } from "openrath";
import { openStore } from "openrath/store";
import { beforeAll, describe, expect, it } from "vitest";
import { groups } from "../../src/cli/commands.js";
import { plain } from "../../src/cli/text.js";
import { homeOf } from "../../src/store/index.js";
import { smallDisk } from "../../src/store/testing/folder.js";
import { program, spawned, surroundings } from "./call.js";
import { commandIn, scratch, twoBranches } from "./rath.js";

const folder = scratch();
const rath = commandIn(folder);
const entries = groups.flatMap((group) => group.entries);

beforeAll(async () => {
  await twoBranches(folder);
});

describe("the command line", () => {
  it("[C1] every command is listed, and has help with examples that name what there is", async () => {
    const { stdout, code } = await rath("help");
    expect(code).toBe(0);
    const names = new Set(entries.map(({ name }) => name));
    for (const command of "demo run list show log diff fork merge replay verify resume pending approve reject answer export import dossier why memory files cost erase gc doctor completion".split(
      " ",
    ))
      expect(names, command).toContain(command);
    for (const { name, hidden, examples, summary } of entries) {
      if (hidden) continue;
      expect(stdout, name).toMatch(new RegExp(`^  ${name}\\b`, "m"));
      expect(summary, name).not.toMatch(/\.$/);
      expect(examples.length, name).toBeGreaterThan(0);
      for (const example of examples.filter((line) => line.startsWith("rath "))) {
        const other = entries.find((entry) => entry.name === example.split(/\s+/)[1]);
        expect(other, example).toBeDefined();
        const known = [
          ...(other?.options ?? []).flatMap(({ flags }) => flags.match(/--?[a-z-]+/g) ?? []),
          ...["--json", "-q", "--quiet", "--store", "--help"],
        ];
        const words = example.replace(/ #.*$/, "").replaceAll(/'[^']*'|"[^"]*"/g, "x");
        for (const flag of words.match(/(?<=\s)--?[a-z][a-z-]*/g) ?? [])
          expect(known, example).toContain(flag);
      }
    }
    const one = await rath("fork", "--help");
    expect(one.stdout).toContain("--at <step>");
    expect(one.stdout).toContain("Examples:");
    expect((await rath("help", "fork")).stdout).toBe(one.stdout);
    expect((await rath("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("[C2] a wrong command line exits with 2 and says what was probably meant", async () => {
    expect(await rath("shwo")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("did you mean show?"),
    });
    expect(await rath("list", "--jason")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("did you mean --json?"),
    });
    expect(await rath("show")).toMatchObject({ code: 2, stderr: expect.stringContaining("SESSION") });
    expect(await rath("list", "--status", "done")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("finished"),
    });
    expect(await rath("show", "a", "b")).toMatchObject({ code: 2 });
    const told = await rath("shwo", "--json");
    expect(told).toMatchObject({ code: 2, stderr: "" });
    expect(JSON.parse(told.stdout)).toMatchObject({
      error: { code: "usage", hint: expect.stringContaining("show") },
    });
  });

  it("[C3] an error exits with 1, with a code and a hint", async () => {
    const told = await rath("show", "nobody", "--json");
    expect(told).toMatchObject({ code: 1, stderr: "" });
    expect(JSON.parse(told.stdout)).toMatchObject({ error: { code: "not-found", hint: expect.any(String) } });
    const broken = join(folder, "broken");
    mkdirSync(broken);
    writeFileSync(join(broken, "rath.db"), "this is no database, but it is long enough to be looked at");
    const odd = await commandIn(folder, { RATH_HOME: broken })("list");
    expect(odd).toMatchObject({ code: 1, stdout: "" });
    expect(odd.stderr).toContain("hint:");
    expect(odd.stderr).not.toContain("    at ");
    const file = join(folder, "file");
    writeFileSync(file, "");
    for (const words of [
      ["export", "answer", "-o", folder],
      ["export", "answer", "-o", join(folder, "no", "such", "place")],
      ["files", "answer", "--to", file],
      ["import", folder],
      ["report", "-o", join(folder, "no", "such", "place")],
    ]) {
      const refused = await rath(...words);
      expect(refused, words.join(" ")).toMatchObject({ code: 1, stderr: expect.stringContaining("hint:") });
      expect(refused.stderr, words.join(" ")).not.toContain("    at ");
    }
    expect(await commandIn(folder, { RATH_HOME: join(file, "x") })("list")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("rath:"),
    });
  });

  it("[C17] a hint is a command to type, where the library has a call", async () => {
    const full = join(folder, "full");
    mkdirSync(full);
    writeFileSync(join(full, "a.txt"), "");
    const refused = await rath("files", "answer", "--to", full);
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("rath files answer --to OTHER"),
    });
    const store = await openStore(`sqlite:${join(folder, "home", "rath.db")}`);
    const rathOver = openRath({ store });
    const module = workflow("w", (session) => approve("sure", {}).forward(session));
    const session = await rathOver.run(module, rathOver.start("go", { by: "user:ada" }), { name: "ask-1" });
    await rathOver.close();
    await store.close();
    expect(session.fact.type).toBe("run-suspend");
    const other = await rath("withdraw", "ask-1", "--by", "user:bob");
    expect(other.stderr).toContain("rath reject ask-1");
    expect((await rath("approve", "ask-1", "--by", "user:ada")).code).toBe(0);
    const again = await rath("approve", "ask-1", "--by", "user:ada");
    expect(again.stderr).toContain("rath resume ask-1");
    for (const { stderr } of [refused, other, again]) expect(stderr).not.toMatch(/hint:.*\w\(/);
  });

  it("[C4] without a terminal there is no control sequence and no progress; NO_COLOR wins", async () => {
    for (const words of [
      ["list"],
      ["log", "answer"],
      ["show", "answer"],
      ["diff", "answer@small", "answer@bold"],
      ["doctor"],
    ]) {
      const { stdout, stderr } = await rath(...words);
      expect(stderr).toBe("");
      expect(stdout).not.toContain("\u001b");
    }
    expect((await commandIn(folder, { FORCE_COLOR: "1" })("log", "answer")).stdout).toContain("\u001b[");
    expect(
      (await commandIn(folder, { FORCE_COLOR: "1", NO_COLOR: "1" })("log", "answer")).stdout,
    ).not.toContain("\u001b[");
  });

  it("[C5] --json is one document, on every command that shows something", async () => {
    const lines = [
      ["list"],
      ["show", "answer"],
      ["show", "answer", "--fact"],
      ["log", "answer"],
      ["diff", "answer@small", "answer@bold"],
      ["fork", "answer", "--name", "fifth"],
      ["merge", "answer", "fifth", "--name", "sixth"],
      ["files", "answer"],
      ["cost"],
      ["memory"],
      ["gc", "--dry-run"],
      ["doctor"],
      ["export", "answer", "-o", join(folder, "out.jsonl")],
      ["import", join(folder, "out.jsonl"), "--name", "back"],
      ["import", "--list"],
      ["export", "--list"],
      ["pending"],
      ["verify", "answer"],
      ["why", "answer"],
    ];
    for (const words of lines) {
      const { stdout, stderr, code } = await rath(...words, "--json");
      expect({ code, stderr }, words.join(" ")).toEqual({ code: 0, stderr: "" });
      expect(() => JSON.parse(stdout), words.join(" ")).not.toThrow();
      expect(stdout.trimEnd().split("\n"), words.join(" ")).toHaveLength(1);
    }
  });

  it("[C6] a reader that has seen enough is no error", async () => {
    const { code, stderr } = await new Promise<{ code: number; stderr: string }>((done) => {
      exec(
        `set -o pipefail; "${process.execPath}" "${program}" log answer --all | head -n 1`,
        { cwd: folder, shell: "/bin/bash", env: { ...process.env, RATH_HOME: join(folder, "home") } },
        (error, _stdout, text) => done({ code: error?.code ?? 0, stderr: text }),
      );
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  it("[C7] the store is where it was said, or beside the nearest package or git root", async () => {
    const project = join(folder, "project");
    mkdirSync(join(project, "deep", "er"), { recursive: true });
    writeFileSync(join(project, "package.json"), "{}");
    expect(homeOf({}, join(project, "deep", "er"))).toBe(join(project, ".rath"));
    mkdirSync(join(project, "deep", ".git"));
    expect(homeOf({}, join(project, "deep", "er"))).toBe(join(project, "deep", ".rath"));
    mkdirSync(join(project, "deep", "er", ".rath"));
    expect(homeOf({}, join(project, "deep", "er"))).toBe(join(project, "deep", "er", ".rath"));
    expect(homeOf({ RATH_HOME: "x" }, "/somewhere")).toBe("/somewhere/x");
    mkdirSync(join(project, "deep", ".rath"));
    mkdirSync(join(project, "deep", "er", "package"));
    writeFileSync(join(project, "deep", "er", "package", "package.json"), "{}");
    expect(homeOf({}, join(project, "deep", "er", "package"))).toBe(join(project, "deep", "er", ".rath"));
    mkdirSync(join(project, ".rath"));
    mkdirSync(join(project, "other", ".git"), { recursive: true });
    expect(homeOf({}, join(project, "other"))).toBe(join(project, "other", ".rath"));
    expect(homeOf({}, dirname("/"))).toBe("/.rath");
    const other = join(folder, "other.db");
    const store = await openStore(`sqlite:${other}`);
    await store.save(Session.start("elsewhere"), { name: "elsewhere" });
    await store.close();
    for (const said of [
      await rath("list", "--store", `sqlite:${other}`, "--json"),
      await commandIn(folder, { RATH_STORE: `sqlite:${other}` })("list", "--json"),
    ])
      expect(JSON.parse(said.stdout)).toMatchObject([{ name: "elsewhere" }]);
    cpSync(join(folder, "home"), join(project, ".rath"), { recursive: true });
    const { RATH_HOME: _, ...env } = surroundings;
    const found = await spawned(["list", "--json"], { cwd: project, env });
    expect(JSON.parse(found.stdout).map(({ name }: { name: string }) => name)).toContain("answer");
    const RATH_HOME = join(folder, "made", "here");
    await spawned(["import", join(folder, "none.jsonl")], { cwd: project, env: { ...env, RATH_HOME } });
    expect(readFileSync(join(RATH_HOME, ".gitignore"), "utf8")).toBe("*\n");
  });

  it("[C11] [C12] commands that only read make no store, and finding nothing is not a success", async () => {
    const empty = join(folder, "empty");
    mkdirSync(empty);
    const home = join(empty, "home");
    const here = commandIn(empty);
    expect(await here("list", "--json")).toMatchObject({ code: 0, stdout: "[]\n" });
    const place = `there is no store at sqlite:${join(home, "rath.db")}`;
    expect((await here("list")).stdout).toContain(place.slice(1));
    for (const command of ["show", "log", "replay"]) {
      const { code, stderr } = await here(command, "answer");
      expect([code, stderr]).toEqual([1, expect.stringContaining(place)]);
      expect(stderr).toContain("rath list --store sqlite:FILE");
    }
    const missing = await here("verify");
    expect(missing).toMatchObject({ code: 3 });
    expect(missing.stdout).toContain(`sqlite:${join(home, "rath.db")}`);
    expect((await here("list", "--store", "sqlite:typo.db")).stdout).toContain(
      "There is no store at sqlite:typo.db",
    );
    expect((await here("verify", "nosuch.jsonl")).stderr).toContain(
      "Cannot read nosuch.jsonl: there is no such file",
    );
    expect(existsSync(home)).toBe(false);
    mkdirSync(home);
    await (await openStore(`sqlite:${join(home, "rath.db")}`)).close();
    const nothing = await here("verify", "--json");
    expect(nothing.code).toBe(3);
    expect(JSON.parse(nothing.stdout)).toMatchObject({
      store: `sqlite:${join(home, "rath.db")}`,
      intact: false,
      facts: 0,
      findings: [{ problem: "the store has no facts" }],
    });
    const full = await rath("verify");
    expect(full).toMatchObject({ code: 0 });
    expect(full.stdout).toContain(`in sqlite:${join(folder, "home", "rath.db")}`);
  });

  it("[C13] a store that may not be written can be listed, shown and verified", async (context) => {
    const disk = smallDisk(20_000);
    if (disk === undefined) return context.skip("this user may not mount a small disk");
    cpSync(join(folder, "home"), join(disk.path, "home"), { recursive: true });
    disk.remount("ro");
    const there = commandIn(folder, { RATH_HOME: join(disk.path, "home") });
    expect((await there("list", "--json")).stdout).toContain('"name":"answer"');
    expect(await there("show", "answer")).toMatchObject({ code: 0, stderr: "" });
    expect(await there("verify")).toMatchObject({ code: 0, stderr: "" });
    const forked = await there("fork", "answer", "--name", "other");
    expect(forked).toMatchObject({ code: 1 });
    expect(forked.stderr).toContain("read-only");
  });

  it("[C8] words of others cannot take over the terminal", async () => {
    const evil = "\u001b]0;owned\u0007\u001b[2J\u001b[31m\u202egnp.exe\u0000\u009b31m";
    expect(plain(evil)).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(plain("a\tb\nc")).toBe("a\tb\nc");
    const store = await openStore(`sqlite:${join(folder, "home", "rath.db")}`);
    const by = `user:${evil}` as const;
    const session = Session.start(evil, { by })
      .say(evil, { role: "assistant" })
      .append({ type: "tool-call", name: evil, input: { [evil]: evil } })
      .fork(evil, { why: evil })
      .append({ type: "note", kind: evil, [evil]: evil, by })
      .append({ type: "note", kind: "program", file: evil, export: evil, digest: evil })
      .append({ type: "approval-ask", what: evil, digest: "0".repeat(64), to: [by], why: evil })
      .append({ type: "validation-report", name: evil, passed: false, detail: evil });
    await store.save(session, { name: "evil" });
    await store.close();
    for (const words of [
      ["log", "evil"],
      ["show", "evil"],
      ["show", session.id],
      ["diff", "evil", "answer"],
      ["list"],
      ["cost", "evil"],
      ["fork", "evil", "--name", "evil-2"],
      ["diff", "evil-2", "evil"],
      ["report"],
      ["why", "evil"],
      ["why", "--by", "user"],
      ["pending", "evil"],
      ["verify", "evil"],
    ]) {
      const { stdout, stderr } = await rath(...words);
      expect(stdout + stderr, words.join(" ")).not.toMatch(/(?![\n\t])[\p{Cc}\u202e]/u);
    }
  });

  it("[C9] shells complete commands, options and names", async () => {
    for (const shell of ["bash", "zsh", "fish", "powershell"]) {
      const { stdout, code } = await rath("completion", shell);
      expect(code).toBe(0);
      expect(stdout).toContain("rath");
    }
    expect(await rath("completion", "csh")).toMatchObject({ code: 2 });
    expect((await rath("complete", "--", "ver")).stdout).toContain("verify");
    expect((await rath("complete", "--", "fork", "--")).stdout).toContain("--at");
    expect((await rath("complete", "--", "show", "ans")).stdout).toContain("answer");
  });
});
