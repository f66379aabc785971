import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Session } from "openrath";
import { openStore } from "openrath/store";
import { beforeAll, describe, expect, it } from "vitest";
import { commandIn, scratch, twoBranches } from "./rath.js";

const folder = scratch();
const rath = commandIn(folder);
const url = `sqlite:${join(folder, "home", "rath.db")}`;
const python = fileURLToPath(new URL("../../tools/verify.py", import.meta.url));
let answer: Session;

beforeAll(async () => {
  answer = await twoBranches(folder);
});

describe("in and out", () => {
  it("[X1] export writes lines that both verifiers accept, whole or not at all", async () => {
    await rath("fork", "answer", "--name", "other");
    const file = join(folder, "both.jsonl");
    const told = JSON.parse((await rath("export", "answer", "other", "-o", file, "--json")).stdout);
    expect(told).toMatchObject({ facts: [...answer.history()].length + 1 });
    expect((await rath("verify", file, "--head", told.heads[1])).code).toBe(0);
    const { code } = await new Promise<{ code: number }>((done) => {
      execFile("python3", [python, file], (error) => done({ code: error === null ? 0 : Number(error.code) }));
    });
    expect(code).toBe(0);
    expect((await rath("export", "answer")).stdout).toBe(await exported("answer"));
    expect(await rath("export", "answer", "-o", join(folder, "no", "such", "folder.jsonl"))).toMatchObject({
      code: 1,
    });
    expect(readdirSync(folder).filter((name) => name.endsWith(".part"))).toEqual([]);
    expect(await rath("export", "answer", "--json")).toMatchObject({ code: 2 });
    expect(await rath("export", "answer", "other", "--format", "atif")).toMatchObject({ code: 2 });
  });

  it("[X9] import --index links what another system recorded, and leaves it where it is", async () => {
    const file = join(folder, "tools.jsonl");
    writeFileSync(
      file,
      '{"run":"r-1","tool":"refund","at":"2026-01-02T03:04:05Z","said":"canary"}\n{"tool":"lost"}\n',
    );
    const fields = "session=run,tool=tool,at=at";
    const told = await rath("import", file, "--index", "tools", "--fields", fields, "--json");
    expect(JSON.parse(told.stdout)).toMatchObject({
      format: "jsonl",
      name: "existing/tools",
      added: 1,
      skipped: 1,
    });
    expect((await rath("import", file, "--index", "tools", "--fields", fields)).stdout).toContain("0 new");
    const log = await rath("log", "existing/tools");
    expect(log.stdout).toContain("refund");
    expect(log.stdout).not.toContain("canary");
    expect(await rath("why", "existing/tools", "--step", "1")).toMatchObject({ code: 0 });
    for (const wrong of [
      ["--index", "tools"],
      ["--index", "tools", "--fields", "session"],
      ["--index", "tools", "--format", "moon"],
    ])
      expect((await rath("import", file, ...wrong)).code).toBeGreaterThan(0);
  });

  it("[X2] import takes lines back to the same ids, and says what was here", async () => {
    const file = join(folder, "again.jsonl");
    await rath("export", "answer", "-o", file);
    const there = commandIn(folder, { RATH_HOME: join(folder, "elsewhere") });
    const first = JSON.parse((await there("import", file, "--json")).stdout);
    expect(first).toMatchObject([
      { format: "lines", sessions: [{ name: "again", id: answer.id, known: false }] },
    ]);
    const second = JSON.parse((await there("import", file, "--json")).stdout);
    expect(second).toMatchObject([{ sessions: [{ name: "again", known: true }] }]);
    expect(await there("import", file, "--head", "0".repeat(64))).toMatchObject({ code: 1 });
    expect(await there("import", file, "--name", "run/mine")).toMatchObject({ code: 2 });
    await there("fork", "again", "--name", "taken");
    const third = JSON.parse((await there("import", file, "--name", "taken", "--json")).stdout);
    expect(third).toMatchObject([{ sessions: [{ name: "taken+2", id: answer.id }] }]);
    const signed = answer.append({
      type: "head-sign",
      of: answer.id,
      key: "ada+0a1b2c3d",
      signature: "AAAA",
      by: "user:ada",
    });
    const forged = join(folder, "forged.jsonl");
    writeFileSync(forged, `${readFileSync(file, "utf8")}${signed.line}\n`);
    expect((await rath("verify", forged)).code).toBe(3);
    expect(await there("import", forged)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("rath verify"),
    });
    expect(await there("import", join(folder, "not-there"))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("not-there"),
    });
    writeFileSync(join(folder, "garbage"), Buffer.from([0xff, 0xfe, 0, 1, 2, 3]));
    expect(await there("import", join(folder, "garbage"))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("--format"),
    });
  });

  it("[X7] an import whose erasures no fact proves warns and exits with 3", async () => {
    const file = join(folder, "claim.jsonl");
    await rath("export", "answer", "-o", file);
    const lines = readFileSync(file, "utf8").split("\n");
    const place = lines.findIndex((line) => line.startsWith('{"blob"'));
    const { blob } = JSON.parse(lines[place] as string);
    const claim = {
      erased: blob,
      fact: "0".repeat(64),
      by: "user:x",
      at: "2026-01-01T00:00:00.000Z",
      why: "asked",
    };
    writeFileSync(file, lines.with(place, JSON.stringify(claim)).join("\n"));
    const there = commandIn(folder, { RATH_HOME: join(folder, "claimed") });
    expect(await there("import", file)).toMatchObject({
      code: 3,
      stdout: expect.stringContaining(
        "1 piece of content is said to be erased, but no fact in this store proves it",
      ),
    });
    expect(await there("verify")).toMatchObject({ code: 3 });
  });

  it("[X3] every format is listed, and an unknown one refused with what is near", async () => {
    const names = async (command: string): Promise<string[]> =>
      JSON.parse((await rath(command, "--list", "--json")).stdout).map(({ name }: { name: string }) => name);
    expect(await names("export")).toEqual(
      expect.arrayContaining(
        "lines otel atif inspect swe-bench swe-agent hf-trace agent-trace mermaid dot csv".split(" "),
      ),
    );
    expect(await names("import")).toEqual(
      expect.arrayContaining(
        "lines bundle atif inspect swe-agent openhands openai-agents tau-bench langgraph ai-sdk-ui claude-code codex otel".split(
          " ",
        ),
      ),
    );
    expect(await rath("export", "answer", "--format", "attif")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("did you mean atif?"),
    });
    expect(await rath("import", join(folder, "garbage"), "--format", "otl")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("did you mean otel?"),
    });
  });

  it("[X4] every format that is written is told by its looks, taken in once, and shown", async () => {
    const readable = JSON.parse((await rath("import", "--list", "--json")).stdout).map(
      ({ name }: { name: string }) => name,
    );
    const formats: { name: string; extension: string }[] = JSON.parse(
      (await rath("export", "--list", "--json")).stdout,
    );
    for (const { name, extension } of formats) {
      if (name === "lines" || name === "swe-bench") continue;
      const file = join(folder, `written-${name}${extension}`);
      rmSync(file, { force: true });
      const written = await rath("export", "answer", "--format", name, "--content", "-o", file);
      expect(written, name).toMatchObject({ code: 0, stderr: "" });
      expect(readFileSync(file).length, name).toBeGreaterThan(0);
      if (!readable.includes(name)) continue;
      const first = JSON.parse((await rath("import", file, "--json")).stdout);
      expect(first, name).toMatchObject([{ format: name, sessions: [{ known: false }] }]);
      const second = JSON.parse((await rath("import", file, "--json")).stdout);
      expect(
        second[0].sessions.map(({ known }: { known: boolean }) => known),
        name,
      ).not.toContain(false);
      expect(await rath("show", first[0].sessions[0].name), name).toMatchObject({ code: 0 });
    }
  });

  it("[X8] import takes in a folder that 0.1 wrote as a store, and opening one says so", async () => {
    const old = fileURLToPath(new URL("./folder-0.1", import.meta.url));
    const there = commandIn(folder, { RATH_HOME: join(folder, "from-folder") });
    const opened = await there("list", "--store", `file:${old}`);
    expect(opened).toMatchObject({ code: 1, stderr: expect.stringContaining(`rath import ${old} --store`) });
    const [told] = JSON.parse((await there("import", old, "--json")).stdout);
    expect(told).toMatchObject({ format: "folder", sessions: { length: 4 } });
    expect(told.sessions[0]).toMatchObject({ name: "balloons", known: false, warnings: [] });
    expect((await there("import", old)).stdout).toContain("balloons (was here already)");
    expect((await there("verify", "balloons")).code).toBe(0);
    expect(await there("import", folder)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("facts.jsonl"),
    });
  });

  it("[X6] pending names imported sessions that wait", async () => {
    const home = join(folder, "waiting");
    const there = commandIn(home, { RATH_HOME: home });
    mkdirSync(home, { recursive: true });
    const store = await openStore(`sqlite:${join(home, "rath.db")}`);
    const stamp = { at: "2026-01-01T00:00:00.000Z", by: "runtime:langgraph" } as const;
    const digest = "0".repeat(64);
    const start = Session.start("Book it.").append({
      type: "record-import",
      format: "langgraph",
      source: "a.db",
      digest,
      ...stamp,
    });
    const asked = start.append({ type: "signal-await", name: "interrupt", what: "Approve?", ...stamp });
    const waits = asked.append({ type: "run-suspend", of: start.id, waiting: [asked.id], ...stamp });
    await store.save(waits, { name: "langgraph/asked" });
    await store.close();
    expect((await there("list")).stdout).toMatch(/waiting .*langgraph\/asked/);
    expect(JSON.parse((await there("pending", "--json")).stdout)).toMatchObject([
      { session: "langgraph/asked", shown: "Approve?" },
    ]);
  });

  it("[X5] unreadable parts are printed as warnings, and are in --json", async () => {
    const file = join(folder, "tape.json");
    const request = { method: "POST", uri: "https://api.openai.com/v1/chat/completions", parsed_body: {} };
    const response = { status: { code: 200 }, headers: {}, body: { base64_string: "//79" } };
    writeFileSync(file, JSON.stringify({ interactions: [{ request, response }] }));
    const warning = expect.stringMatching(/^interactions\[0\]\.response: .*unreadable: it is not UTF-8 text/);
    const told = JSON.parse((await rath("import", file, "--json")).stdout);
    expect(told).toMatchObject([{ format: "cassette", sessions: [{ name: "tape", warnings: [warning] }] }]);
    const { code, stdout } = await rath("import", file);
    expect([code, stdout]).toEqual([0, expect.stringContaining("warning: interactions[0].response: ")]);
    expect((await rath("log", "tape")).stdout).toMatch(/model-reply.*unreadable/s);
  });
});

