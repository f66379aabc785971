import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import type { FactId } from "../../session/index.js";
import { campaign } from "../../session/testing/campaign.js";
import { openStore, type Store } from "../../store/index.js";
import { openDatabase } from "../../store/sqlite/driver.js";
import { folder } from "../../store/testing/folder.js";
import { derivedFolderOf } from "../name.js";
import { influence, why } from "./index.js";
import { naive, plain } from "./testing/naive.js";
import { HandRecord } from "./testing/record.js";

const RUNS = Number(process.env.OPENRATH_LINEAGE_RUNS ?? campaign(40));

const fileOf = (store: Store): string => join(derivedFolderOf(store) as string, "lineage.sqlite");

function factsIn(path: string): unknown {
  const database = openDatabase(path);
  try {
    return database.prepare("SELECT count(*) AS n FROM fact").get()?.n;
  } finally {
    database.close();
  }
}

/** One thing that happens in a random store: who it happens to are numbers, taken among what there is. */
const deed = fc.record({
  what: fc.constantFrom(
    "start",
    "say",
    "reply",
    "reply",
    "tool",
    "fork",
    "detach",
    "detach",
    "fork space",
    "merge",
    "merge",
    "read",
    "read",
    "read",
    "answer",
    "write",
    "write",
    "revise",
    "link",
    "point",
    "point",
    "point",
    "back",
    "forget",
    "collect",
    "ask",
    "ask",
  ),
  one: fc.nat(1_000_000),
  two: fc.nat(1_000_000),
  three: fc.nat(1_000_000),
});
type Deed = { readonly what: string; readonly one: number; readonly two: number; readonly three: number };

/** A store in which anything happens, and what must be known of it. */
class World {
  readonly record: HandRecord;
  readonly names: { [name: string]: FactId | null } = {};
  readonly sessions: FactId[] = [];
  readonly spaces: { [name: string]: FactId };
  readonly memories: FactId[] = [];

  constructor(inline: number) {
    this.record = new HandRecord(inline);
    this.spaces = { a: this.record.start(), b: this.record.start() };
    this.sessions.push(this.record.start("Begin."));
  }

  /** Forgets what was collected: nobody can go on from there. */
  async prune(store: Store): Promise<void> {
    for (const list of [this.sessions, this.memories])
      list.splice(0, list.length, ...(await still(store, list)));
    if (this.sessions.length === 0) this.sessions.push(this.record.start("Again."));
  }

  do({ what, one, two, three }: Deed): void {
    const { record, sessions, memories } = this;
    const at = pick(sessions, one);
    const memory = memories.length === 0 ? undefined : pick(memories, two);
    switch (what) {
      case "start":
        sessions.push(record.start(two % 2 === 0 ? "Begin." : undefined));
        break;
      case "say":
        sessions.push(record.say(at, "words", two % 3 === 0 ? "agent:b" : "user"));
        break;
      case "reply":
        sessions.push(record.reply(at));
        break;
      case "tool":
        sessions.push(record.tool(at));
        break;
      case "fork":
        sessions.push(record.add([at], { type: "branch-fork", name: `b${two % 3}` }));
        break;
      case "detach":
        sessions.push(record.detach(at));
        break;
      case "fork space": {
        const name = two % 2 === 0 ? "a" : "b";
        this.spaces[`${name}${three % 2}`] = record.add([this.spaces[name] as FactId], {
          type: "branch-fork",
          name: `${name}${three % 2}`,
        });
        break;
      }
      case "merge":
      case "answer": {
        const sides = [
          ...new Set([at, pick(sessions, two), ...(three % 4 === 0 ? [pick(sessions, three)] : [])]),
        ];
        if (sides.length < 2) return;
        sessions.push(
          what === "merge"
            ? record.add(sides, { type: "branch-merge", adopt: "both" })
            : // Words of a person that come with two parents end the turn on both sides.
              record.add(sides, { type: "message-say", by: "user", role: "user", content: "both" }),
        );
        break;
      }
      case "read": {
        const found =
          memory === undefined
            ? []
            : [...new Set([memory, ...(three % 3 === 0 ? [pick(memories, three)] : [])])];
        const hits = found.map((id) => ({
          memory: id,
          score: 0.5,
          ...(three % 5 === 0 && { parts: { told: false } }),
        }));
        sessions.push(record.read(at, [], { hits }));
        break;
      }
      case "write": {
        const space = pick(Object.keys(this.spaces), two);
        const writer = three % 4 === 0 ? { of: pick(sessions, three) } : {};
        const because = [
          at,
          ...(three % 3 === 0 && memory !== undefined ? [memory] : []),
          ...(three % 7 === 0 ? [pick(sessions, three)] : []),
        ];
        const merges = three % 5 === 0 && memory !== undefined ? { merges: [memory] } : {};
        this.spaces[space] = record.write(this.spaces[space] as FactId, [...new Set(because)], {
          space,
          ...merges,
          ...writer,
        });
        memories.push(this.spaces[space] as FactId);
        break;
      }
      case "revise":
      case "link": {
        if (memory === undefined) return;
        const writer = three % 2 === 0 ? { from: pick(sessions, three) } : {};
        const fact =
          what === "link"
            ? {
                type: "memory-link" as const,
                of: memory,
                to: pick(memories, three),
                relation: "like",
                ...writer,
              }
            : { type: "memory-revise" as const, of: memory, text: "again", because: [at], ...writer };
        this.spaces.a = record.add([this.spaces.a as FactId], fact);
        break;
      }
      case "point":
        this.names[`s${two % 4}`] = pick(sessions.slice(-5), one);
        break;
      case "back":
        this.names[`s${two % 4}`] = at;
        // A space that is taken back goes on from there: what came later is of nobody any more.
        if (three % 3 === 0)
          this.spaces.b =
            memories.find(
              (id) =>
                this.record.facts.get(id)?.fact.type === "memory-write" && spaceOf(this.record, id) === "b",
            ) ?? (this.spaces.b as FactId);
        break;
      case "forget":
        this.names[`s${two % 4}`] = null;
        break;
    }
    for (const [name, id] of Object.entries(this.spaces)) this.names[`memory/${name}`] = id;
  }
}

