import { execFile, spawnSync } from "node:child_process";
import { createPrivateKey, createPublicKey, verify } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { digestOf } from "../../session/index.js";
import { writeBundle } from "../bundle/index.js";
import {
  CheckpointLog,
  checkInclusion,
  readProof,
  readPublicKey,
  SigningKey,
  takeCheckpoint,
  writeProof,
  writeStandardProof,
} from "../proof/index.js";
import { flipped } from "../proof/testing/flip.js";
import { verifyFile } from "./index.js";
import { exampleStore, linesOf, longErasure, sameLabel, textOf } from "./testing/example.js";

const script = fileURLToPath(new URL("../../../tools/verify.py", import.meta.url));
const hasPython = spawnSync("python3", ["--version"]).status === 0;
const folder = mkdtempSync(join(tmpdir(), "openrath-python-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const key = SigningKey.make("ada");

function python(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((done) => {
    execFile("python3", args, { timeout: 60_000, maxBuffer: 1 << 26 }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : typeof error.code === "number" ? error.code : -1, stdout, stderr }),
    );
  });
}

/** The vectors of RFC 8032, section 7.1: public key, message, signature. */
const VECTORS: readonly (readonly [string, string, string])[] = [
  [
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "",
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  ],
  [
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    "72",
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
  ],
  [
    "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    "af82",
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
  ],
];

