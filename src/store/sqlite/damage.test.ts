import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { digestOf } from "../../session/index.js";
import { campaign } from "../../session/testing/campaign.js";
import { openStore } from "../open.js";
import type { Store } from "../store.js";
import { numbersFrom, SEED } from "../testing/crash.js";
import {
  collect,
  damagedCopy,
  dependingOn,
  exampleStore,
  isTyped,
  type Original,
  recoversOnlyWhatWas,
  tellsOrIsWhole,
} from "../testing/damage.js";
import { folder } from "../testing/folder.js";
import { openDatabase } from "./driver.js";

const FLIPS = Number(process.env.OPENRATH_FLIPS ?? campaign(120));
const PAGE = 4096;

/** One damaged copy: never another record in silence, and all that is intact comes back. */
async function survives(
  original: Original,
  what: string,
  files: { readonly [suffix: string]: Uint8Array | undefined },
): Promise<{ told: boolean; recovered: Set<string> }> {
  const recovered = await recoversOnlyWhatWas(`sqlite:${damagedCopy(original.path, files)}`, original, what);
  const told = await tellsOrIsWhole(`sqlite:${damagedCopy(original.path, files)}`, original, what);
  if (!told)
    expect(recovered.ids.size, `${what}: nothing is wrong, so nothing is lost`).toBe(original.lines.size);
  return { told, recovered: recovered.ids };
}

it(`[K2] ${FLIPS} flipped bits in a database (seed ${SEED}): an error, a finding, or the record as it was; never another one`, async () => {
  const original = await exampleStore();
  const bytes = readFileSync(original.path);
  const random = numbersFrom(SEED);
  const lineAt = linesAt(bytes, original);
  let told = 0;
  for (let flip = 0; flip < FLIPS; flip++) {
    const at = random(bytes.length);
    const bit = random(8);
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] as number) ^ (1 << bit);
    const result = await survives(original, `seed ${SEED}, bit ${bit} of byte ${at}`, { "": damaged });
    if (result.told) told += 1;
    // A flip inside a line costs that line and what comes from it, nothing else.
    const hit = lineAt(at);
    const gone = hit === undefined ? undefined : dependingOn(original, hit);
    for (const id of gone === undefined ? [] : original.lines.keys()) {
      if (!gone?.has(id) && !result.recovered.has(id))
        throw new Error(`seed ${SEED}: byte ${at} hit ${hit}, and ${id} is lost with it`);
    }
  }
  expect(told).toBeGreaterThan(FLIPS / 4);
});

it(`[K3] a database cut off, with pages zeroed or swapped, or with garbage behind it (seed ${SEED}): told, and the rest is recovered`, async () => {
  const original = await exampleStore();
  const bytes = readFileSync(original.path);
  const random = numbersFrom(SEED);
  const pages = Math.floor(bytes.length / PAGE);
  for (const length of [
    0,
    1,
    15,
    16,
    99,
    100,
    PAGE - 1,
    PAGE,
    ...Array.from({ length: campaign(48) }, () => random(bytes.length)),
    bytes.length - 1,
  ]) {
    await survives(original, `cut to ${length} bytes`, { "": bytes.subarray(0, length) });
  }
  let most = 0;
  for (let page = 0; page < pages; page++) {
    const damaged = Buffer.from(bytes);
    damaged.fill(0, page * PAGE, (page + 1) * PAGE);
    const { recovered } = await survives(original, `page ${page + 1} zeroed`, { "": damaged });
    most = Math.max(most, recovered.size);
  }
  expect(most).toBe(original.lines.size);
  for (let swap = 0; swap < campaign(40); swap++) {
    const [one, other] = [1 + random(pages - 1), 1 + random(pages - 1)];
    const damaged = Buffer.from(bytes);
    bytes.copy(damaged, one * PAGE, other * PAGE, (other + 1) * PAGE);
    bytes.copy(damaged, other * PAGE, one * PAGE, (one + 1) * PAGE);
    await survives(original, `seed ${SEED}, pages ${one + 1} and ${other + 1} swapped`, { "": damaged });
  }
  for (const garbage of [1, 100, PAGE, 3 * PAGE + 7]) {
    const tail = Buffer.from(Array.from({ length: garbage }, () => random(256)));
    const { recovered } = await survives(original, `${garbage} bytes of garbage`, {
      "": Buffer.concat([bytes, tail]),
    });
    expect(recovered.size).toBe(original.lines.size);
  }
});

it("[K4] a header or a schema that is gone takes no fact with it", async () => {
  const original = await exampleStore();
  const bytes = readFileSync(original.path);
  for (const [from, to] of [
    [0, 16],
    [16, 100],
    [0, 100],
  ] as const) {
    const damaged = Buffer.from(bytes).fill(0, from, to);
    const { recovered } = await survives(original, `bytes ${from} to ${to} zeroed`, { "": damaged });
    expect(recovered.size).toBe(original.lines.size);
  }
  const { recovered } = await survives(original, "first page zeroed", {
    "": Buffer.from(bytes).fill(0, 0, PAGE),
  });
  expect(recovered.size).toBe(original.lines.size);
});