/** Those of some ids that a store has. */
async function still(store: Store, ids: readonly FactId[]): Promise<FactId[]> {
  const there: FactId[] = [];
  for (const id of ids) if (await store.has(id)) there.push(id);
  return there;
}

function spaceOf(record: HandRecord, id: FactId): unknown {
  return (record.facts.get(id)?.fact as { space?: unknown } | undefined)?.space;
}

function pick<Value>(list: readonly Value[], number: number): Value {
  return list[number % list.length] as Value;
}

async function agree(store: Store, world: World, facts = world.record.facts): Promise<void> {
  for (const memory of world.memories) {
    const here = (await store.has(memory)) ? await influence(store, memory, { most: 100_000 }) : undefined;
    if (here !== undefined) expect(plain(here)).toEqual(naive(facts, world.names, memory));
  }
}

/** What is left of a record in a store. */
async function kept(store: Store, world: World): Promise<World["record"]["facts"]> {
  const facts: World["record"]["facts"] = new Map();
  for (const [id, fact] of world.record.facts) if (await store.has(id)) facts.set(id, fact);
  return facts;
}

describe("the index", () => {
  const shared = mkdtempSync(join(tmpdir(), "openrath-lineage-"));
  afterAll(() => rmSync(shared, { recursive: true, force: true }));

  it("[A5] [A6] says what a scan of everything says, step by step and made anew", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(deed, { minLength: 5, maxLength: 60 }),
        fc.constantFrom("memory", "sqlite"),
        fc.constantFrom(4096, 16),
        async (deeds, kind, inline) => {
          const path = `${shared}/${Math.random().toString(36).slice(2)}`;
          const store = await openStore(kind === "memory" ? "memory:" : `${kind}:${path}`);
          const world = new World(inline);
          try {
            for (const one of deeds) {
              world.do(one);
              if (one.what !== "ask" && one.what !== "collect") continue;
              await world.record.to(store, world.names);
              if (one.what === "collect") {
                if (one.two % 2 === 0 && world.memories[0] !== undefined)
                  await influence(store, world.memories[0]).catch(() => {});
                await store.gc();
                await world.prune(store);
              }
              await agree(store, world, await kept(store, world));
            }
            await world.record.to(store, world.names);
            const facts = await kept(store, world);
            await agree(store, world, facts);
            // Another store that has it all makes its own.
            const other = await openStore("memory:");
            await other.sync(store);
            for (const id of facts.keys()) if (!(await other.has(id))) facts.delete(id);
            await agree(other, world, facts);
          } finally {
            await store.close();
            rmSync(path, { recursive: true, force: true });
            rmSync(`${path}.memory`, { recursive: true, force: true });
          }
        },
      ),
      { numRuns: RUNS, ...(process.env.OPENRATH_SEED && { seed: Number(process.env.OPENRATH_SEED) }) },
    );
  });

  it.each(["memory", "sqlite"])("[A5] of a %s store forgets what was collected", async (kind) => {
    const store = await openStore(kind === "memory" ? "memory:" : `${kind}:${folder()}/store`);
    const record = new HandRecord();
    const memory = record.write(record.start(), [record.start("Blue.")]);
    const a = record.reply(record.read(record.start("Go."), [memory]));
    const b = record.reply(record.read(record.start("Go."), [memory]));
    const second = record.write(memory, [b]);
    await record.to(store, { "memory/notes": second, a, b });
    expect((await influence(store, memory)).totals).toMatchObject({ reads: 2, facts: 6, memories: 1 });
    // Gone at once, before anybody has looked: only what is still cited is followed.
    await record.to(store, { a: null, "memory/notes": memory });
    await store.gc();
    expect(await store.has(a)).toBe(false);
    expect((await influence(store, memory)).totals).toMatchObject({ reads: 1, facts: 3, memories: 0 });
    await record.to(store, { b: null });
    expect((await influence(store, memory)).totals).toMatchObject({ reads: 0, facts: 0 });
    await store.close();
  });

  it("[A6] reads only what is new", async () => {
    const store = await openStore(`sqlite:${folder()}/store.db`);
    const record = new HandRecord();
    const memory = record.write(record.start(), [record.start("Blue.")]);
    let head = record.read(record.start("Go."), [memory]);
    for (let count = 0; count < 200; count++) head = record.reply(head);
    await record.to(store, { "memory/notes": memory, s: head });
    const told: number[] = [];
    await influence(store, memory, { progress: (done) => told.push(done) });
    // Two names, and the facts that they lead to.
    expect(told.at(-1)).toBe(2 + 405);
    told.length = 0;
    await influence(store, memory, { progress: (done) => told.push(done) });
    expect(told).toEqual([]);
    head = record.reply(head);
    await record.to(store, { s: head });
    const { totals } = await influence(store, memory, { progress: (done) => told.push(done) });
    expect(told).toEqual([1, 1 + 2]);
    expect(totals.facts).toBe(403);
    await store.close();
  });
});

