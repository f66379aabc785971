import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { digestOf, RecordError } from "../../session/index.js";
import { campaign } from "../../session/testing/campaign.js";
import { openStore } from "../open.js";
import { numbersFrom, SEED } from "../testing/crash.js";
import { dependingOn, exampleStore, type Original, recoversOnlyWhatWas } from "../testing/damage.js";
import { folder } from "../testing/folder.js";
import { recover } from "./recover.js";

const FLIPS = Number(process.env.OPENRATH_FLIPS ?? campaign(120));

/** The export of "main" as one text, and what it must come back to. */
async function example(): Promise<{ lines: readonly string[]; head: string; original: Original }> {
  const original = await exampleStore();
  const head = original.names.get("main") as string;
  const lines = original.exports.get(head) as readonly string[];
  const kept = new Map(lines.filter(isFact).map((line) => [digestOf(line), line]));
  const parents = new Map([...kept.keys()].map((id) => [id, original.parents.get(id) as readonly string[]]));
  return { lines, head, original: { ...original, lines: kept, parents, names: new Map() } };
}

const isFact = (line: string): boolean => line.startsWith('{"rath":');

/** Imports damaged lines. They are refused with the number of a line, or are what was exported; the target stays sound. */
async function refusedOrWhole(
  lines: string | Iterable<string>,
  head: string,
  whole: readonly string[],
  what: string,
): Promise<number | undefined> {
  const target = await openStore("memory:");
  try {
    await target.import(lines, { head });
  } catch (error) {
    expect(error, what).toBeInstanceOf(RecordError);
    const { line } = (error as RecordError).data;
    expect(line, what).toBeTypeOf("number");
    // Blobs that were left out are missing; nothing else is wrong, and the whole export still comes in.
    expect(
      (await target.check()).findings.filter(({ problem }) => !problem.startsWith("it is missing, and")),
      what,
    ).toEqual([]);
    await target.import(whole, { head });
    expect((await target.check()).findings, what).toEqual([]);
    return line as number;
  }
  const exported: string[] = [];
  for await (const line of target.export(head)) exported.push(line);
  if (exported.filter(isFact).join("\n") !== whole.filter(isFact).join("\n"))
    throw new Error(`${what}: another record was imported, and nobody said so`);
  return undefined;
}

it("[K7] a cut-off export is told at its last line, and all whole lines before the cut are recovered", async () => {
  const { lines, head, original } = await example();
  const text = `${lines.join("\n")}\n`;
  const last = text.length - 1 - (lines.at(-1) as string).length;
  const before = last - 1 - (lines.at(-2) as string).length;
  const bytes = Buffer.from(text);
  const skip = bytes.length - text.length;
  for (let length = before + skip; length < bytes.length - 1; length += 1) {
    const cut = bytes.subarray(0, length).toString("utf8");
    const what = `cut to ${length}`;
    const target = await openStore("memory:");
    await expect(
      target.import(cut.slice(cut.lastIndexOf("\n", before - 2) + 1), { head }),
      what,
    ).rejects.toBeInstanceOf(RecordError);
    if (length % 64 !== 0) continue;
    expect(await refusedOrWhole(cut, head, lines, what)).toBeGreaterThanOrEqual(lines.length - 2);
    const { ids } = await recoversOnlyWhatWas(cut.split("\n"), original, `cut to ${length}`);
    expect(ids.size, `cut to ${length}`).toBe(
      cut.split("\n").filter((line) => isFact(line) && original.lines.has(digestOf(line))).length,
    );
  }
  expect(await refusedOrWhole(text.slice(0, -1), head, lines, "without its last newline")).toBeUndefined();
  for (const nothing of ["", "\n", "\n\n\n"])
    expect(await refusedOrWhole(nothing, head, lines, "empty")).toBeTypeOf("number");
});

