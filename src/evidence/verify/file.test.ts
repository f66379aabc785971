import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { digestOf, Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { SigningKey } from "../proof/index.js";
import { flipped } from "../proof/testing/flip.js";
import { type VerifiedFile, verifyFile, verifyStore } from "./index.js";
import { exampleStore, linesOf, longErasure } from "./testing/example.js";

const folder = mkdtempSync(join(tmpdir(), "openrath-verify-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const key = SigningKey.make("ada");

async function example(): Promise<{ lines: string[]; heads: readonly string[] }> {
  const { store, heads } = await exampleStore(key);
  return { lines: await linesOf(store.export(heads)), heads };
}
const fileOf = (lines: readonly string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(""));
const toldAt = ({ intact, findings }: VerifiedFile, line: number): boolean =>
  !intact &&
  findings.some(
    (one) =>
      one.line === line || one.problem.includes(`line ${line} `) || one.problem.includes(`line ${line}`),
  );

it("[F1] a sound file has no findings, and the counts of the store", async () => {
  const { store, heads } = await exampleStore(key);
  const bytes = fileOf(await linesOf(store.export(heads)));
  const { facts, blobs, erased } = await store.check();
  expect(await verifyFile(bytes, { heads })).toMatchObject({
    kind: "lines",
    intact: true,
    findings: [],
    facts,
    blobs,
    erased,
  });
  expect(new Set((await verifyFile(bytes)).heads)).toEqual(new Set(heads));
  expect((await verifyFile(bytes)).erasures).toMatchObject([{ by: "user:ada", why: "asked for" }]);
  expect((await verifyFile(bytes.subarray(0, -1), { heads })).intact).toBe(true);
  const file = join(folder, "lines.jsonl");
  writeFileSync(file, bytes);
  const seen: number[] = [];
  expect(
    (
      await verifyFile(file, {
        heads: [heads[0]?.slice(0, 12) as string],
        progress: (lines) => seen.push(lines),
      })
    ).intact,
  ).toBe(true);
  expect(seen.at(-1)).toBe(bytes.toString().split("\n").length - 1);
});

it("[F2] flips, cuts, and lines left out, doubled or moved are found where they are", async () => {
  const { lines, heads } = await example();
  const bytes = fileOf(lines);
  const begins = [0, ...[...bytes.keys()].filter((place) => bytes[place] === 10).map((place) => place + 1)];
  for (let bit = 5; bit < (bytes.length - 1) * 8; bit += 331) {
    const found = await verifyFile(flipped(bytes, bit), { heads });
    const line = begins.findLastIndex((begin) => begin <= bit / 8) + 1;
    if (![-1, 0, 1].some((near) => toldAt(found, line + near)))
      expect.fail(`bit ${bit} is in line ${line}, found: ${JSON.stringify(found.findings.slice(0, 3))}`);
  }
  for (let length = 0; length < bytes.length - 1; length += 97)
    if ((await verifyFile(bytes.subarray(0, length), { heads })).intact) expect.fail(`cut at ${length}`);
  for (const [place, line] of lines.entries()) {
    // The fact that erased says what an erasure line says.
    if (line.startsWith('{"erased"')) continue;
    if ((await verifyFile(fileOf(lines.toSpliced(place, 1)), { heads })).intact)
      expect.fail(`line ${place + 1} left out`);
    if (!toldAt(await verifyFile(fileOf(lines.toSpliced(place, 0, line)), { heads }), place + 2))
      expect.fail(`line ${place + 1} twice`);
  }
  const many = lines.map((line, place) => (place % 5 === 3 ? line.replace("at", "ta") : line));
  const wrong = await verifyFile(fileOf(many), { heads });
  expect(wrong.findings.length).toBeGreaterThan(3);
  for (const { place, problem, line, offset } of wrong.findings)
    if (line !== undefined)
      expect([place, problem, offset]).toEqual([
        expect.stringMatching(/^line \d+$/),
        expect.anything(),
        begins[line - 1],
      ]);
});

it("[F5] an erasure is held against the list of its fact, also where that stands in a blob", async () => {
  const { lines, forged, list, head } = await longErasure();
  const said = await verifyFile(fileOf(lines), { heads: [head] });
  expect(said).toMatchObject({ intact: true, erased: 81, notices: [] });
  expect((await verifyFile(fileOf(lines.filter((line) => !line.startsWith('{"erased"'))))).erased).toBe(81);
  const found = await verifyFile(fileOf(forged), { heads: [head] });
  expect(forged).toHaveLength(lines.length);
  expect(found.findings).toMatchObject([
    {
      problem: expect.stringContaining("does not say"),
      line: forged.findIndex((one, place) => one !== lines[place]) + 1,
    },
    { problem: expect.stringContaining("is missing") },
  ]);
  const without = await verifyFile(fileOf(lines.filter((line) => !line.startsWith(`{"blob":"${list}"`))));
  expect(without.findings.filter(({ problem }) => problem.includes("does not say"))).toHaveLength(81);
  // A store takes the one and refuses the other, and tells neither on.
  const target = await openStore("memory:");
  await target.import(lines);
  expect(await target.erasures()).toHaveLength(81);
  const other = await openStore("memory:");
  await expect(other.import(forged)).rejects.toThrow(/is not what the fact/);
});

it("[F6] an erasure whose fact is not in the file is a finding; a good signature in a broken record is put right", async () => {
  const { store } = await exampleStore(key);
  const lines = await linesOf(store.export("private"));
  const claim = lines.find((line) => line.startsWith('{"erased"')) as string;
  const fact = "0".repeat(64);
  const elsewhere = lines
    .slice(0, -1)
    .map((line) => (line === claim ? line.replace(/"fact":"[0-9a-f]{64}"/, `"fact":"${fact}"`) : line));
  const told = await verifyFile(fileOf(elsewhere));
  expect(told).toMatchObject({ intact: false, erasures: [{ fact }] });
  const line = elsewhere.findIndex((one) => one.startsWith('{"erased"')) + 1;
  expect(told.findings).toMatchObject([{ line, problem: expect.stringContaining(`erased by ${fact}`) }]);
  expect((await verifyFile(fileOf(lines))).findings).toEqual([]);
  // An import does not believe it either: the content is missing there for as long as the fact does not come.
  const other = await openStore("memory:");
  await other.import(elsewhere);
  expect(await other.erasures()).toEqual([]);
  const digest = JSON.parse(claim).erased;
  const flagged = [{ place: `blob ${digest}`, problem: expect.stringContaining("it is missing") }];
  expect(await verifyStore(other)).toMatchObject({ intact: false, erased: 0, findings: flagged });
  await other.import(lines);
  expect(await verifyStore(other)).toMatchObject({ intact: true, erased: 1, findings: [] });
  await other.close();
  const main = await linesOf(store.export("main"));
  const options = { keys: { own: [key] } };
  expect((await verifyFile(fileOf(main), options)).notices.join()).not.toContain("not intact");
  const broken = await verifyFile(fileOf(main.slice(1)), options);
  expect(broken).toMatchObject({ intact: false, signatures: [{ verdict: "good" }] });
  expect(broken.notices.join()).toContain("this record is not intact");
});

it("[F7] a required head is an id or a beginning of one, or it is refused", async () => {
  const { lines, heads } = await example();
  const head = heads[0] as string;
  for (const wrong of ["", "0", head.slice(0, 7), `${head}0`, `${head}\n`, head.toUpperCase(), undefined, 7])
    await expect(
      verifyFile(fileOf(lines), { heads: [wrong as string] }),
      String(wrong),
    ).rejects.toMatchObject({
      code: "option-refused",
    });
  expect((await verifyFile(fileOf(lines), { heads: [head.slice(0, 8)] })).intact).toBe(true);
});

it("[F3] whatever a file is, the answer is a finding or a typed error", async () => {
  const line = Session.start("hi").line;
  for (const garbage of [
    "",
    "\n",
    "\n\n\n",
    "garbage",
    "{}",
    "[]\n[]",
    "null",
    "\ufeff{}",
    `${line}\r\n`,
    ` ${line}`,
    `${line}\n\n`,
    "[".repeat(200_000),
    `{"rath":1,"parents":[],"fact":${'{"a":'.repeat(5000)}1${"}".repeat(5000)}}`,
    `{"rath":9,"parents":[],"fact":{}}`,
    '{"blob":1}',
    '{"blob":"x","data":7}',
    '{"erased":null}',
    '{"__proto__":{"rath":1}}',
    "\ud800",
    "x".repeat(10_000_000),
    "\0".repeat(100_000),
  ]) {
    const { intact, findings } = await verifyFile(Buffer.from(garbage));
    expect([intact, findings.length > 0], garbage.slice(0, 60)).toEqual([false, true]);
  }
  expect((await verifyFile(Buffer.from([0xff, 0xfe, 0x00]))).findings[0]?.problem).toContain("UTF-8");
  for (const page of ["<!doctype html>\n<title>x", "  <HTML>"])
    await expect(verifyFile(Buffer.from(page))).rejects.toThrow(/page for people/);
  await expect(verifyFile(join(folder, "nothing"))).rejects.toThrow(/no such file/);
  await expect(verifyFile(folder)).rejects.toThrow(/no such file/);
  await expect(verifyFile(7 as unknown as string)).rejects.toMatchObject({ code: "store-url" });
  await expect(verifyFile(Buffer.from(line), { head: ["x"] } as never)).rejects.toThrow(
    /did you mean "heads"/,
  );
});

it("[F4] signed heads are told, and judged by the keys that are known", async () => {
  const { lines, heads } = await example();
  const [main] = heads;
  const bytes = fileOf(lines);
  const signaturesWith = async (options: Parameters<typeof verifyFile>[1]): Promise<unknown> =>
    (await verifyFile(bytes, options)).signatures;
  const told = { fact: main, key: key.label, by: "user:ada" };
  expect(await signaturesWith({})).toMatchObject([{ ...told, verdict: "unknown", standing: "unknown" }]);
  expect(await signaturesWith({ keys: { trusted: [key] } })).toMatchObject([
    { ...told, verdict: "good", standing: "trusted" },
  ]);
  expect((await verifyFile(bytes, { keys: { own: [key] }, heads })).intact).toBe(true);
  // The private session of the example is signed by nobody.
  expect((await verifyFile(bytes, { signedBy: [key] })).findings).toMatchObject([{ fact: heads[1] }]);
  const [line = ""] = lines.filter((one) => one.includes('"head-sign"'));
  const forged = line.replace('"by":"user:ada"', '"by":"user:eve"');
  const found = await verifyFile(fileOf(lines.map((one) => (one === line ? forged : one))), {
    keys: { own: [key] },
  });
  expect(found).toMatchObject({ intact: false, findings: [{ fact: digestOf(forged), type: "head-sign" }] });
});