describe("a store with many names", () => {
  it("[A6] is brought up to date without a look at each of them", async () => {
    const store = await openStore("memory:");
    const record = new HandRecord();
    const words = record.start("Blue.");
    const memory = record.write(record.start(), [words]);
    const names: { [name: string]: FactId | null } = { words, "memory/notes": memory };
    const heads = Array.from({ length: 260 }, (_, number) => {
      const start = record.start("Go.");
      names[`s/${number}`] = record.reply(number % 3 === 0 ? record.read(start, [memory]) : start);
      return names[`s/${number}`] as FactId;
    });
    const same = async (): Promise<void> => {
      await record.to(store, names);
      for (const one of [memory, names["memory/notes"] as FactId])
        expect(plain(await influence(store, one, { most: 9_999 }))).toEqual(naive(record.facts, names, one));
    };
    await same();
    // Moves on, merges what others stand at, begins where others are, goes back, and goes away.
    names["s/1"] = record.reply(heads[1] as FactId);
    names["s/2"] = record.add([heads[2] as FactId, heads[3] as FactId], {
      type: "branch-merge",
      adopt: "ours",
    });
    names.new = record.reply(heads[6] as FactId);
    names["memory/notes"] = record.write(memory, [names.new]);
    await same();
    names["s/9"] = record.reply(record.read(names.new, [names["memory/notes"] as FactId]));
    names["s/2"] = heads[2] as FactId;
    names.new = null;
    await same();
    names["s/6"] = null;
    names["s/12"] = heads[5] as FactId;
    await same();
  });
});

