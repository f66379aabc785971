import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { Session } from "openrath";
import { openStore } from "openrath/store";
import { beforeAll, describe, expect, it } from "vitest";
import { main } from "../../src/cli/main.js";
import { table } from "../../src/cli/text.js";
import { cut, pad, width } from "../../src/cli/width.js";
import { program, type Said, surroundings } from "./call.js";
import { commandIn, scratch, twoBranches } from "./rath.js";

const folder = scratch();
const rath = commandIn(folder);
const url = `sqlite:${join(folder, "home", "rath.db")}`;
const DAY = 86_400_000;
let answer: Session;

beforeAll(async () => {
  answer = await twoBranches(folder);
});

describe("rows", () => {
  it("[C15] columns are aligned by what characters take on a terminal, and cut with an ellipsis", () => {
    expect(["abc", "退款", "e\u0301", "🎉", "\u001b[31mred\u001b[39m", "한글", "ｆ"].map(width)).toEqual([
      3, 4, 1, 2, 3, 4, 2,
    ]);
    expect(pad("退", 4)).toBe("退  ");
    expect(cut("退款退款", 5)).toBe("退款…");
    expect(cut("退款退款", 4)).toBe("退…");
    expect(cut("\u001b[31mredder\u001b[39m", 4)).toBe("\u001b[31mred…\u001b[39m");
    expect(cut("as it is", 8)).toBe("as it is");
    expect(cut("nothing", 0)).toBe("");
    const rows = [
      ["\u001b[32mok\u001b[39m", "退款", "a long last cell that has to be cut"],
      ["failed", "x".repeat(60), "short"],
    ];
    const drawn = table(rows, 40).split("\n");
    for (const row of drawn) expect(width(row)).toBeLessThanOrEqual(40);
    expect(new Set(drawn.map((row) => width(row.slice(0, row.lastIndexOf("  ")))).values()).size).toBe(1);
    expect(table(rows)).toContain("x".repeat(60));
  });

  it("[C15] list, log, grep and watch fit 80 columns; --wide and a pipe have everything", async () => {
    const store = await openStore(url);
    const long = "a long name ".repeat(12).trim();
    const words = "退款 ".repeat(80);
    let session = Session.start(words, { by: "user:with-a-very-long-name-of-its-own" });
    for (let index = 0; index < 40; index++) session = session.fork(`side-${index}`).merge(session.say("x"));
    await store.save(session.say(words), { name: long });
    await store.close();
    for (const line of [["list"], ["log", long], ["log", "answer", "--all"], ["grep", "退款"]]) {
      const rows = (await onTerminal(80, ...line, "--quiet")).stdout.trimEnd().split("\n");
      for (const row of rows.filter((one) => !one.includes("left out:")))
        expect(width(row), row).toBeLessThanOrEqual(80);
      expect(rows.join("\n"), line.join(" ")).toContain("\u001b[");
    }
    expect((await onTerminal(80, "list", "--quiet")).stdout).not.toContain(long);
    expect((await onTerminal(80, "list", "--quiet", "--wide")).stdout).toContain(long);
    expect((await rath("list", "--quiet")).stdout).toContain(long);
    expect((await rath("log", long)).stdout).toContain(words.trim());
    expect((await rath("grep", "退款", long)).stdout).toContain(words.trim());
    await rath("gc", "--forget", long);
  });
});

