import { cpSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { digestOf, parentsOf, RathError, Session } from "../../session/index.js";
import { unkeyed } from "../../testkit/store/case.js";
import { openStore } from "../open.js";
import { recover } from "../recover/recover.js";
import type { Finding } from "../shelf.js";
import type { Store } from "../store.js";
import { folder } from "./folder.js";

/** What a store held before it was damaged. */
export type Original = {
  readonly path: string;
  readonly names: ReadonlyMap<string, string>;
  /** The whole export of each head. */
  readonly exports: ReadonlyMap<string, readonly string[]>;
  readonly transcripts: ReadonlyMap<string, string>;
  readonly lines: ReadonlyMap<string, string>;
  readonly parents: ReadonlyMap<string, readonly string[]>;
};

/** A store of some 300 facts with forks, merges, blobs, an erasure, steps and names, as files. */
export async function exampleStore(
  more: (store: Store, path: string) => Promise<void> = async () => {},
): Promise<Original> {
  const path = join(folder(), "rath");
  let store = await openStore(`sqlite:${path}`);
  let trunk = unkeyed("hello");
  for (let step = 0; step < 90; step++) trunk = trunk.say(`step ${step} ${"é ".repeat(step % 30)}`);
  await store.save(trunk, { name: "main", key: "first" });
  let side = trunk.fork("side");
  for (let step = 0; step < 40; step++)
    side = side.say(`aside ${step} ${"x".repeat(step % 10 === 0 ? 9000 : 20)}`);
  await store.save(side, { name: "side", key: "1" });
  for (let step = 0; step < 30; step++) trunk = trunk.say(`on ${step}`);
  let merged = trunk.merge(side, { adopt: "ours" });
  for (let step = 0; step < 40; step++) merged = merged.say(`after ${step}`);
  await store.save(merged, { name: "main", key: "second" });
  let private_ = Session.start("quiet", { inline: 0 });
  for (let step = 0; step < 20; step++) private_ = private_.say(`secret ${step}`);
  await store.save(private_, { name: "private" });
  await store.erase("private", {
    digests: [
      (Object.values(private_.parents[0]?.blobs() ?? [])[0] ?? [...private_.blobs()][0])?.ref
        .digest as string,
    ],
    why: "asked for",
  });
  await store.load("main", { horizon: 50 });
  await store.close();
  // The newest facts are not packed yet.
  store = await openStore(`sqlite:${path}`);
  let last = await store.load("main");
  const loose = last.fork("loose");
  for (let step = 0; step < 30; step++) last = last.say(`fresh ${step} ${"z".repeat(step * 20)}`);
  await store.save(last, { name: "main", key: "third" });
  await store.save(loose.say("tip"), { name: "tip" });
  await more(store, path);
  const original = await originalOf(store, path);
  await store.close();
  return original;
}

export async function originalOf(store: Store, path: string): Promise<Original> {
  const names = new Map((await store.names()).map(({ name, id }) => [name, id]));
  const exports = new Map<string, string[]>();
  const transcripts = new Map<string, string>();
  const lines = new Map<string, string>();
  const parents = new Map<string, readonly string[]>();
  for (const id of names.values()) {
    const exported = await collect(store.export(id));
    exports.set(id, exported);
    for (const line of exported.filter((one) => one.startsWith('{"rath":'))) {
      lines.set(digestOf(line), line);
      parents.set(digestOf(line), parentsOf(line));
    }
    transcripts.set(id, JSON.stringify((await store.load(id)).transcript));
  }
  return { path, names, exports, transcripts, lines, parents };
}

/** Files of a store with other bytes in some of them; undefined takes a file away. */
export function damagedCopy(
  path: string,
  files: { readonly [suffix: string]: Uint8Array | undefined },
): string {
  const copy = join(folder(), "rath");
  for (const suffix of ["", "-wal"])
    if (existsSync(path + suffix)) cpSync(path + suffix, copy + suffix, { recursive: true });
  for (const [suffix, bytes] of Object.entries(files)) {
    if (bytes === undefined) rmSync(copy + suffix, { recursive: true, force: true });
    else writeFileSync(copy + suffix, bytes);
  }
  return copy;
}

/**
 * Opens, checks, loads and exports a damaged store. Whatever comes back without an error must be what was
 * written; the answer says whether anything was told.
 */
export async function tellsOrIsWhole(url: string, original: Original, what: string): Promise<boolean> {
  let store: Store;
  try {
    store = await openStore(url);
  } catch (error) {
    return isTyped(error, what);
  }
  let told = false;
  try {
    const attempt = async (work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        told = isTyped(error, what);
      }
    };
    await attempt(async () => {
      const { findings } = await store.check();
      expectPlaces(findings, what);
      if (findings.length > 0) told = true;
    });
    for (const name of ["main", "private"]) {
      const id = original.names.get(name) as string;
      const exported = original.exports.get(id) as readonly string[];
      await attempt(async () => {
        const actual = await collect(store.export(id));
        same(actual, told ? withBlobsOf(exported, actual) : exported, `${what}: the export of ${id}`);
        const target = await openStore("memory:");
        await target.import(actual, { head: id });
      });
      await attempt(async () => {
        const transcript = JSON.stringify((await store.load(id)).transcript);
        // Content that cannot be found any more is shown as missing, not as something else.
        const shown = told && transcript.includes('"missing"');
        if (!shown)
          same([transcript], [original.transcripts.get(id) as string], `${what}: the transcript of ${id}`);
      });
    }
    await attempt(async () => {
      await store.gc({ dryRun: true });
      await store.children([...original.names.values()][0] as string);
    });
    if (told) return true;
    expect(new Map((await store.names()).map(({ name, id }) => [name, id])), `${what}: the names`).toEqual(
      original.names,
    );
    return false;
  } finally {
    await store.close().catch((error: unknown) => isTyped(error, what));
  }
}

