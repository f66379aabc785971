import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { digestOf, Session } from "../../session/index.js";
import { openStore } from "../open.js";
import { numbersFrom, SEED } from "../testing/crash.js";
import { dependingOn, originalOf, recoversOnlyWhatWas } from "../testing/damage.js";
import { folder } from "../testing/folder.js";
import { importFolder } from "./recover.js";

/** Written by the store `file:` of version 0.1. */
const FOLDER = fileURLToPath(new URL("../../../test/cli/folder-0.1/", import.meta.url));
const FLIPS = Number(process.env.OPENRATH_FLIPS ?? 120);
const HEADS = {
  balloons: "80f76eb760de8b0863d86641bf5b737408d8b9e46cba2a0f6bb08c45e75a7fd9",
  "balloons/side": "66c677c19e4af98b5f331cab171020a3da631aa5f1856ffa05803428e835e814",
  erasable: "f7293ab29b3ded485f9adf092f3dcd89b369cfd41242d00f0e88ddfeaef9bae6",
  quiet: "58a33bc65273a8fa29906abf84819de3ccf892a9858ad6eca09882cb3bde2d0b",
};

it("[S137] a folder is no longer opened as a store: the error says what to type", async () => {
  await expect(openStore(`file:${FOLDER}`)).rejects.toMatchObject({
    code: "store-unsupported",
    hint: expect.stringContaining(`rath import ${FOLDER} --store sqlite:`),
  });
});

it("[S138] a folder of 0.1 comes into a store with its facts, blobs, names, steps, erasures and keys", async () => {
  for (const url of ["memory:", `sqlite:${join(folder(), "rath.db")}`]) {
    const store = await openStore(url);
    expect(await importFolder(FOLDER, store)).toMatchObject({
      facts: 13,
      blobs: 6,
      names: ["balloons", "balloons/side", "quiet", "erasable"],
      findings: [],
    });
    expect(Object.fromEntries((await store.names()).map(({ name, id }) => [name, id]))).toEqual(HEADS);
    expect(await store.check()).toEqual({ facts: 13, blobs: 6, erased: 1, findings: [] });
    const lines = new Set<string>();
    for await (const line of store.export(Object.values(HEADS), { blobs: false })) lines.add(line);
    const written = readFileSync(join(FOLDER, "facts.jsonl"), "utf8").split("\n").slice(0, -1);
    expect(written.filter((line) => !lines.has(line)).map(digestOf)).toEqual([
      expect.stringMatching(/^b64fae4b/),
    ]);
    const balloons = await store.load("balloons");
    const first = balloons.parents[0]?.parents[0] as Session;
    expect(await store.save(first, { name: "balloons", key: "step 1" })).toEqual({
      id: first.id,
      written: 0,
      replayed: true,
    });
    // The salt is made of the key: with it, the same words have the same digest again.
    const erasable = await store.load("erasable");
    const root = erasable.parents[0] as Session;
    const { at } = erasable.fact;
    expect(root.say("salted words", { at }).id).toBe(erasable.id);
    await store.close();
  }
});

it("[S139] names of a folder move only forward; one that stands elsewhere in the store stays", async () => {
  const store = await openStore("memory:");
  const mine = Session.start("mine");
  await store.save(mine, { name: "quiet" });
  await importFolder(FOLDER, store);
  const ahead = (await store.load("balloons")).say("ahead");
  await store.save(ahead, { name: "balloons" });
  const { names } = await importFolder(FOLDER, store);
  expect(names).toEqual(["balloons", "balloons/side", "quiet+2", "erasable"]);
  expect(Object.fromEntries((await store.names()).map(({ name, id }) => [name, id]))).toEqual({
    ...HEADS,
    balloons: ahead.id,
    quiet: mine.id,
    "quiet+2": HEADS.quiet,
  });
});

it(`[K12] a folder with ${FLIPS} flipped bits, with files cut or gone (seed ${SEED}): only what was is recovered, and all that does not depend on the damage`, async () => {
  const whole = await openStore("memory:");
  await importFolder(FOLDER, whole);
  // The fact that no name leads to is recovered too.
  const loose = readFileSync(join(FOLDER, "facts.jsonl"), "utf8").split("\n").at(-2) as string;
  await whole.point("loose", digestOf(loose));
  const original = await originalOf(whole, FOLDER);
  (original.names as Map<string, string>).delete("loose");
  const random = numbersFrom(SEED);
  const attempt = async (file: string, bytes: Uint8Array | undefined, what: string): Promise<Set<string>> => {
    const copy = join(folder(), "rath");
    cpSync(FOLDER, copy, { recursive: true });
    if (bytes === undefined) rmSync(join(copy, file));
    else writeFileSync(join(copy, file), bytes);
    return (await recoversOnlyWhatWas(`file:${copy}`, original, what)).ids;
  };
  const flipped = (bytes: Buffer): { at: number; bytes: Buffer } => {
    const [at, damaged] = [random(bytes.length), Buffer.from(bytes)];
    damaged[at] = (damaged[at] as number) ^ (1 << random(8));
    return { at, bytes: damaged };
  };
  const facts = readFileSync(join(FOLDER, "facts.jsonl"));
  const lines = facts.toString("utf8").split("\n").slice(0, -1);
  for (let flip = 0; flip < FLIPS / 2; flip++) {
    const { at, bytes } = flipped(facts);
    const what = `seed ${SEED}, byte ${at} of facts.jsonl`;
    const ids = await attempt("facts.jsonl", bytes, what);
    const hit = facts.subarray(0, at).toString("latin1").split("\n").length - 1;
    const lost = [hit, hit + 1].flatMap((index) =>
      index < lines.length ? digestOf(lines[index] as string) : [],
    );
    const gone = dependingOn(original, ...lost, ...lost.flatMap((id) => original.parents.get(id) ?? []));
    const missing = [...original.lines.keys()].filter((id) => !gone.has(id) && !ids.has(id));
    expect(missing, what).toEqual([]);
  }
  const names = readFileSync(join(FOLDER, "names.jsonl"));
  for (let flip = 0; flip < FLIPS / 4; flip++) {
    const { at, bytes } = flipped(names);
    const ids = await attempt("names.jsonl", bytes, `seed ${SEED}, byte ${at} of names.jsonl`);
    expect(ids.size).toBeGreaterThan(original.lines.size - 5);
  }
  for (let cut = 0; cut < FLIPS / 8; cut++) {
    const length = random(facts.length);
    const ids = await attempt("facts.jsonl", facts.subarray(0, length), `facts.jsonl cut to ${length}`);
    expect(ids.size).toBeGreaterThanOrEqual(
      facts.subarray(0, length).toString("latin1").split("\n").length - 2,
    );
  }
  expect((await attempt("facts.jsonl", undefined, "without facts.jsonl")).size).toBe(0);
  expect(
    (await attempt("keys.jsonl", flipped(readFileSync(join(FOLDER, "keys.jsonl"))).bytes, "keys")).size,
  ).toBe(original.lines.size);
});