it(`[K8] ${FLIPS} flipped bits in an export (seed ${SEED}): refused with the line, and what does not depend on it is recovered`, async () => {
  const { lines, head, original } = await example();
  const text = Buffer.from(`${lines.join("\n")}\n`);
  const random = numbersFrom(SEED);
  let refused = 0;
  for (let flip = 0; flip < FLIPS; flip++) {
    const [at, bit] = [random(text.length), random(8)];
    const damaged = Buffer.from(text);
    damaged[at] = (damaged[at] as number) ^ (1 << bit);
    const what = `seed ${SEED}, bit ${bit} of byte ${at}`;
    const path = join(folder(), "export.jsonl");
    writeFileSync(path, damaged);
    const number = await refusedOrWhole(damaged.toString("utf8"), head, lines, what);
    if (number !== undefined) refused += 1;
    const hit = text.subarray(0, at).toString("latin1").split("\n").length - 1;
    const isHead = hit === lines.length - 1;
    // The newest line has nothing behind it that would confirm it: only the head that was asked for can.
    if (isHead) continue;
    const { ids } = await recoversOnlyWhatWas(`file:${path}`, original, what);
    expectRest(original, lines, hit, ids, what);
  }
  expect(refused).toBeGreaterThan(FLIPS / 2);
});

/** All but what depends on a damaged line; and but the fact before it, which nothing confirms any more. */
function expectRest(
  original: Original,
  lines: readonly string[],
  hit: number,
  ids: ReadonlySet<string>,
  what: string,
): void {
  const line = lines[hit] as string;
  const lost = isFact(line) ? [digestOf(line)] : [];
  const parents = lost.flatMap((id) => original.parents.get(id) ?? []);
  const glued = isFact(lines[hit + 1] ?? "") ? [digestOf(lines[hit + 1] as string)] : [];
  const gone = dependingOn(original, ...lost, ...parents, ...glued);
  for (const id of original.lines.keys())
    if (!gone.has(id) && !ids.has(id))
      throw new Error(`${what}: line ${hit + 1} was hit, and ${id} is lost with it`);
}

it(`[K9] lines doubled, moved, left out, altered or strange (seed ${SEED}): refused with the line, and the rest is recovered`, async () => {
  const { lines, head, original } = await example();
  const random = numbersFrom(SEED);
  const facts = lines.flatMap((line, index) => (isFact(line) ? [index] : []));
  const some = Array.from({ length: campaign(32) }, () => facts[1 + random(facts.length - 2)] as number);
  for (const index of some) {
    const line = lines[index] as string;
    const doubled = [...lines.slice(0, index + 1), ...lines.slice(index)];
    expect(await refusedOrWhole(doubled, head, lines, "doubled")).toBe(index + 2);
    expect((await recoversOnlyWhatWas(doubled, original, "doubled")).ids.size).toBe(original.lines.size);

    const moved = [...lines.slice(0, index), ...lines.slice(index + 1), line];
    expect(await refusedOrWhole(moved, head, lines, "moved")).toBeTypeOf("number");
    expect((await recoversOnlyWhatWas(moved, original, "moved")).ids.size).toBe(original.lines.size);

    const without = [...lines.slice(0, index), ...lines.slice(index + 1)];
    expect(await refusedOrWhole(without, head, lines, "left out")).toBeTypeOf("number");
    expectRest(
      original,
      lines,
      index,
      (await recoversOnlyWhatWas(without, original, "left out")).ids,
      "left out",
    );

    for (const strange of [
      `${line}\r`,
      "\0".repeat(line.length),
      `${line.slice(0, 100)}\0${line.slice(101)}`,
      line.replace('{"rath":1', '{"rath":2'),
      `{"rath":1,"parents":[],"fact":{"type":"note","at":"x","by":"user","deep":${"[".repeat(20_000)}${"]".repeat(20_000)}}}`,
      "x".repeat(5_000_000),
      "[]",
      "null",
      "\ufeff",
      '{"blob":"',
      '{"blob":null}',
      '{"erased":{}}',
    ]) {
      const altered = [...lines.slice(0, index), strange, ...lines.slice(index + 1)];
      const what = `line ${index + 1} is ${JSON.stringify(strange.slice(0, 30))}`;
      expect(await refusedOrWhole(altered, head, lines, what), what).toBe(index + 1);
      if (strange.length < 1_000_000 || index === some[0])
        expectRest(original, lines, index, (await recoversOnlyWhatWas(altered, original, what)).ids, what);
    }
  }
  const shuffled = [...lines].sort((one, other) => (digestOf(one) < digestOf(other) ? -1 : 1));
  expect(await refusedOrWhole(shuffled, head, lines, "shuffled")).toBeTypeOf("number");
  expect((await recoversOnlyWhatWas(shuffled, original, "shuffled")).ids.size).toBe(original.lines.size);
  const crlf = lines.map((line) => `${line}\r\n`).join("");
  expect(await refusedOrWhole(crlf, head, lines, "CRLF")).toBe(1);
  expect((await recoversOnlyWhatWas(crlf.split("\n"), original, "CRLF")).ids.size).toBe(original.lines.size);
  // Two lines glued together, as a lost newline leaves them: facts, and a fact and a blob in either order.
  for (const [one, other] of [
    ['"}}\n{"rath"', '"}}{"rath"'],
    ['"}\n{"rath"', '"}{"rath"'],
    ['}\n{"blob"', '}{"blob"'],
  ] as const) {
    const glued = lines.join("\n").replace(one, other);
    expect(glued, one).not.toBe(lines.join("\n"));
    expect(await refusedOrWhole(glued, head, lines, "glued")).toBeTypeOf("number");
    const { ids } = await recoversOnlyWhatWas(glued.split("\n"), original, "glued");
    expect(ids.size, one).toBe(original.lines.size);
  }
});