describe("looking after it", () => {
  it("[D1] gc removes what no name leads to, and nothing by mistake", async () => {
    const home = join(folder, "gc");
    await twoBranches(home);
    const there = commandIn(home);
    const fork = JSON.parse((await there("fork", "answer", "--name", "loose", "--json")).stdout);
    expect(await there("gc", "--forget", "answer", "--forget", "lose")).toMatchObject({ code: 1 });
    expect(await there("gc", "--forget", "lose")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("loose"),
    });
    expect(JSON.parse((await there("gc", "--dry-run", "--forget", "loose", "--json")).stdout)).toMatchObject({
      forgotten: [],
      facts: 0,
    });
    expect(JSON.parse((await there("list", "--json")).stdout)).toHaveLength(2);
    expect(JSON.parse((await there("gc", "--forget", "loose", "--json")).stdout)).toMatchObject({
      forgotten: ["loose"],
      facts: 1,
    });
    expect((await there("show", fork.id)).code).toBe(1);
    expect((await there("verify", "answer")).code).toBe(0);
  });

  it("[D2] doctor says what is here, and finds damage with --deep", async () => {
    const sound = JSON.parse((await rath("doctor", "--deep", "--json")).stdout);
    expect(sound).toMatchObject({ sound: true, home: join(folder, "home") });
    expect(sound.checks.map(({ what }: { what: string }) => what)).toEqual(
      expect.arrayContaining(["Node.js", "home", "store", "record"]),
    );
    const none = commandIn(folder, { RATH_HOME: join(folder, "nothing") });
    expect((await none("doctor")).stdout).toContain("rath demo");
    expect(existsSync(join(folder, "nothing"))).toBe(false);
    const damaged = join(folder, "damaged");
    await twoBranches(damaged);
    const file = join(damaged, "home", "rath.db");
    const bytes = readFileSync(file);
    const at = bytes.indexOf("Answer in a file.");
    bytes[at] = (bytes[at] as number) ^ 1;
    writeFileSync(file, bytes);
    const found = await commandIn(damaged)("doctor", "--deep");
    expect(found).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("rath doctor --recover OTHER.db"),
    });
  });

  it("[D3] doctor --recover saves what is intact, says what is not, and never writes over a file", async () => {
    const damaged = join(folder, "damaged");
    const other = join(folder, "rescued.db");
    const saved = await commandIn(damaged)("doctor", "--recover", other, "--json");
    expect(saved.code).toBe(3);
    const { facts, names, findings } = JSON.parse(saved.stdout);
    expect(facts).toBeGreaterThan(0);
    expect(findings.length).toBeGreaterThan(0);
    const rows = JSON.parse((await rath("list", "--all", "--json", "--store", `sqlite:${other}`)).stdout);
    expect(rows.map(({ name }: { name: string }) => name).sort()).toEqual([...names].sort());
    const again = await commandIn(damaged)("doctor", "--recover", other);
    expect(again).toMatchObject({ code: 2, stderr: expect.stringMatching(/hint: .*rath doctor/) });
    const broken = join(folder, "broken.db");
    writeFileSync(broken, "no database".repeat(1000));
    const failed = await rath("list", "--store", `sqlite:${broken}`);
    expect(failed).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/rath doctor .*--recover OTHER.db/),
    });
    expect(failed.stderr).not.toContain("recover(");
  });
});

async function exported(name: string): Promise<string> {
  const store = await openStore(url);
  let text = "";
  for await (const line of store.export(name)) text += `${line}\n`;
  await store.close();
  return text;
}