describe("log, list and show", () => {
  it("[S11] log tells facts by time, actor and type, and with -p what each says and changed", async () => {
    const store = await openStore(url);
    const now = Date.now();
    const at = (days: number) => new Date(now - days * DAY).toISOString();
    const old = Session.start("first", { at: at(9), by: "user:ada" })
      .say("second", { at: at(3), by: "user:bo" })
      .say("third", { role: "assistant", at: at(0), by: "agent:coder" });
    await store.save(old, { name: "dated" });
    await store.close();
    const told = async (...words: readonly string[]): Promise<readonly string[]> =>
      json(await rath("log", "dated", ...words, "--json")).map(
        ({ fact }: { fact: { text?: string; content?: string } }) => fact.text ?? fact.content,
      );
    expect(await told("--since", "4d")).toEqual(["third", "second"]);
    expect(await told("--until", "4d")).toEqual(["first"]);
    expect(await told("--since", "200h", "--until", at(2).slice(0, 10))).toEqual(["second"]);
    expect(await told("--since", "today")).toEqual(["third"]);
    expect(await told("--until", "yesterday")).toEqual(["second", "first"]);
    expect(await told("--since", at(3))).toEqual(["third", "second"]);
    const weekday = new Intl.DateTimeFormat("en", { weekday: "long", timeZone: "UTC" }).format(now - 3 * DAY);
    expect(await told("--since", weekday.toLowerCase())).toEqual(["third", "second"]);
    expect(await told("--by", "user")).toEqual(["second", "first"]);
    expect(await told("--by", "user:bo")).toEqual(["second"]);
    expect(await told("--by", "user:b")).toEqual([]);
    expect(await told("--type", "message-say", "-n", "1")).toEqual(["third"]);
    expect(await told("--type", "note,message-say", "-n", "1")).toEqual(["third"]);
    for (const wrong of ["soon", "2026-05", "01/02/2026", ""])
      expect(await rath("log", "dated", "--since", wrong), wrong).toMatchObject({ code: 2 });
    const { stdout } = await rath("log", "answer@small", "-p");
    for (const words of ["    text: Answer in a file.", '"path": "answer.txt"', "Done.", "    +42\n"])
      expect(stdout).toContain(words);
    const rows = json(await rath("log", "answer", "--type", "workspace-change", "-p", "--json"));
    expect(rows.map(({ patch }: { patch: string }) => patch.includes("b/answer.txt"))).toEqual([true, true]);
  });

  it("[S12] list has the newest, and what changed since a time, with how many facts are new", async () => {
    const since = json(await rath("list", "--since", "1d", "--json"));
    expect(since.map(({ name, added }: { name: string; added: number }) => [name, added])).toEqual(
      expect.arrayContaining([
        ["dated", 1],
        ["answer", [...answer.history()].length],
      ]),
    );
    expect(since).toHaveLength(2);
    expect(json(await rath("list", "--since", "4d", "--json"))[0]).toHaveProperty("added");
    const [first] = json(await rath("list", "--json"));
    expect(json(await rath("list", "--limit", "1", "--json"))).toEqual([first]);
    const { stdout } = await rath("list", "--since", "yesterday", "--limit", "1");
    expect(stdout).toMatch(/\+\d+ facts? /);
    expect(stdout).toContain("and 1 older session");
    expect(json(await rath("list", "--since", "now", "--json"))).toEqual([]);
    expect(await rath("list", "--limit", "0")).toMatchObject({ code: 2 });
  });

  it("[S13] show prints a file of any session, also where names and paths have colons", async () => {
    expect((await rath("show", "answer:answer.txt")).stdout).toBe("42\n");
    expect((await rath("show", "answer@bold:answer.txt")).stdout).toBe("forty-two\n");
    expect((await rath("show", "answer~1:answer.txt")).stdout).toBe("42\n");
    const store = await openStore(url);
    await store.point("team:answer", answer.id);
    await store.close();
    const told = json(await rath("show", "team:answer:answer.txt", "--json"));
    expect(Buffer.from(told.base64, "base64").toString()).toBe("42\n");
    expect((await rath("show", "team:answer")).stdout).toContain("finished");
    expect(await rath("show", "answer:nothing.txt")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/rath files answer\n/),
    });
    expect((await rath("show", "anser:answer.txt")).stderr).toContain("did you mean answer?");
    expect((await rath("show", "answer~1:../../etc/passwd")).code).toBe(1);
    await rath("gc", "--forget", "team:answer");
  });
});

describe("grep", () => {
  it("[S14] finds messages, input, output, memories and paths, each fact once, and never what was erased", async () => {
    const store = await openStore(url);
    const secret = "Ada lives in Harrow Road.";
    const start = Session.start("Please refund order 130.\nThank you, Zoë", { by: "user:ada" });
    const call = start.append({ type: "tool-call", name: "pay", input: { amount: 130, to: ["Zoë"] } });
    const result = call.append({ type: "tool-result", of: call.id, output: { said: "paid $5 (a+b)" } });
    await store.save(result, { name: "paid" });
    await store.save(result.fork("other").say("More.", { role: "assistant" }), { name: "paid-2" });
    const private_ = Session.start(secret, { inline: 0, by: "user:ada" });
    await store.save(private_, { name: "private" });
    expect(await found("harrow road")).toEqual([["private", secret]]);
    await store.erase("private", {
      digests: [...private_.blobs()].map(({ ref }) => ref.digest),
      why: "asked",
    });
    await store.close();
    expect(await found("harrow road")).toEqual([]);
    expect((await rath("grep", "Harrow")).stdout).toContain("was not found");
    expect((await found("REFUND ORDER")).map(([, line]) => line)).toEqual(["Please refund order 130."]);
    expect(await found("zoë", "paid")).toEqual([
      ["paid", "Thank you, Zoë"],
      ["paid", "to: Zoë"],
    ]);
    expect(await found("amount: 130", "paid")).toEqual([["paid", "amount: 130"]]);
    expect(await found("$5 (a+b)", "paid")).toEqual([["paid", "said: paid $5 (a+b)"]]);
    expect((await found("answer.txt", "--type", "workspace-change")).length).toBe(2);
    expect(await found("please", "-s")).toEqual([]);
    expect(await found("-E", "order [0-9]{3}\\.$", "paid")).toHaveLength(1);
    expect(await found("130", "paid", "--by", "user")).toHaveLength(1);
    expect(await found("130", "--since", "now")).toEqual([]);
    const limited = json(await rath("grep", "a", "--limit", "1", "--json"));
    expect(limited).toMatchObject({ hits: [{ id: expect.any(String), at: expect.any(String) }], more: true });
    expect((await rath("grep", "amount", "paid")).stdout).toMatch(
      /^paid {2}\w{12} {2}\S+Z {2}\S+ {2}amount: 130\n$/,
    );
  });

  it("[S14] an expression of exponential time is stopped, and a wrong one refused", async () => {
    const store = await openStore(url);
    await store.save(Session.start(`${"a".repeat(60)}!`), { name: "slow" });
    await store.close();
    expect(await rath("grep", "-E", "^(a+)+$", "slow")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("takes too long"),
    });
    expect(await rath("grep", "-E", "(", "slow")).toMatchObject({ code: 2 });
    expect(await rath("grep", "")).toMatchObject({ code: 2 });
    expect(await rath("grep", "(", "slow")).toMatchObject({ code: 0 });
  });
});