it("[K10] a damaged blob costs its content alone, and is named", async () => {
  const { lines, head, original } = await example();
  const index = lines.findIndex((line) => line.startsWith('{"blob":'));
  const line = lines[index] as string;
  const digest = line.slice(9, 73);
  for (const damaged of [
    line.replace(/.{8}"\}$/, 'AAAAAAAA"}'),
    line.replace(digest, "0".repeat(64)),
    line.slice(0, -20),
    line.replace('"data":"', '"data":"%'),
  ]) {
    const altered = [...lines.slice(0, index), damaged, ...lines.slice(index + 1)];
    expect(await refusedOrWhole(altered, head, lines, damaged.slice(0, 90))).toBe(index + 1);
    const { ids, findings } = await recoversOnlyWhatWas(altered, original, "a blob");
    expect(ids.size).toBe(original.lines.size);
    expect(findings.map(({ place }) => place)).toEqual([`line ${index + 1}`, `blob ${digest}`]);
  }
});

it("[K11] what was erased is still known to be erased after a recovery, and nothing is called lost", async () => {
  const original = await exampleStore();
  const sources = [
    `sqlite:${original.path}`,
    original.exports.get(original.names.get("private") as string) as readonly string[],
  ];
  for (const source of sources) {
    const target = await openStore("memory:");
    expect((await recover(source, target)).findings).toEqual([]);
    expect(await target.check()).toMatchObject({ erased: 1, findings: [] });
  }
});

it("[K13] where nothing is, or nothing of ours, recovering says so and leaves the target alone", async () => {
  const target = await openStore("memory:");
  const path = join(folder(), "file");
  for (const url of [`sqlite:${path}`, `file:${path}`, "nonsense", "memory:"])
    await expect(recover(url, target)).rejects.toMatchObject({ code: "store-url" });
  writeFileSync(path, "not a database, by far. ".repeat(1000));
  await expect(recover(`sqlite:${path}`, target)).rejects.toMatchObject({ code: "store-not-a-store" });
  expect((await recover(`file:${path}`, target)).findings.length).toBe(1);
  expect((await target.check()).facts).toBe(0);
});