describe.skipIf(!hasPython)("tools/verify.py (needs python3)", () => {
  it("[Y1] it agrees with RFC 8032 and with node on good and bad signatures", async () => {
    const cases: [string, string, string][] = VECTORS.map((one) => [...one]);
    const secret = createPrivateKey(key.pem());
    const raw = createPublicKey(secret).export({ format: "jwk" }).x as string;
    const own = Buffer.from(raw, "base64url").toString("hex");
    for (let number = 0; number < 12; number++) {
      const message = Buffer.alloc(number * 7, number);
      cases.push([own, message.toString("hex"), key.sign(message).toString("hex")]);
    }
    for (const [place, [public_, message, signature]] of [...cases].entries()) {
      const bit = (place * 41) % 512;
      cases.push([public_, message, flipped(Buffer.from(signature, "hex"), bit).toString("hex")]);
      cases.push([public_, `${message}00`, signature]);
      cases.push([
        flipped(Buffer.from(public_, "hex"), (place * 29) % 256).toString("hex"),
        message,
        signature,
      ]);
      // The same signature with a larger number: whoever takes it has two signatures for one message.
      const number = BigInt(`0x${Buffer.from(signature.slice(64), "hex").reverse().toString("hex")}`) + ORDER;
      const larger = Buffer.from(number.toString(16).padStart(64, "0"), "hex").reverse().toString("hex");
      cases.push([public_, message, signature.slice(0, 64) + larger]);
    }
    const expected = cases.map(([public_, message, signature]) => {
      try {
        const x = Buffer.from(public_, "hex").toString("base64url");
        const object = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
        return verify(null, Buffer.from(message, "hex"), object, Buffer.from(signature, "hex"));
      } catch {
        return false;
      }
    });
    expect(expected.filter(Boolean)).toHaveLength(15);
    expect(expected.slice(0, 3)).toEqual([true, true, true]);
    writeFileSync(join(folder, "cases.json"), JSON.stringify(cases));
    const program = `import json
source = open(${JSON.stringify(script)}).read().split("options = argparse")[0]
exec(compile(source, "verify.py", "exec"))
print(json.dumps([is_signed(*map(bytes.fromhex, one)) for one in json.load(open(${JSON.stringify(join(folder, "cases.json"))}))]))`;
    const { stdout, stderr } = await python("-c", program);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual(expected);
  });

  it("[Y2] it agrees with us on bundles, good and damaged", async () => {
    const { store, heads } = await exampleStore(key);
    const keyFile = join(folder, "ada.pub");
    writeFileSync(keyFile, `${key.text}\n`);
    const text = await textOf(
      writeBundle(store, heads, { about: { é: "\u2028\ufffd" }, view: [1, "\ud800"], sign: [key] }),
    );
    const file = join(folder, "bundle.json");
    writeFileSync(file, text);
    const sound = await python(script, file, "--key", keyFile, "--head", heads[0] as string);
    expect(sound.stderr).toBe("");
    const { facts, blobs } = await verifyFile(file);
    expect(sound.stdout).toContain(`ok: ${facts} facts, ${blobs} blobs, 1 erased`);
    expect(sound.stdout).toContain(`signed by ${key.label} (a key that was given)`);
    expect(sound.stdout).toMatch(/head-sign [0-9a-f]{64} by "user:ada" .*: good/);
    expect((await python(script, file)).stdout).toContain("known from the bundle alone");
    const eve = join(folder, "eve.pub");
    writeFileSync(eve, SigningKey.make("eve").text);
    expect(await python(script, file, "--key", eve)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("did not sign"),
    });
    const bytes = Buffer.from(text);
    const damaged: Buffer[] = [
      bytes.subarray(0, -2),
      bytes.subarray(0, 3000),
      Buffer.concat([bytes, Buffer.from("x\n")]),
    ];
    const mark = bytes.indexOf("\ufffd");
    damaged.push(
      bytes.subarray(0, -1),
      Buffer.concat([bytes, Buffer.from('"end":"anything at all",\n"end":2,\n')]),
      Buffer.from(text.replace('"lines":[\n', '"lines":{"x":1}[\n')),
      Buffer.from(text.replace('"signatures":[', '"signatures": [')),
      Buffer.concat([bytes.subarray(0, mark), Buffer.of(0xff), bytes.subarray(mark + 3)]),
    );
    for (let number = 0; number < 10; number++)
      damaged.push(flipped(bytes, Math.floor((number * bytes.length * 8) / 10) + (number % 8)));
    const rows = text.split("\n");
    damaged.push(
      Buffer.from(
        rows
          .with(5, rows[6] as string)
          .with(6, rows[5] as string)
          .join("\n"),
      ),
    );
    damaged.push(
      Buffer.from(rows.toSpliced(5, 1).join("\n")),
      Buffer.from(rows.toSpliced(5, 0, rows[5] as string).join("\n")),
    );
    await Promise.all(
      damaged.map(async (one, number) => {
        const name = join(folder, `damaged-${number}.json`);
        writeFileSync(name, one);
        const ours = (await verifyFile(one)).intact;
        const { code, stderr } = await python(script, name);
        expect([ours, code], `damage ${number}: ${stderr}`).toEqual([false, 3]);
        expect(stderr, `damage ${number}`).not.toContain("Traceback");
      }),
    );
  });

  it("[Y3] it holds erasures against their lists, and knows keys as we do", async () => {
    const { lines, forged, list, head } = await longErasure();
    const file = join(folder, "erased.jsonl");
    const run = async (rows: readonly string[]): Promise<[number, string]> => {
      writeFileSync(file, `${rows.join("\n")}\n`);
      const { code, stdout, stderr } = await python(script, file, "--head", head);
      return [code, stdout + stderr];
    };
    expect(await run(lines)).toEqual([0, expect.stringContaining("81 erased")]);
    expect(await run(lines.filter((line) => !line.startsWith('{"erased"')))).toEqual([
      0,
      expect.stringContaining("81 erased"),
    ]);
    expect(await run(forged)).toEqual([3, expect.stringContaining("does not say so")]);
    expect(await run(lines.filter((line) => !line.startsWith(`{"blob":"${list}"`)))).toEqual([
      3,
      expect.stringContaining("does not say so"),
    ]);
    const [mine, theirs] = sameLabel();
    const { store, heads } = await exampleStore(theirs);
    const bundle = join(folder, "same.json");
    const keyFile = join(folder, "same.pub");
    writeFileSync(bundle, await textOf(writeBundle(store, heads, { about: {}, sign: [theirs] })));
    writeFileSync(keyFile, mine.text);
    expect((await python(script, bundle)).code).toBe(0);
    expect(await python(script, bundle, "--key", keyFile)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("not the key of that name and id"),
    });
    const data = Buffer.from(theirs.text.split("+").slice(2).join("+"), "base64");
    for (const name of ["\u001b[8m", "a b", "a\u00a0b", "a\nb", "", "x".repeat(101), "\u202eada"]) {
      const id = digestOf(Buffer.concat([Buffer.from(`${name}\n`), data])).slice(0, 8);
      writeFileSync(keyFile, `${name}+${id}+${data.toString("base64")}\n`);
      expect(await python(script, file, "--key", keyFile), name).toMatchObject({
        code: 3,
        stderr: expect.stringContaining("not the name of a key"),
      });
      expect(() => readPublicKey(readFileSync(keyFile, "utf8"))).toThrow(/key/);
    }
    const odd = SigningKey.make("\uff0bada");
    writeFileSync(keyFile, odd.text);
    writeFileSync(bundle, await textOf(writeBundle(store, heads, { about: {}, sign: [odd] })));
    expect((await python(script, bundle, "--key", keyFile)).stdout).toContain(
      `signed by \\uff0bada+${odd.id} (a key that was given)`,
    );
  });

  it("[Y2] it agrees with us on the signed heads of plain lines", async () => {
    const { store } = await exampleStore(key);
    const keyFile = join(folder, "ada.pub");
    writeFileSync(keyFile, `${key.text}\n`);
    const lines = await linesOf(store.export("main"));
    const plain = join(folder, "lines.jsonl");
    writeFileSync(plain, `${lines.join("\n")}\n`);
    expect(await python(script, plain, "--key", keyFile)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(": good"),
    });
    expect((await python(script, plain)).stdout).toContain(": unknown");
    writeFileSync(plain, `${lines.join("\n").replace(/("type":"head-sign".*"by":"user:)ada/, "$1eve")}\n`);
    expect(await python(script, plain, "--key", keyFile)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("a bad signature"),
    });
  });

  it("[Y2] it agrees with us on proofs, good and damaged", async () => {
    const { store, heads } = await exampleStore(key);
    const keyFile = join(folder, "ada.pub");
    writeFileSync(keyFile, `${key.text}\n`);
    const log = new CheckpointLog(join(folder, "log"));
    const { checkpoint } = await takeCheckpoint(store, log, key);
    const id = heads[0] as string;
    const proof = log.prove(id)?.proof ?? expect.unreachable();
    const proofFile = join(folder, "one.proof");
    for (const one of [writeProof(proof), writeStandardProof(proof, checkpoint.root)]) {
      writeFileSync(proofFile, one);
      expect(await python(script, "--proof", proofFile, "--key", keyFile, id)).toMatchObject({
        code: 0,
        stderr: "",
      });
      expect((await python(script, "--proof", proofFile, id)).code).toBe(3);
      expect((await python(script, "--proof", proofFile, "--key", keyFile, heads[1] as string)).code).toBe(3);
      for (let number = 0; number < 3; number++) {
        const changed = flipped(Buffer.from(one), (number * 601 + 7) % (one.length * 8));
        writeFileSync(proofFile, changed);
        const { code, stderr } = await python(script, "--proof", proofFile, "--key", keyFile, id);
        expect([code, stderr.includes("Traceback")], changed.toString()).toEqual([3, false]);
        try {
          expect(checkInclusion(readProof(changed.toString()), id, [key]).included).toBe(false);
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringContaining("refused") });
        }
      }
    }
  });
});

const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
