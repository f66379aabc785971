import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Session } from "openrath";
import { writeBundle } from "openrath/evidence";
import { openStore } from "openrath/store";
import { afterAll, expect, it } from "vitest";
import { call, type Said, surroundings } from "../cli/call.js";

const base = mkdtempSync(join(tmpdir(), "openrath-proof-cli-"));
// Many processes, or many stores one after the other: a busy machine needs the room.
const PATIENCE = 180_000;
afterAll(() => rmSync(base, { recursive: true, force: true }));

type Place = { readonly folder: string; readonly rath: (...words: readonly string[]) => Promise<Said> };

/** A folder with a home that has two sessions, and the command in it. */
async function place(name: string): Promise<Place> {
  const folder = join(base, name);
  const home = join(folder, "home");
  mkdirSync(home, { recursive: true });
  const store = await openStore(`sqlite:${join(home, "rath.db")}`);
  await store.save(Session.start("Fix issue 41.").say("a").say("b".repeat(9000)), { name: "one" });
  await store.save(Session.start("another").say("x").say("y"), { name: "two" });
  let text = "";
  for await (const piece of writeBundle(store, ["one"], { about: { title: "one" } })) text += piece;
  writeFileSync(join(folder, "one.json"), text);
  let lines = "";
  for await (const line of store.export("one")) lines += `${line}\n`;
  writeFileSync(join(folder, "one.jsonl"), lines);
  await store.close();
  const { RATH_STORE: _, FORCE_COLOR: __, ...rest } = surroundings;
  const env = { ...rest, RATH_HOME: home, RATH_CONFIG: join(folder, "config"), NO_COLOR: "1" };
  const rath = (...words: readonly string[]): Promise<Said> => call(words, { cwd: folder, env });
  return { folder, rath };
}

it(
  "[C1] verify exits with 0 or 3, says where, and says it as JSON",
  async () => {
    const { folder, rath } = await place("verify");
    for (const words of [[], ["one"], ["one.json"], ["one.jsonl"]]) {
      const told = JSON.parse((await rath("verify", ...words, "--json")).stdout);
      expect(told).toMatchObject({
        intact: true,
        findings: [],
        facts: words.length === 0 ? 6 : 3,
        erased: 0,
      });
      expect(told.heads.length).toBe(words.length === 0 ? 2 : 1);
    }
    expect(await rath("verify", "one")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^intact: /),
    });
    for (const file of ["one.json", "one.jsonl"]) {
      const changed = join(folder, `changed-${file}`);
      writeFileSync(changed, readFileSync(join(folder, file), "utf8").replace(`"nonce":"`, `"nonce":"x`));
      const broken = await rath("verify", changed);
      expect(broken.code).toBe(3);
      expect(broken.stdout).toMatch(/NOT intact: .*line \d+/s);
    }
    expect((await rath("verify", "one.jsonl", "--head", "f".repeat(64))).code).toBe(3);
    writeFileSync(join(folder, "page.html"), "<!doctype html><title>x</title>");
    expect(await rath("verify", "page.html")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("bundle"),
    });
    expect((await rath("verify", "nothing.jsonl")).code).toBe(1);
    expect((await rath("verify", "one.json", "--with", "x.mjs")).code).toBe(2);
    const bytes = readFileSync(join(folder, "home", "rath.db"));
    bytes.write("issue 4X", bytes.indexOf("issue 41"));
    writeFileSync(join(folder, "home", "rath.db"), bytes);
    expect(await rath("verify")).toMatchObject({ code: 3, stdout: expect.stringMatching(/[0-9a-f]{64}/) });
    expect((await rath("verify", "one")).code).toBe(3);
  },
  PATIENCE,
);

