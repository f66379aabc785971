import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, openRath, scripted, tool } from "openrath";
import { dossierHtml, dossierOf, writeBundle } from "openrath/evidence";
import { exportFormat, exportFormats, importFormats } from "openrath/interop";
import { digestsOf, openStore, type Store } from "openrath/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, type Said, surroundings } from "../cli/call.js";

const folder = mkdtempSync(join(tmpdir(), "openrath-canary-"));
const url = `sqlite:${join(folder, "home", "rath.db")}`;
const SECRET = "canary-secret-5f1e2d";
const ERASED = "canary-erased-77aa01";
const words = [
  SECRET,
  ERASED,
  Buffer.from(SECRET).toString("base64").slice(0, 20),
  Buffer.from(ERASED).toString("base64").slice(0, 20),
];

let store: Store;

beforeAll(async () => {
  mkdirSync(join(folder, "home"), { recursive: true });
  const look = tool({
    name: "look",
    description: "Looks.",
    input: { type: "object" },
    effect: "read",
    run: (_input, context) => ({ header: `Bearer ${context.secret("TOKEN")}`, more: ERASED.padEnd(20, "!") }),
  });
  const clerk = agent({
    name: "clerk",
    model: scripted(
      { call: [{ tool: "look", input: { about: ERASED } }] },
      `It is about ${ERASED} and ${SECRET}.`,
    ),
    tools: [look],
  });
  const rath = openRath({ store: url, secrets: { TOKEN: SECRET } });
  const session = await rath.run(clerk, rath.start(`Look for ${ERASED}.`, { by: "user:ada", inline: 0 }), {
    name: "canary",
  });
  await rath.close();
  store = await openStore(url);
  const digests = new Set<string>();
  for await (const lines of store.lines(session.id))
    for (const { line } of lines)
      for (const digest of digestsOf(line)) {
        const bytes = await store.blob(digest);
        if (bytes !== undefined && Buffer.from(bytes).includes(ERASED)) digests.add(digest);
      }
  expect(digests.size).toBeGreaterThan(2);
  await store.erase("canary", { digests: [...digests], why: "Ada asked for it.", by: "user:ada" });
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("secrets and erased content", () => {
  it("[E3] are in no dossier and no bundle", async () => {
    const dossier = await dossierOf(store, "canary");
    const page = dossierHtml(dossier);
    for (const word of words) expect(JSON.stringify(dossier) + page).not.toContain(word);
    // It is said that something was there.
    expect(page).toContain("Ada asked for it.");
    let bundle = "";
    for await (const piece of writeBundle(store, [await store.resolve("canary")], {
      about: { name: "canary" },
      view: dossier as never,
    }))
      bundle += piece;
    for (const word of words) expect(bundle).not.toContain(word);
  });

  it("[E3] are in no export, with content or without", async () => {
    const session = await store.load("canary");
    const names = (await exportFormats()).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(8);
    for (const name of names)
      for (const content of [true, false]) {
        const format = await exportFormat(name);
        const written = await format
          .write({ name: "canary", session, store }, { content })
          .catch((error: Error) => error.message);
        const text = typeof written === "string" ? written : Buffer.from(written).toString("latin1");
        for (const word of words) expect(text, name).not.toContain(word);
      }
  });

  it("[E3] are in no log and no answer of the command", async () => {
    for (const line of [
      ["log", "canary", "--all"],
      ["show", "canary"],
      ["log", "canary", "--all", "--json"],
      ["why", "canary"],
      ["why", "canary", "--step", "1"],
      ["why", "--by", "user:ada"],
      ["report"],
      ["verify", "canary"],
      ["export", "canary"],
      ["cost", "canary"],
    ]) {
      const { stdout, stderr } = await rath(line);
      expect(stdout.length, line.join(" ")).toBeGreaterThan(0);
      for (const word of words) expect(stdout + stderr, line.join(" ")).not.toContain(word);
    }
    for (const file of ["rath.db", "rath.db-wal"])
      try {
        const bytes = readFileSync(join(folder, "home", file));
        expect(bytes.includes(SECRET)).toBe(false);
      } catch (error) {
        expect(error).toMatchObject({ code: "ENOENT" });
      }
  });

  it("[E4] every format that is written and read is stable", async () => {
    const session = await store.load("canary");
    const readers = new Map((await importFormats()).map((format) => [format.name, format]));
    const tried: string[] = [];
    for (const writer of await exportFormats()) {
      const reader = readers.get(writer.name);
      if (reader === undefined) continue;
      const write = async (one: typeof session): Promise<Uint8Array> => {
        const written = await writer.write({ name: "canary", session: one, store }, { content: true });
        return typeof written === "string" ? Buffer.from(written) : written;
      };
      const first = await write(session);
      const take = async (bytes: Uint8Array): Promise<typeof session> => {
        const imported = await reader.read({ name: "canary", bytes, digest: "0".repeat(64) });
        return (imported[0] as (typeof imported)[0]).session;
      };
      // What is imported has another origin than what was written first; from then on nothing changes.
      const second = await write(await take(first));
      const third = await write(await take(second));
      expect(unnumbered(third), writer.name).toBe(unnumbered(second));
      tried.push(writer.name);
    }
    expect(tried).toEqual(expect.arrayContaining(["atif", "inspect", "swe-agent", "otel"]));
  });
});

/** Ids of spans are made of the ids of facts, which name where the facts are from: each is called by its place instead. */
function unnumbered(bytes: Uint8Array): string {
  const known = new Map<string, number>();
  return Buffer.from(bytes)
    .toString("latin1")
    .replaceAll(/\b[0-9a-f]{16,64}\b/g, (id) => {
      const short = id.slice(0, 16);
      known.set(short, known.get(short) ?? known.size);
      return `#${known.get(short)}`;
    });
}

function rath(line: readonly string[]): Promise<Said> {
  const env = { ...surroundings, RATH_HOME: join(folder, "home"), RATH_CONFIG: join(folder, "config") };
  return call(line, { cwd: folder, env });
}