it("[K5] an altered line costs itself and what comes from it; its name goes back to the newest fact that is left", async () => {
  const original = await exampleStore();
  for (const [word, table, column] of [
    ["step 50 ", "packs", "lines"],
    ["aside 33 ", "packs", "lines"],
    ["after 39", "packs", "lines"],
    ["fresh 7 ", "fresh", "line"],
    ["fresh 29 ", "fresh", "line"],
    ['"tip"', "fresh", "line"],
  ] as const) {
    const path = damagedCopy(original.path, {});
    const database = openDatabase(path);
    database.exec(
      `UPDATE ${table} SET ${column} = replace(${column}, '${word}', '${word.replace(/[a-z]/, "Q")}')`,
    );
    database.close();
    const [hit] = [...original.lines].find(([, line]) => line.includes(word)) as [string, string];
    const gone = dependingOn(original, hit);
    const { ids, names } = await recoversOnlyWhatWas(`sqlite:${path}`, original, word);
    expect(
      [...original.lines.keys()].filter((id) => !ids.has(id)),
      word,
    ).toEqual([...original.lines.keys()].filter((id) => gone.has(id)));
    // All of "private" stands on its own.
    expect(names.get("private")).toBe(original.names.get("private"));
    expect([...names.keys()].sort()).toEqual([...original.names.keys()].sort());
    expect(await tellsOrIsWhole(`sqlite:${path}`, original, word)).toBe(true);
  }
});

it("[K16] a row of a name or a step that says something else is found: it would repeat a step or let a stale writer in", async () => {
  const original = await exampleStore();
  for (const change of [
    "UPDATE names SET name = 'mien' WHERE name = 'main'",
    "UPDATE names SET epoch = epoch + 1",
    "UPDATE names SET owner = 'someone', until = 9e15 WHERE name = 'main'",
    "UPDATE names SET until = until + 1",
    "UPDATE names SET p = (SELECT p FROM names WHERE name = 'main'), id = (SELECT id FROM names WHERE name = 'main') WHERE name = 'side'",
    "UPDATE steps SET key = 'forth' WHERE id = (SELECT id FROM names WHERE name = 'main')",
    "UPDATE steps SET name = 'tip' WHERE name = 'side'",
    "UPDATE steps SET id = (SELECT id FROM names WHERE name = 'side')",
  ]) {
    const path = damagedCopy(original.path, {});
    const database = openDatabase(path);
    database.exec(change);
    database.close();
    const store = await openStore(`sqlite:${path}`);
    expect((await store.check()).findings, change).not.toEqual([]);
    await store.close();
  }
});

it(`[K6] a log that is damaged, cut or gone (seed ${SEED}): told, or the store as it stood at an earlier commit`, async () => {
  const random = numbersFrom(SEED);
  const kept = join(folder(), "kept");
  const standings = new Set<string>();
  const original = await exampleStore(async (store, path) => {
    let session = await store.load("main");
    for (let step = 0; step < 30; step++) {
      session = session.say(`logged ${step} ${"w".repeat(step % 7 === 0 ? 6000 : 10)}`);
      await store.save(session, { name: "main" });
      standings.add(session.id);
      if (step === 0) for (const parent of session.history()) standings.add(parent.id);
    }
    for (const suffix of ["", "-wal"]) copyFileSync(path + suffix, kept + suffix);
  });
  const log = readFileSync(`${kept}-wal`);
  expect(log.length).toBeGreaterThan(30 * PAGE);
  let told = 0;
  const damages: [what: string, log: Buffer | undefined][] = [
    ["gone", undefined],
    ["empty", Buffer.alloc(0)],
  ];
  for (let cut = 0; cut < campaign(32); cut++) {
    const length = random(log.length);
    damages.push([`cut to ${length}`, log.subarray(0, length)]);
  }
  for (let flip = 0; flip < campaign(96); flip++) {
    const damaged = Buffer.from(log);
    // The salt, then the number of a page: it comes to stand half a million pages behind the others.
    const at = [17, 32 + 39 * (24 + PAGE)][flip] ?? random(log.length);
    damaged[at] = (damaged[at] as number) ^ (flip === 1 ? 0x1f : 1 << random(8));
    damages.push([`byte ${at} flipped`, damaged]);
  }
  for (const [what, damaged] of damages) {
    const why = `seed ${SEED}, log ${what}`;
    const { ids } = await recoversOnlyWhatWas(
      `sqlite:${damagedCopy(kept, { "-wal": damaged })}`,
      { ...original, names: new Map() },
      why,
      true,
    );
    const url = `sqlite:${damagedCopy(kept, { "-wal": damaged })}`;
    let store: Store;
    try {
      store = await openStore(url);
    } catch (error) {
      isTyped(error, why);
      told += 1;
      // Where a page of the log was altered, the others are still there: at worst it is the first of the facts in it.
      expect(ids.size, why).toBeGreaterThan(original.lines.size - 70);
      continue;
    }
    expect((await store.check()).findings, why).toEqual([]);
    const exported: string[] = [];
    for (const { name, id } of await store.names()) {
      exported.push(...(await collect(store.export(id, { blobs: false }))));
      if (name === "main") expect(standings.has(id), why).toBe(true);
    }
    for (const line of exported) expect(original.lines.get(digestOf(line)), why).toBe(line);
    for (const line of exported)
      expect(ids.has(digestOf(line)), `${why}: what opens is recovered too`).toBe(true);
    await store.close();
  }
  // Commits behind a damaged one were durable; only the last ones could be what a crash cut short.
  expect(told).toBeGreaterThan(campaign(48));
});

/** Which line lies at a place of the file, for those that lie there in one piece. */
function linesAt(bytes: Buffer, original: Original): (at: number) => string | undefined {
  const spans: { from: number; to: number; id: string }[] = [];
  for (const [id, line] of original.lines) {
    const text = Buffer.from(line);
    for (let from = bytes.indexOf(text); from >= 0; from = bytes.indexOf(text, from + 1))
      spans.push({ from, to: from + text.length, id });
  }
  return (at) => spans.find(({ from, to }) => at >= from && at < to)?.id;
}
