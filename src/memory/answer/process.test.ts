import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openStore } from "../../store/index.js";
import { openDatabase } from "../../store/sqlite/driver.js";
import { folder } from "../../store/testing/folder.js";
import { influence } from "./index.js";
import { clean, outputOf, startChild } from "./testing/child.js";
import { HandRecord } from "./testing/record.js";

const ASK = `
  const [url, memory] = process.argv.slice(2);
  const store = await openStore(url);
  process.stdout.write("ready\\n");
  await new Promise((go) => process.stdin.once("data", go));
  process.stdin.destroy();
  const answer = await withLineage(store, undefined, (file) => ({
    reads: reachOf(file, memory).reads,
    facts: file.get("SELECT sum(n) AS n FROM amount WHERE type <> ''").n,
  }));
  await store.close();
  process.stdout.write(JSON.stringify(answer));
`;

/** Some thousand facts, of which most come from a reading. */
function many(): { readonly record: HandRecord; readonly memory: string; readonly head: string } {
  const record = new HandRecord();
  const memory = record.write(record.start(), [record.start("Blue.")]);
  let head = record.read(record.start("Go."), [memory]);
  for (let count = 0; count < 4_000; count++)
    head = count % 50 === 0 ? record.say(head, "On.") : record.reply(head);
  return { record, memory, head };
}

describe("several who ask at once", () => {
  afterAll(clean);

  it.each(["sqlite"])("[A9] processes that share a %s store are told the same", async (kind) => {
    const url = `${kind}:${join(folder(), "store")}`;
    const store = await openStore(url);
    const { record, memory, head } = many();
    await record.to(store, { "memory/notes": memory, s: head });
    const children = [1, 2, 3].map(() => startChild(ASK, [url, memory]));
    const outputs = children.map(outputOf);
    await Promise.all(children.map((child) => new Promise((ready) => child.stdout?.once("data", ready))));
    for (const child of children) child.stdin?.end("go");
    const told = (await Promise.all(outputs)).map((text) => JSON.parse(text.replace("ready\n", "")));
    const own = await influence(store, memory);
    expect(own.totals.facts).toBe(1 + 80 + 3_920 * 2);
    for (const answer of told) expect(answer).toEqual({ reads: own.reads, facts: own.totals.facts });
    await store.close();
  });

  it("[A9] one that was killed while it made the index leaves nothing in the way", async () => {
    const path = join(folder(), "store");
    const store = await openStore(`sqlite:${path}`);
    const { record, memory, head } = many();
    await record.to(store, { "memory/notes": memory, s: head });
    const body = `
      const [url, memory] = process.argv.slice(2);
      const store = await openStore(url);
      await withLineage(store, (done) => { if (done > 3000) process.kill(process.pid, "SIGKILL"); }, () => memory);
    `;
    await outputOf(startChild(body, [`sqlite:${path}`, memory]));
    expect((await influence(store, memory)).totals.facts).toBe(1 + 80 + 3_920 * 2);
    const database = openDatabase(join(`${path}.memory`, "lineage.sqlite"));
    expect(database.prepare("SELECT count(*) AS n FROM fact").get()?.n).toBe(1 + 80 + 3_920 * 2);
    database.close();
    await store.close();
  });

  it("[A9] questions in one process, through two openings of a store, are all answered", async () => {
    const url = `sqlite:${join(folder(), "store.db")}`;
    const stores = [await openStore(url), await openStore(url)] as const;
    const { record, memory, head } = many();
    await record.to(stores[0], { "memory/notes": memory, s: head });
    const answers = await Promise.all([0, 1, 0, 1].map((which) => influence(stores[which as 0 | 1], memory)));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    for (const store of stores) await store.close();
  });

  it("[A12] others of the process go on while the index is made", async () => {
    const store = await openStore("memory:");
    const { record, memory, head } = many();
    await record.to(store, { "memory/notes": memory, s: head });
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await influence(store, memory, { most: 1 });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
  });
});
