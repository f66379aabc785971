import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { digestOf, type Json, Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { SigningKey } from "../proof/index.js";
import { Growth, leafHash } from "../proof/merkle.js";
import { flipped } from "../proof/testing/flip.js";
import { type RecordLine, readRecordLine, type VerifiedFile, verifyFile } from "../verify/index.js";
import { exampleStore, linesOf, sameLabel, textOf } from "../verify/testing/example.js";
import { bundleLines, readBundle, type Seal, writeBundle } from "./index.js";

const folder = mkdtempSync(join(tmpdir(), "openrath-bundle-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const key = SigningKey.make("ada");
const about = { title: "Issue 41", sessions: ["main", "private"] };
const view: Json = { task: "Fix it \u2028 é", steps: [1, 2, { three: null }], "10": 1, "9": 2 };

async function example(sign: readonly SigningKey[] = [key]): Promise<{ text: string; lines: string[] }> {
  const { store, heads } = await exampleStore(key);
  const text = await textOf(writeBundle(store, heads, { about, view, sign }));
  return { text, lines: await linesOf(store.export(heads)) };
}

/** Most lines are the same in every damaged copy: what they say is remembered. */
function remembering(): (bytes: Buffer) => RecordLine {
  const known = new Map<string, RecordLine>();
  return (bytes) => {
    const text = bytes.toString("latin1");
    let line = known.get(text);
    if (line === undefined) {
      line = readRecordLine(bytes);
      if (known.size < 10_000) known.set(text, line);
    }
    return line;
  };
}

it("[B1] a bundle is JSON, and its record is that of an export", async () => {
  const { text, lines } = await example();
  const parsed = JSON.parse(text) as { about: Json; view: Json; lines: Json[] };
  expect(parsed.about).toEqual(about);
  expect(parsed.view).toEqual(view);
  expect(parsed.lines.map((line) => JSON.stringify(line))).toEqual(lines);
  const bundle = await readBundle(Buffer.from(text));
  expect(bundle).toMatchObject({ about, view, verified: { intact: true, kind: "bundle" } });
  expect(await linesOf(bundle.lines())).toEqual(lines);
  const target = await openStore("memory:");
  await target.import(bundleLines(Buffer.from(text)), { name: "private" });
  expect((await target.check()).findings).toEqual([]);
  expect(await linesOf(target.export(bundle.verified.heads))).toEqual(lines);
  expect(await target.erasures()).toHaveLength(1);
});

it("[B2] the seal can be computed by anybody", async () => {
  const { text, lines } = await example();
  const { seal, digest } = JSON.parse(text) as { seal: Seal; digest: string };
  const facts = lines.filter((line) => line.startsWith('{"rath"'));
  const tree = new Growth();
  for (const line of facts) tree.add(leafHash(createHash("sha256").update(line).digest()));
  expect(seal).toMatchObject({
    facts: facts.length,
    blobs: lines.filter((line) => line.startsWith('{"blob"')).length,
    erased: 1,
    root: tree.root().toString("hex"),
    sums: lines.map((line) => digestOf(line).slice(0, 8)).join(""),
  });
  expect(seal.sections.lines).toBe(digestOf(lines.map((line) => `${line}\n`).join("")));
  expect(seal.sections.view).toBe(digestOf(JSON.stringify(JSON.parse(text).view)));
  expect(digest).toBe(digestOf(JSON.stringify(seal)));
});

it("[B3] any bit of a bundle matters, and is told with section and line (every 211th)", async () => {
  const read = remembering();
  for (const sign of [[key], []]) {
    const bytes = Buffer.from((await example(sign)).text);
    const sound = await verifyFile(bytes, { read });
    expect(sound.findings).toEqual([]);
    const begins = [0, ...[...bytes.keys()].filter((place) => bytes[place] === 10).map((place) => place + 1)];
    for (let bit = 3; bit < bytes.length * 8; bit += 211) {
      const found = await verifyFile(flipped(bytes, bit), { read });
      const line = begins.findLastIndex((begin) => begin <= bit / 8) + 1;
      if (found.intact || found.findings.length === 0)
        expect.fail(`bit ${bit} (line ${line}) was not noticed`);
      // A newline that was lost or came in concerns the lines around it.
      const near = found.findings.some((one) => one.line !== undefined && Math.abs(one.line - line) <= 1);
      if (!near)
        expect.fail(
          `bit ${bit} is in line ${line}, and found was ${JSON.stringify(found.findings.slice(0, 3))}`,
        );
    }
  }
});

it("[B4] a bundle that ends anywhere else is noticed", async () => {
  const read = remembering();
  const bytes = Buffer.from((await example()).text);
  for (let length = 0; length < bytes.length; length += length < bytes.length - 300 ? 37 : 1) {
    const { intact, findings } = await verifyFile(bytes.subarray(0, length), { read });
    if (intact || findings.length === 0) expect.fail(`cut at ${length}`);
  }
  for (const more of ["\n", " ", "x", "\0", "{}\n", bytes.toString()])
    expect(
      (await verifyFile(Buffer.concat([bytes, Buffer.from(more)]), { read })).intact,
      more.slice(0, 5),
    ).toBe(false);
});

it("[B5] lines in another place, twice, or left out are told with the line", async () => {
  const read = remembering();
  const { text } = await example();
  const all = text.split("\n");
  const first = all.indexOf('"lines":[') + 1;
  const last = all.indexOf("],");
  const record = all.slice(first, last).map((line) => line.replace(/,$/, ""));
  const verify = (lines: readonly string[]): Promise<VerifiedFile> =>
    verifyFile(Buffer.from([...all.slice(0, first), lines.join(",\n"), ...all.slice(last)].join("\n")), {
      read,
    });
  expect((await verify(record)).intact).toBe(true);
  const toldAt = (found: VerifiedFile, place: number): boolean =>
    !found.intact && found.findings.some(({ line }) => line === first + 1 + place);
  for (let one = 0; one < record.length; one++) {
    const line = record[one] as string;
    for (let other = one + 1; other < record.length; other += 5) {
      const found = await verify(record.with(one, record[other] as string).with(other, line));
      if (!toldAt(found, one) || !toldAt(found, other)) expect.fail(`${one} and ${other} changed places`);
      const moved = record.toSpliced(one, 1).toSpliced(other - 1, 0, line);
      if ((await verify(moved)).intact && moved.join() !== record.join())
        expect.fail(`${one} was moved to ${other}`);
    }
    if (!toldAt(await verify(record.toSpliced(one, 0, line)), one + 1)) expect.fail(`${one} twice`);
    const without = await verify(record.toSpliced(one, 1));
    if (!toldAt(without, Math.min(one, record.length - 2)))
      expect.fail(`${one} left out: ${JSON.stringify(without.findings)}`);
  }
});

it("[B6] nothing is given out of a bundle that does not verify", async () => {
  const { text } = await example();
  const file = join(folder, "changed.json");
  writeFileSync(file, text.replace("message-say", "message-sai"));
  await expect(readBundle(file)).rejects.toMatchObject({
    code: "bundle-refused",
    data: { findings: expect.anything() },
  });
  const given: string[] = [];
  await expect(
    (async () => {
      for await (const line of bundleLines(file)) given.push(line);
    })(),
  ).rejects.toMatchObject({ code: "bundle-refused" });
  expect(given).toEqual([]);
  writeFileSync(file, Session.start("hi").line);
  await expect(readBundle(file)).rejects.toThrow(/not a bundle/);
});

it("[B7] it streams", async () => {
  const store = await openStore("memory:");
  let session = Session.start("hi");
  for (let step = 0; step < 300; step++) session = session.say(`${step} ${"z".repeat(100_000)}`);
  await store.save(session, { name: "main" });
  let longest = 0;
  let total = 0;
  for await (const piece of writeBundle(store, ["main"], { about: null })) {
    longest = Math.max(longest, piece.length);
    total += piece.length;
  }
  expect(total).toBeGreaterThan(30_000_000);
  expect(longest).toBeLessThan(300_000);
});

it("[B8] names the signers, and says whether their keys are known", async () => {
  const bytes = Buffer.from((await example()).text);
  const told = async (options: Parameters<typeof verifyFile>[1]): Promise<unknown> =>
    (await verifyFile(bytes, options)).signers;
  const { name, id } = key;
  expect(await told({})).toEqual([{ name, id, verdict: "good", standing: "unknown" }]);
  expect(await told({ keys: { own: [key] } })).toEqual([{ name, id, verdict: "good", standing: "own" }]);
  expect(await verifyFile(bytes, { signedBy: [key] })).toMatchObject({
    intact: true,
    signers: [{ standing: "given" }],
  });
  expect((await verifyFile(bytes)).signatures).toMatchObject([{ verdict: "good", standing: "unknown" }]);
  const eve = SigningKey.make("eve");
  expect(await verifyFile(bytes, { signedBy: [eve] })).toMatchObject({
    intact: false,
    findings: [{ section: "signatures" }],
  });
  const unsigned = Buffer.from((await example([])).text);
  expect(await verifyFile(unsigned)).toMatchObject({
    intact: true,
    notices: [expect.stringContaining("nobody signed")],
  });
  expect((await verifyFile(unsigned, { signedBy: [key] })).intact).toBe(false);
});

it("[B8] a key that has the name and the id of a known one is not that one", async () => {
  const [mine, theirs] = sameLabel();
  expect([mine.label === theirs.label, mine.text === theirs.text]).toEqual([true, false]);
  const { store, heads } = await exampleStore(theirs);
  const bytes = Buffer.from(await textOf(writeBundle(store, heads, { about, sign: [theirs] })));
  expect((await verifyFile(bytes)).intact).toBe(true);
  for (const options of [{ keys: { own: [mine] } }, { keys: { trusted: [mine] } }, { signedBy: [mine] }]) {
    const found = await verifyFile(bytes, options);
    expect(found).toMatchObject({
      intact: false,
      signers: [{ verdict: "bad" }],
      signatures: [{ verdict: "bad" }],
    });
    expect(found.findings.map(({ section }) => section)).toEqual(
      expect.arrayContaining(["keys", "signatures"]),
    );
  }
  // Where both are known, the signature is by one of them, and the other did not sign.
  const both = await verifyFile(bytes, { keys: { own: [mine], trusted: [theirs] } });
  expect(both).toMatchObject({
    intact: true,
    signers: [{ verdict: "good", standing: "trusted" }],
    signatures: [{ verdict: "good", standing: "trusted" }],
  });
  const demanded = await verifyFile(bytes, { keys: { trusted: [theirs] }, signedBy: [mine] });
  expect(demanded.findings).toMatchObject([{ problem: `${mine.label} did not sign it` }]);
  const lines = Buffer.from((await linesOf(store.export("main"))).join("\n"));
  expect((await verifyFile(lines, { signedBy: [theirs] })).intact).toBe(true);
  expect((await verifyFile(lines, { keys: { trusted: [theirs] }, signedBy: [mine] })).intact).toBe(false);
});

it("[B9] a file that cannot be a bundle is refused or found", async () => {
  const store = await openStore("memory:");
  await store.save(Session.start("hi"), { name: "main" });
  const write = (ids: readonly string[], options: object): Promise<string> =>
    textOf(writeBundle(store, ids, options as Parameters<typeof writeBundle>[2]));
  await expect(write([], { about: 1 })).rejects.toMatchObject({ code: "bundle-refused" });
  await expect(write(["main"], {})).rejects.toMatchObject({ code: "bundle-refused" });
  await expect(write(["main"], { about: undefined })).rejects.toMatchObject({ code: "bundle-refused" });
  await expect(write(["main"], { about: 1, vew: 2 })).rejects.toThrow(/did you mean "view"/);
  await expect(write(["nobody"], { about: 1 })).rejects.toMatchObject({ code: "not-found" });
  const whole = await write(["main"], { about: "\ud800 __proto__" });
  expect((await verifyFile(Buffer.from(whole))).intact).toBe(true);
  for (const garbage of [
    "",
    '{"bundle":1,',
    '{"bundle":1,\n',
    '{"bundle":9,\n"about":1,\n',
    `{"bundle":1,\n"about":${"[".repeat(100_000)},\n`,
    whole.replace('"keys":[]', '"keys":[1,{"__proto__":2}]'),
    whole.replace('"keys":[]', '"keys":{}'),
    whole.replace('"signatures":[]', '"signatures":[7]'),
    whole.replace('"signatures":[]', '"signatures":"x"'),
    whole.replace(/"seal":.*/, '"seal":null,'),
    whole.replace(/"seal":.*/, '"seal":{"facts":1},'),
    whole.replace(/"digest":.*/, '"digest":1,'),
    whole.replaceAll("\n", ""),
    whole.replaceAll("\n", "\r\n"),
    whole.replace(/"lines":\[\n.*\n/, '"lines":[\n'),
    `${'{"bundle":1,\n'.repeat(50_000)}`,
    `{"bundle":1,\n"about":"${"x".repeat(10_000_000)}`,
    "\n".repeat(2_000_000),
  ]) {
    const { intact, findings } = await verifyFile(Buffer.from(garbage));
    if (intact || findings.length === 0) expect.fail(garbage.slice(0, 100));
  }
});
