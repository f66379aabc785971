import { createPrivateKey } from "node:crypto";
import { digestOf, type FactId, Session, writeTree } from "../../../session/index.js";
import { openStore, type Store } from "../../../store/index.js";
import { PublicKey, SigningKey, signHead } from "../../proof/index.js";

/** A store with a bit of everything: branches, merges, blobs, trees, erased content, a signed head. */
export async function exampleStore(
  key: SigningKey,
  options: { readonly url?: string; readonly steps?: number } = {},
): Promise<{ readonly store: Store; readonly heads: readonly FactId[] }> {
  const { url = "memory:", steps = 8 } = options;
  const store = await openStore(url);
  let trunk = Session.start("Fix issue 41. \u2028 é 🎈", {
    nonce: "example",
    at: "2026-01-02T03:04:05.000Z",
  });
  for (let step = 0; step < steps; step++) trunk = trunk.say(`step ${step} ${"x".repeat(step % 50)}`);
  const [small, bold] = [trunk.fork("small").say("a"), trunk.fork("bold").say("y".repeat(5000))];
  let main = small.merge(bold, { adopt: "ours" });
  const [file, list] = [Buffer.from("hello\n"), Buffer.from("a long one, in pieces")];
  const pieces = [list.subarray(0, 7), list.subarray(7)];
  const parts = Buffer.from(JSON.stringify(pieces.map((piece) => digestOf(piece))));
  const tree = writeTree({
    entries: [
      { kind: "file", name: "README.md", mode: 0o644, size: file.length, digest: digestOf(file) },
      { kind: "parts", name: "long", mode: 0o644, size: list.length, digest: digestOf(parts) },
    ],
  });
  const [after] = await store.putBlobs([Buffer.from(tree), file, parts, ...pieces]);
  main = main.append({
    type: "workspace-import",
    source: "./project",
    after: after as string,
    files: 2,
    bytes: 27,
  });
  await store.save(signHead(main.say("done"), key, { by: "user:ada" }), { name: "main" });
  const secret = Session.start("quiet", { inline: 0 }).say("a secret");
  await store.save(secret.say("another"), { name: "private" });
  await store.erase("private", {
    digests: [...secret.blobs()].map(({ ref }) => ref.digest),
    why: "asked for",
    by: "user:ada",
  });
  const heads = await Promise.all(["main", "private"].map((name) => store.resolve(name)));
  return { store, heads };
}

export async function linesOf(pieces: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

export async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  return (await linesOf(pieces)).join("");
}

/** Two keys with one name and one id: 32 bits are found in seconds, if it does not matter for which of many keys. */
export function sameLabel(): readonly [PublicKey, SigningKey] {
  const known = Buffer.alloc(32);
  known.writeUInt32LE(692864);
  const seed = Buffer.from(`302e020100300506032b657004220420${digestOf("seed 2444")}`, "hex");
  const pem = createPrivateKey({ key: seed, format: "der", type: "pkcs8" }).export({
    type: "pkcs8",
    format: "pem",
  });
  return [new PublicKey("ada", known), SigningKey.read("ada", String(pem))];
}

/** A record with so much erased that the list of it stands in a blob; and the same with one blob more taken away, and a line that says it was erased. */
export async function longErasure(): Promise<{
  readonly lines: readonly string[];
  readonly forged: readonly string[];
  readonly list: string;
  readonly head: FactId;
}> {
  const store = await openStore("memory:");
  let session = Session.start("quiet", { inline: 0 });
  for (let step = 0; step < 80; step++) session = session.say(`secret ${step}`);
  const last = session.say("this stays");
  await store.save(last, { name: "private" });
  const digests = [...session.history()].flatMap((one) => [...one.blobs()].map(({ ref }) => ref.digest));
  await store.erase("private", { digests: [...new Set(digests)], why: "asked for", by: "user:ada" });
  const lines = await linesOf(store.export("private"));
  const [kept] = [...last.blobs()].map(({ ref }) => ref.digest);
  const claim = JSON.parse(lines.find((line) => line.startsWith('{"erased"')) as string) as object;
  const forged = lines.map((line) =>
    line.startsWith(`{"blob":"${kept}"`) ? JSON.stringify({ ...claim, erased: kept }) : line,
  );
  const [ref] = [...(await store.load("private")).blobs()];
  return { lines, forged, list: ref?.ref.digest as string, head: await store.resolve("private") };
}
