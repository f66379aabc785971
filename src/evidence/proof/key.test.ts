import { hash } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, expect, it } from "vitest";
import { RathError } from "../../session/index.js";
import { readPublicKey, SigningKey } from "./key.js";
import { KeyRing } from "./key-ring.js";
import { readNote, signersOf, signNote } from "./note.js";
import { flips } from "./testing/flip.js";

const folder = mkdtempSync(join(tmpdir(), "openrath-key-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const refused = (code: string): unknown => expect.objectContaining({ code });

it("[K1] a key has the id of signed notes, and its text is read back or refused", () => {
  const key = SigningKey.make("ada");
  const bytes = Buffer.from(key.text.split("+").slice(2).join("+"), "base64");
  expect(bytes[0]).toBe(1);
  const id = hash("sha256", Buffer.concat([Buffer.from("ada\n"), bytes]), "hex").slice(0, 8);
  expect(key.id).toBe(id);
  expect(key.label).toBe(`ada+${id}`);
  expect(readPublicKey(key.text).text).toBe(key.text);
  expect(readPublicKey(`${key.text}\n`).label).toBe(key.label);
  for (const { text } of flips(key.text))
    expect(() => readPublicKey(text), text).toThrow(refused("key-refused"));
  // The example of the specification of signed notes.
  const known = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
  expect(readPublicKey(known)).toMatchObject({ name: "PeterNeumann", id: "c74f20a3" });
  for (const bad of ["", "a+b", 7, undefined, "x".repeat(1e6), key.text.replace("ada", "a d")])
    expect(() => readPublicKey(bad)).toThrow(refused("key-refused"));
});

it("[K2] a private key lies in a file of its owner and is printed nowhere", () => {
  const ring = new KeyRing(join(folder, "two"));
  const key = ring.make("ada");
  const file = join(ring.folder, "ada.pem");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(ring.folder).mode & 0o777).toBe(0o700);
  const pem = readFileSync(file, "utf8");
  const secret = pem.split("\n")[1] as string;
  expect(pem).toContain("PRIVATE KEY");
  for (const told of [
    inspect(key, { showHidden: true, depth: 9 }),
    JSON.stringify({ key }),
    String(key),
    key.text,
  ])
    expect(told).not.toContain(secret.slice(-20));
  expect(ring.signer().sign(Buffer.from("x"))).toEqual(key.sign(Buffer.from("x")));
  chmodSync(file, 0o644);
  expect(() => ring.signer()).toThrow(/can be read by others/);
  chmodSync(file, 0o600);
  writeFileSync(file, pem.replace(secret, `${secret.slice(0, -4)}????`));
  try {
    ring.signer();
    expect.unreachable();
  } catch (error) {
    expect(error).toMatchObject({ code: "key-refused" });
    expect(inspect(error, { depth: 9 })).not.toContain(secret.slice(4, 30));
  }
});

it("[K3] names are free, fit and found", () => {
  const ring = new KeyRing(join(folder, "three"));
  expect(() => ring.signer()).toThrow(/rath key new/);
  ring.make("ada");
  expect(() => ring.make("ada")).toThrow(refused("key-refused"));
  for (const name of [
    "",
    "a b",
    "a+b",
    "../ada",
    "a/b",
    ".x",
    "x".repeat(33),
    "é",
    "a\n",
    7 as unknown as string,
  ])
    expect(() => ring.make(name), String(name)).toThrow(refused("key-refused"));
  expect(() => ring.signer("adda")).toThrow(/did you mean ada/);
  ring.make("grace");
  expect(() => ring.signer()).toThrow(/say which/);
  expect(ring.signer("grace").name).toBe("grace");
});

it("[K4] a trusted key counts, and a file that is not a key is named", () => {
  const [mine, theirs] = [new KeyRing(join(folder, "four")), SigningKey.make("example.org/team.x")];
  expect(mine.list()).toEqual([]);
  mine.make("ada");
  expect(mine.trust(`${theirs.text}\n`).label).toBe(theirs.label);
  expect(mine.list().map(({ key, own }) => [key.name, own])).toEqual([
    ["ada", true],
    ["example.org/team.x", false],
  ]);
  expect(existsSync(join(folder, "four", "keys", "trusted"))).toBe(true);
  expect(() => mine.trust("nonsense")).toThrow(RathError);
  writeFileSync(join(mine.folder, "trusted", "bad.pub"), "nonsense");
  expect(() => mine.list()).toThrow(/bad\.pub/);
});

it("[N1] a note is read back, and any bit of it matters", () => {
  const [ada, grace] = [SigningKey.make("ada"), SigningKey.make("grace")];
  const text = "origin é\nsecond line\n";
  const note = signNote(text, ada, grace);
  expect(readNote(note).text).toBe(text);
  const verdicts = (one: string, ...keys: readonly SigningKey[]): readonly string[] =>
    signersOf(readNote(one), keys).map(({ verdict }) => verdict);
  expect(verdicts(note, ada, grace)).toEqual(["good", "good"]);
  expect(verdicts(note, grace)).toEqual(["unknown", "good"]);
  for (const { bit, text: changed } of flips(note)) {
    let found: readonly string[] = ["refused"];
    try {
      found = verdicts(changed, ada, grace);
    } catch (error) {
      expect(error).toMatchObject({ code: "note-refused" });
    }
    expect(found, `bit ${bit}`).not.toEqual(["good", "good"]);
  }
});

it("[N2] a file that is not a note is a typed error", () => {
  const note = signNote("text\n", SigningKey.make("ada"));
  for (const bad of [
    undefined,
    "",
    "\n\n",
    "text\n",
    "text\n\n",
    note.slice(0, -1),
    note.slice(0, -20),
    note.replace("\u2014", "-"),
    `${note}more\n`,
    note.replace("text", "te\u0000xt"),
    note.replace("text", "te\ufffdxt"),
    note.replace("=\n", "\n"),
    "x".repeat(1e7),
  ])
    expect(() => readNote(bad)).toThrow(refused("note-refused"));
  expect(() => signNote("no newline", SigningKey.make("ada"))).toThrow(refused("note-refused"));
});