/** Recovers into a new store, and holds what came against the original. The answer is what was recovered. */
export async function recoversOnlyWhatWas(
  source: string | Iterable<string>,
  original: Original,
  what: string,
  silent = false,
): Promise<{ ids: Set<string>; findings: readonly Finding[]; names: Map<string, string>; refused: boolean }> {
  const target = await openStore("memory:");
  let findings: readonly Finding[] = [];
  let refused = false;
  try {
    ({ findings } = await recover(source, target));
  } catch (error) {
    refused = isTyped(error, what);
  }
  expectPlaces(findings, what);
  const ids = new Set<string>();
  const names = new Map((await target.names()).map(({ name, id }) => [name, id]));
  const all: string[] = [];
  for (const id of original.lines.keys()) if (await target.has(id)) all.push(id);
  const { facts, findings: wrong } = await target.check();
  expect(facts, `${what}: recovered what never was`).toBe(all.length);
  for (const { problem } of wrong) expect(problem, what).toMatch(/^it is missing, and/);
  for (const id of all) {
    ids.add(id);
    for (const parent of original.parents.get(id) as readonly string[])
      expect(all.includes(parent), `${what}: not closed under parents`).toBe(true);
  }
  if (!silent && (ids.size < original.lines.size || names.size < original.names.size))
    expect(findings.length + (refused ? 1 : 0), `${what}: something was lost in silence`).toBeGreaterThan(0);
  for (const [name, id] of names) {
    if (!original.names.has(name)) continue;
    const head = original.names.get(name) as string;
    // A folder knows only the places where the name has been.
    if (typeof source === "string" && source.startsWith("file:"))
      expect(dependingOn(original, id).has(head), `${what}: where ${name} stands`).toBe(true);
    else expect(id, `${what}: where ${name} stands`).toBe(newestRecovered(original, head, ids));
  }
  return { ids, findings, names, refused };
}

/** The first that was recovered on the way back along first parents. */
function newestRecovered(
  original: Original,
  head: string | undefined,
  ids: ReadonlySet<string>,
): string | undefined {
  let at = head;
  while (at !== undefined && !ids.has(at)) at = original.parents.get(at)?.[0];
  return at;
}

/** A fact and all that comes from it. */
export function dependingOn(original: Original, ...lost: readonly string[]): Set<string> {
  const gone = new Set(lost);
  // Parents come first in an export, so one pass is enough for each; a few are enough for all.
  for (let before = -1; before !== gone.size; ) {
    before = gone.size;
    for (const [id, parents] of original.parents)
      if (parents.some((parent) => gone.has(parent))) gone.add(id);
  }
  return gone;
}

export async function collect(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

export function isTyped(error: unknown, what: string): true {
  if (!(error instanceof RathError)) throw new Error(`${what}: an error without a type`, { cause: error });
  return true;
}

/** An export without the blobs that another one lacks. */
function withBlobsOf(lines: readonly string[], other: readonly string[]): readonly string[] {
  const there = new Set(other);
  return lines.filter((line) => line.startsWith('{"rath":') || there.has(line));
}

function expectPlaces(findings: readonly Finding[], what: string): void {
  for (const { place, problem } of findings)
    if (place === "" || problem === "") throw new Error(`${what}: a finding without a place`);
}

function same(actual: readonly string[], expected: readonly string[], what: string): void {
  // Not with expect: its differences of long texts take longer than the test.
  if (actual.length !== expected.length || actual.some((line, index) => line !== expected[index]))
    throw new Error(`${what} is another one, and nobody said so`);
}