describe("what can be wrong with it", () => {
  const made = async (kind: string) => {
    const path = `${folder()}/store`;
    const store = await openStore(`${kind}:${path}`);
    const record = new HandRecord();
    const memory = record.write(record.start(), [record.start("Blue.")]);
    const head = record.reply(record.read(record.start("Go."), [memory]));
    await record.to(store, { "memory/notes": memory, s: head });
    const answer = await influence(store, memory);
    expect(answer.totals).toMatchObject({ facts: 3, reads: 1 });
    return { path, store, record, memory, answer };
  };

  it.each(["sqlite"])("[A7] a damaged file of a %s store is made anew", async (kind) => {
    const { store, memory, answer } = await made(kind);
    const file = fileOf(store);
    const bytes = readFileSync(file);
    const harms: readonly ((path: string) => void)[] = [
      (path) => rmSync(dirname(path), { recursive: true }),
      (path) => rmSync(path),
      (path) => writeFileSync(path, "this is no database, and never was one. ".repeat(200)),
      (path) => truncateSync(path, 5_000),
      (path) => truncateSync(path, 0),
      (path) =>
        writeFileSync(path, Buffer.concat([bytes.subarray(0, 4096), Buffer.alloc(bytes.length - 4096, 7)])),
      (path) => writeFileSync(path, Buffer.concat([Buffer.alloc(100, 1), bytes.subarray(100)])),
    ];
    for (const harm of harms) {
      harm(file);
      expect(await influence(store, memory)).toEqual(answer);
      expect((await why(store, memory)).versions).toHaveLength(1);
      expect(factsIn(file)).toBe(3);
    }
    await store.close();
  });

  it("[A7] a file of another format, of another program or of another store is made anew", async () => {
    const { store, memory, answer } = await made("sqlite");
    const change = (sql: string): void => {
      const database = openDatabase(fileOf(store));
      database.exec(sql);
      database.close();
    };
    change("PRAGMA user_version = 99; DROP TABLE hit; CREATE TABLE theirs (x); CREATE VIEW v AS SELECT 1");
    expect(await influence(store, memory)).toEqual(answer);
    // The format before detached roots and forks of spaces were followed.
    change("PRAGMA user_version = 1; DROP VIEW way; DROP INDEX head_root; ALTER TABLE head DROP COLUMN root");
    expect(await influence(store, memory)).toEqual(answer);
    change("PRAGMA application_id = 5; DELETE FROM hit");
    expect(await influence(store, memory)).toEqual(answer);
    change("DROP TABLE cite");
    expect(await influence(store, memory)).toEqual(answer);
    const other = await made("sqlite");
    writeFileSync(fileOf(store), readFileSync(fileOf(other.store)));
    expect(await influence(store, memory)).toEqual(answer);
    await Promise.all([store.close(), other.store.close()]);
  });

  it("[A7] where a file cannot be, it is done without", async () => {
    const { store, memory, answer, path } = await made("sqlite");
    rmSync(`${path}.memory`, { recursive: true });
    writeFileSync(`${path}.memory`, "somebody's file");
    expect(await influence(store, memory)).toEqual(answer);
    expect(await influence(store, memory)).toEqual(answer);
    expect(readFileSync(`${path}.memory`, "utf8")).toBe("somebody's file");
    await store.close();
  });

  it("[A8] leaves out what was erased or is not here, and takes it in when it comes", async () => {
    const store = await openStore(`sqlite:${folder()}/store.db`);
    const record = new HandRecord(16);
    const evidence = record.start("Blue.");
    const memory = record.write(record.start(), [evidence]);
    let read = record.reply(record.read(record.start("Go."), [memory]));
    // So many that they are kept outside of the line.
    const because = Array.from({ length: 99 }, () => {
      read = record.reply(read);
      return read;
    });
    const second = record.write(memory, because);
    const names = { "memory/notes": second, s: read, evidence };
    await record.to(store, names);
    const whole = await influence(store, memory);
    expect(whole).toMatchObject({ unresolved: 0, totals: { reads: 1, memories: 1 } });
    // A store that was sent everything but content.
    const bare = await openStore("memory:");
    for (const [name, id] of Object.entries(names))
      await bare.import(store.export(id, { blobs: false }), { name });
    expect(await influence(bare, memory)).toMatchObject({ unresolved: 2, totals: { reads: 0, memories: 0 } });
    await bare.sync(store);
    expect(await influence(bare, memory)).toEqual(whole);
    // Somebody has the readings erased: nobody knows then what they found.
    const line = (await store.line(whole.reads[0]?.id as FactId)) as string;
    const { blobs } = JSON.parse(line) as { blobs: { hits: { digest: string } } };
    await store.erase("s", { digests: [blobs.hits.digest], why: "asked for", by: "user:ada" });
    const after = await influence(store, memory);
    expect(after).toMatchObject({ unresolved: 1, totals: { reads: 0, memories: 0 } });
    rmSync(dirname(fileOf(store)), { recursive: true });
    expect(await influence(store, memory)).toEqual(after);
    await Promise.all([store.close(), bare.close()]);
  });

  it("[A8] counts evidence that is not here, and follows it when it comes", async () => {
    const store = await openStore("memory:");
    const record = new HandRecord();
    const memory = record.write(record.start(), [record.start("Blue.")]);
    await record.to(store, { "memory/notes": memory });
    const late = new HandRecord();
    const told = late.reply(late.read(late.start("Elsewhere."), [memory]));
    const second = record.write(memory, [told]);
    await record.to(store, { "memory/notes": second });
    expect(await influence(store, memory)).toMatchObject({
      unresolved: 1,
      totals: { reads: 0, memories: 0 },
    });
    await late.to(store);
    const found = await influence(store, memory);
    expect(found).toMatchObject({ unresolved: 0, totals: { reads: 1, memories: 1 } });
    await store.close();
  });
});