it(
  "[C2] key, sign, checkpoint and prove, one after the other",
  async () => {
    const { folder, rath } = await place("prove");
    expect(await rath("sign", "one")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("rath key new"),
    });
    expect(await rath("prove", "one")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("rath checkpoint"),
    });
    const said: string[] = [];
    const well = async (...words: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await rath(...words);
      expect([code, stderr], words.join(" ")).toEqual([0, ""]);
      said.push(stdout);
      return stdout;
    };
    await well("key", "new", "ada");
    await well("key", "list");
    const text = (await well("key", "show", "ada")).trim();
    expect(text).toMatch(/^ada\+[0-9a-f]{8}\+/);
    await well("key", "list", "--json");
    await well("sign", "one", "--by", "user:ada");
    await well("checkpoint", "-o", "monday.checkpoint");
    expect(await well("verify", "one")).toContain("signed by user:ada");
    expect(await well("verify", "--checkpoint", "monday.checkpoint")).toContain("(given) holds");
    await well("prove", "one", "-o", "one.proof");
    const { id } = JSON.parse(await well("prove", "one", "--json"));
    expect(await well("verify", "--proof", "one.proof", id)).toContain("proved");
    expect((await rath("verify", "--proof", "one.proof", "0".repeat(64))).code).toBe(3);
    await well("prove", "one", "--standard", "-o", "one.tlog-proof");
    await well("verify", "--proof", "one.tlog-proof", id);
    const secret = readFileSync(join(folder, "config", "keys", "ada.pem"), "utf8").split("\n")[1] as string;
    expect(said.join()).not.toContain(secret.slice(10, 40));
    // Somebody else, who has only the public key.
    const other = await place("other");
    expect((await other.rath("verify", "--proof", join(folder, "one.proof"), id)).code).toBe(3);
    writeFileSync(join(other.folder, "ada.pub"), text);
    expect(
      (await other.rath("verify", "--proof", join(folder, "one.proof"), id, "--key", "ada.pub")).code,
    ).toBe(0);
    expect((await other.rath("key", "trust", "ada.pub")).code).toBe(0);
    expect((await other.rath("verify", "--proof", join(folder, "one.proof"), id)).code).toBe(0);
  },
  PATIENCE,
);

it(
  "[C3] what was put back, moved back or collected is found",
  async () => {
    const { folder, rath } = await place("back");
    const home = join(folder, "home");
    await rath("key", "new", "ada");
    cpSync(home, join(folder, "unsigned"), { recursive: true });
    await rath("checkpoint");
    cpSync(home, join(folder, "earlier"), { recursive: true });
    await rath("sign", "one");
    await rath("checkpoint");
    expect((await rath("verify")).code).toBe(0);
    cpSync(home, join(folder, "newest"), { recursive: true });
    const put = (from: string): void => {
      rmSync(home, { recursive: true });
      cpSync(join(folder, from), home, { recursive: true });
    };
    put("earlier");
    expect(await rath("verify")).toMatchObject({ code: 3, stdout: expect.stringContaining("put back") });
    // Under another path it is still the same store, with the log of that time or without one.
    for (const [copy, words] of [
      ["earlier", "put back"],
      ["unsigned", "there is no log here"],
    ] as const)
      expect(await rath("verify", "--store", `sqlite:${join(folder, copy, "rath.db")}`), copy).toMatchObject({
        code: 3,
        stdout: expect.stringContaining(words),
      });
    put("newest");
    const store = await openStore(`sqlite:${join(home, "rath.db")}`);
    const two = await store.load("two");
    await store.save(two.parents[0] as Session, { name: "two", force: true });
    await store.close();
    expect(await rath("verify")).toMatchObject({ code: 3, stdout: expect.stringContaining(two.id) });
    // Nobody gives up by tidying what may have been taken away.
    expect(await rath("gc")).toMatchObject({ code: 1, stderr: expect.stringContaining("--release") });
    expect(await rath("verify")).toMatchObject({ code: 3, stdout: expect.stringContaining(two.id) });
    expect((await rath("gc", "--release", "a draft")).code).toBe(0);
    expect(await rath("verify")).toMatchObject({ code: 0, stdout: expect.stringContaining("a draft") });
  },
  PATIENCE,
);
