// @ts-check
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { Session } from "openrath";
import {
  CheckpointLog,
  CheckpointMemory,
  SigningKey,
  signHead,
  takeCheckpoint,
  writeBundle,
} from "openrath/evidence";
import { openStore } from "openrath/store";

/** How many facts the campaign is about. */
export const FACTS = 1000;

/**
 * What is tampered with: a store of 1,000 facts in a home with its log, an earlier copy of it, a bundle, and a file of
 * lines. It lies in a folder, so that a campaign can go on where it stopped.
 *
 * @typedef {{ readonly names: readonly (readonly [string, string])[], readonly lines: readonly string[] }} Reading
 * @typedef {{ readonly folder: string, readonly key: SigningKey, readonly bundle: Buffer, readonly lines: Buffer,
 *   readonly heads: readonly string[], readonly reading: Reading }} World
 */

/** @param {string} folder @param {number} [facts] @returns {Promise<World>} */
export async function worldIn(folder, facts = FACTS) {
  if (!existsSync(join(folder, "whole"))) await make(folder, facts);
  const key = SigningKey.read("campaign", readFileSync(join(folder, "key.pem"), "utf8"));
  return {
    folder,
    key,
    bundle: readFileSync(join(folder, "bundle.json")),
    lines: readFileSync(join(folder, "lines.jsonl")),
    heads: JSON.parse(readFileSync(join(folder, "heads.json"), "utf8")),
    reading: JSON.parse(readFileSync(join(folder, "reading.json"), "utf8")),
  };
}

/** @param {string} folder @param {number} facts */
async function make(folder, facts) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const key = SigningKey.make("campaign");
  writeFileSync(join(folder, "key.pem"), key.pem(), { mode: 0o600 });
  const home = join(folder, "sqlite");
  mkdirSync(home);
  const store = await openStore(urlOf(home));
  const log = new CheckpointLog(join(home, "log"));
  const memory = new CheckpointMemory(join(folder, "sqlite-config"));
  await fill(store, facts, key);
  await takeCheckpoint(store, log, key);
  await store.close();
  cpSync(home, join(folder, "sqlite-earlier"), { recursive: true });
  const again = await openStore(urlOf(home));
  await grow(again, key);
  memory.keep(home, (await takeCheckpoint(again, log, key)).checkpoint);
  const reading = await readingOf(again);
  const heads = reading.names.map(([, id]) => id);
  writeFileSync(join(folder, "heads.json"), JSON.stringify(heads));
  writeFileSync(join(folder, "reading.json"), JSON.stringify(reading));
  writeFileSync(join(folder, "lines.jsonl"), reading.lines.map((line) => `${line}\n`).join(""));
  let text = "";
  for await (const piece of writeBundle(again, heads, {
    about: { title: "campaign" },
    view: { facts },
    sign: [key],
  }))
    text += piece;
  writeFileSync(join(folder, "bundle.json"), text);
  await again.close();
  writeFileSync(join(folder, "whole"), "");
}

/** @param {import("openrath/store").Store} store @param {number} facts @param {SigningKey} key */
async function fill(store, facts, key) {
  let trunk = Session.start("campaign");
  for (let step = 0; step < facts * 0.6; step++) trunk = trunk.say(`step ${step} ${"x".repeat(step % 40)}`);
  let side = trunk.fork("side");
  for (let step = 0; step < facts / 4; step++)
    side = side.append({ type: "note", kind: "measure", step, value: step / 7 });
  const merged = trunk.say("y".repeat(6000)).merge(side, { adopt: "ours" });
  await store.save(signHead(merged, key, { by: "user:ada" }), { name: "main" });
  let secret = Session.start("quiet", { inline: 0 });
  for (let step = 0; step < facts / 40; step++) secret = secret.say(`secret ${step}`);
  await store.save(secret, { name: "private" });
  const [blob] = [...secret.blobs()];
  await store.erase("private", { digests: [blob?.ref.digest ?? ""], why: "asked for", by: "user:ada" });
  let hidden = trunk.fork("hidden");
  for (let step = 0; step < facts / 10; step++) hidden = hidden.say(`hidden ${step}`);
  await store.save(hidden, { name: "hidden" });
}

/** @param {import("openrath/store").Store} store @param {SigningKey} key */
async function grow(store, key) {
  let main = await store.load("main");
  for (let step = 0; step < 40; step++) main = main.say(`later ${step}`);
  await store.save(signHead(main, key, { by: "user:ada" }), { name: "main" });
}

/** @param {string} home */
export function urlOf(home) {
  return `sqlite:${join(home, "rath.db")}`;
}

/** Everything that can be read of a store: where its names stand, and its whole record. @param {import("openrath/store").Store} store @returns {Promise<Reading>} */
export async function readingOf(store) {
  const names = (await store.names()).map(({ name, id }) => /** @type {const} */ ([name, id]));
  const lines = [];
  for await (const line of store.export(names.map(([, id]) => id))) lines.push(line);
  return { names, lines };
}

/** The files of a home, by their path in it, in an order that stays. @param {string} home @returns {readonly { path: string, size: number }[]} */
export function filesOf(home) {
  return readdirSync(home, { recursive: true, encoding: "utf8", withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .map((path) => ({ path: relative(home, path), size: statSync(path).size }))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
}