describe("watch and follow", { timeout: 60_000 }, () => {
  it("[S15] [C16] tell facts of other processes as they become durable, each once, and end with 130", async () => {
    const { RATH_HOME: _, RATH_STORE: __, ...env } = surroundings;
    const started = (...words: readonly string[]) => {
      const child = spawn(process.execPath, [program, ...words, "--json", "--store", url], { env });
      const lines: string[] = [];
      let rest = "";
      child.stdout.on("data", (piece: Buffer) => {
        const parts = `${rest}${piece}`.split("\n");
        rest = parts.pop() ?? "";
        lines.push(...parts);
      });
      return { child, lines, ended: once(child, "close") };
    };
    const store = await openStore(url);
    let session = Session.start("watched");
    await store.save(session, { name: "watched" });
    const all = started("watch");
    const one = started("log", "watched", "--follow");
    await until(() => one.lines.length === 1);
    // The one that prints nothing yet listens when its first fact arrives.
    for (let index = 0; all.lines.length === 0; index++) {
      await store.save(Session.start(`call ${index}`), { name: `call-${index}` });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    const wanted: string[] = [];
    for (const text of ["a", "b", "c"]) {
      session = session.say(text);
      wanted.push(session.id);
      await store.save(session, { name: "watched" });
      await until(() => all.lines.some((line) => line.includes(session.id)));
      // Its past is that of the other name, and is not told again.
      await store.save(session.fork("side").say(text), { name: `beside-${text}` });
    }
    const idsIn = (lines: readonly string[], name: string): readonly string[] =>
      lines
        .map((line) => JSON.parse(line) as { name: string; id: string })
        .filter((told) => told.name.startsWith(name))
        .map(({ id }) => id);
    await until(() => idsIn(all.lines, "beside").length === 6 && idsIn(one.lines, "watched").length === 4);
    expect(idsIn(all.lines, "watched")).toEqual(wanted);
    expect(idsIn(one.lines, "watched")).toEqual([session.parents[0]?.parents[0]?.parents[0]?.id, ...wanted]);
    expect(idsIn(one.lines, "beside")).toEqual([]);
    for (const { child, ended } of [all, one]) {
      child.kill("SIGINT");
      expect(await ended).toEqual([130, null]);
    }
    await store.close();
  });

  it("[S15] watch refuses what gets no new facts, and ends after -n", async () => {
    expect(await rath("watch", answer.id)).toMatchObject({ code: 2 });
    expect(await rath("watch", "nobody")).toMatchObject({ code: 1 });
    const empty = join(folder, "nothing");
    mkdirSync(empty);
    expect(await commandIn(empty)("watch")).toMatchObject({ code: 2 });
    const store = await openStore(url);
    const watched = rath("watch", "-n", "1");
    let isOver = false;
    void watched.then(() => {
      isOver = true;
    });
    for (let index = 0; !isOver; index++) {
      await store.save(Session.start("now"), { name: `now-${index}` });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await store.close();
    expect(await watched).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^now-\d+ .*started a session.*\n$/),
    });
  });
});

async function found(...words: readonly string[]): Promise<readonly (readonly [string, string])[]> {
  const { hits } = json(await rath("grep", ...words, "--json"));
  return hits.map(({ name, line }: { name: string; line: string }) => [name, line] as const);
}

/** The command with a terminal of so many columns, with colours. */
async function onTerminal(columns: number, ...words: readonly string[]): Promise<Said> {
  const pieces: Buffer[] = [];
  const stdout = Object.assign(
    new Writable({
      write(piece: Buffer, _encoding, done) {
        pieces.push(piece);
        done();
      },
    }),
    { isTTY: true, columns },
  );
  const before = process.env;
  const { NO_COLOR: _, ...env } = before;
  process.env = { ...env, PAGER: "", TERM: "xterm", RATH_HOME: join(folder, "home"), CI: "1" };
  try {
    const code = await main(words, { stdout, stderr: new PassThrough() });
    return { code, stdout: Buffer.concat(pieces).toString(), stderr: "" };
  } finally {
    process.env = before;
  }
}

async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 400 && !holds(); turn++) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(holds()).toBe(true);
}

// biome-ignore lint/suspicious/noExplicitAny: what a test looks into
function json({ stdout, stderr }: Said): any {
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`no JSON: ${stdout}${stderr}`);
  }
}
