import { existsSync, statSync } from "node:fs";
import {
  checkLine,
  type Digest,
  digestOf,
  digestsOf,
  EMPTY_TREE,
  type FactId,
  parentsOf,
  RathError,
  RecordError,
} from "../../session/index.js";
import { showValue } from "../../util/index.js";
import { TreeWalk, treesIn } from "../care/tree-walk.js";
import { ConflictError, misuse, StoreError } from "../error.js";
import { linesOf } from "../exchange/import.js";
import { blobLine, erasureLine, readBlobLine, readErasureLine, readLines } from "../exchange/lines.js";
import type { Erasure, Finding } from "../shelf.js";
import type { Store } from "../store.js";
import { readFolder } from "./folder.js";

/**
 * A line that could be read, or what stood in the way. `sure` says whether the source has more than the line to
 * tell that it is the one that was written; without it, only what comes from the line can tell.
 */
export type Piece = { readonly place: string; readonly line: string; readonly sure?: boolean } | Finding;

/** The readable part of a damaged record, piece by piece. A piece that cannot be read is a finding instead. */
export interface Salvage {
  lines(): AsyncIterable<Piece>;
  /** The bytes of a blob, if they are there; the caller checks them. */
  blob(digest: Digest): Uint8Array | undefined;
  /** Why a blob is not there, if someone erased it. */
  erased(digest: Digest): Erasure | undefined;
  /** Where names stood. Asked after the lines. */
  names(): AsyncIterable<FoundName>;
  /** The secrets that salts are made of, where the source has them. */
  keys?(): ReadonlyMap<string, Uint8Array>;
  close(): void;
}

/** Ids that a name stood at, the newest first, of which the first that was recovered is taken; and its recorded steps. */
type FoundName = {
  readonly name: string;
  readonly ids: readonly FactId[];
  readonly steps?: ReadonlyMap<string, FactId>;
};

export type Recovered = {
  readonly facts: number;
  readonly blobs: number;
  readonly names: readonly string[];
  /** The newest of what was recovered. Where no name leads to one, `target.point(name, id)` keeps it from being collected. */
  readonly heads: readonly FactId[];
  /** Everything that is damaged or hangs from something damaged, and where. Nothing is passed over in silence. */
  readonly findings: readonly Finding[];
};

/**
 * Brings all that is intact in a damaged store, folder or export into another store: every fact whose own
 * line and whole past are as they were written, their blobs, and the names that lead to them.
 */
export async function recover(
  source: string | Iterable<string> | AsyncIterable<string>,
  target: Store,
): Promise<Recovered> {
  if (typeof target?.import !== "function")
    throw misuse(
      `recover into ${showValue(target)}`,
      "give an open store: recover(url, await openStore(other))",
    );
  const salvage = typeof source === "string" ? await open(source) : salvageLines(source);
  return bring(salvage, target, async ({ name }, id) => {
    await target.point(name, id, { force: true });
    return name;
  });
}

/**
 * Brings a folder that the store `file:` of version 0.1 wrote into a store: its facts, blobs, names, steps and keys. Names
 * move only forward: one that stands elsewhere in the target stays, and that of the folder gets a number (`main+2`).
 */
export async function importFolder(path: string, target: Store): Promise<Recovered> {
  return bring(readFolder(path), target, (found, id) => nameFrom(found, id, target));
}

/** Names a session in the target, and returns the name it has there. */
async function nameFrom({ name, steps }: FoundName, id: FactId, target: Store): Promise<string> {
  for (let number = 1; ; number += 1) {
    const wanted = number === 1 ? name : `${name}+${number}`;
    const standing = await target.head(wanted);
    if (standing === id || (standing !== undefined && (await isPastOf(target, id, standing)))) return wanted;
    try {
      if (standing === undefined)
        for (const [key, head] of steps ?? [])
          if (await target.has(head)) await target.point(wanted, head, { key, force: true });
      await target.point(wanted, id);
      return wanted;
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
    }
  }
}

async function isPastOf(store: Store, id: FactId, head: FactId): Promise<boolean> {
  for await (const lines of store.lines(id, { without: [head] })) if (lines.length > 0) return false;
  return true;
}

async function bring(
  salvage: Salvage,
  target: Store,
  pointTo: (name: FoundName, id: FactId) => Promise<string>,
): Promise<Recovered> {
  const findings: Finding[] = [];
  try {
    const pieces: Found[] = [];
    for await (const piece of salvage.lines()) pieces.push(...soundIn(piece, findings));
    const names: FoundName[] = [];
    for await (const name of salvage.names()) names.push(name);
    const lines = trusted(pieces, new Set(names.flatMap(({ ids }) => ids.slice(0, 1))), findings);
    const whole = inOrder(lines, findings);
    const intact = new Set(whole.map((fact) => fact.id));
    const content = new Content(salvage, findings);
    const imported = await target.import(
      (function* () {
        for (const fact of whole) {
          yield* content.of(fact);
          yield fact.line;
        }
      })(),
      { keys: salvage.keys?.() ?? new Map() },
    );
    const pointed: string[] = [];
    for (const found of names) {
      const { name, ids } = found;
      const id = ids.find((one) => intact.has(one));
      if (id === undefined || id !== ids[0])
        findings.push({
          place: `name ${JSON.stringify(name)}`,
          problem:
            id === undefined ? "what it led to is lost" : `its newest facts are lost; it leads to ${id} now`,
        });
      if (id === undefined) continue;
      pointed.push(await pointTo(found, id));
    }
    return {
      facts: imported.written + imported.known,
      blobs: content.count,
      names: pointed,
      heads: imported.heads,
      findings,
    };
  } finally {
    salvage.close();
  }
}

/** The blobs of facts as lines of an export, each once; those that are not intact are findings. */
class Content {
  readonly #salvage: Salvage;
  readonly #findings: Finding[];
  readonly #told = new Set<Digest>();
  readonly #walk = new TreeWalk();
  count = 0;

  constructor(salvage: Salvage, findings: Finding[]) {
    this.#salvage = salvage;
    this.#findings = findings;
  }

  *of({ line, place }: Sound): Generator<string> {
    for (const digest of digestsOf(line)) yield* this.#tell(digest, `${place} refers to it`);
    const trees = treesIn(line).filter((tree) => this.#walk.add(tree));
    for (const tree of trees) yield* this.#tell(tree, `${place} names this tree`);
    for (let node = this.#walk.next(); node !== undefined; node = this.#walk.next()) {
      const bytes = this.#salvage.blob(node.digest);
      if (bytes === undefined || digestOf(bytes) !== node.digest) continue;
      try {
        for (const { digest, path } of this.#walk.enter(node, bytes))
          yield* this.#tell(digest, `it is ${JSON.stringify(path)} in a tree of ${place}`);
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        this.#findings.push({ place: `blob ${node.digest}`, problem: String(error.data.reason) });
      }
    }
  }

  *#tell(digest: Digest, why: string): Generator<string> {
    if (this.#told.has(digest)) return;
    this.#told.add(digest);
    const bytes = this.#salvage.blob(digest);
    const erasure = bytes === undefined ? this.#salvage.erased(digest) : undefined;
    if (erasure !== undefined) {
      yield erasureLine(erasure);
    } else if (bytes !== undefined && digestOf(bytes) === digest) {
      this.count += 1;
      yield blobLine(digest, bytes);
    } else if (digest !== EMPTY_TREE)
      this.#findings.push({
        place: `blob ${digest}`,
        problem: `it is ${bytes === undefined ? "missing" : "altered"}; ${why}`,
      });
  }
}

async function open(url: string): Promise<Salvage> {
  const [, scheme, path = ""] = /^(sqlite|file):(.*)$/s.exec(url) ?? [];
  if (scheme === "sqlite" && existsSync(path)) return (await import("./sqlite.js")).salvageSqlite(path);
  if (scheme === "file" && statSync(path, { throwIfNoEntry: false })?.isDirectory()) return readFolder(path);
  if (scheme === "file" && existsSync(path)) return salvageLines(readLines(path));
  throw new StoreError(
    "url",
    `Cannot recover from ${JSON.stringify(url)}: there is no store.`,
    'give "sqlite:PATH", "file:FOLDER", "file:EXPORT.jsonl", or the lines themselves',
  );
}

function salvageLines(source: Iterable<string> | AsyncIterable<string>): Salvage {
  const blobs = new Map<Digest, Uint8Array>();
  const erasures = new Map<Digest, Erasure>();
  return {
    async *lines() {
      let number = 0;
      for await (const raw of linesOf(source)) {
        number += 1;
        if (typeof raw !== "string") {
          yield { place: `line ${number}`, problem: `it is not text but ${showValue(raw)}` };
          continue;
        }
        const place = `line ${number}`;
        for (const line of partsOf(raw.endsWith("\n") ? raw.slice(0, -1) : raw)) {
          try {
            if (line.startsWith('{"blob":')) {
              const { digest, bytes } = readBlobLine(line.replace(/\r$/, ""));
              blobs.set(digest, bytes);
            } else if (line.startsWith('{"erased":')) {
              const erasure = readErasureLine(line.replace(/\r$/, ""));
              erasures.set(erasure.digest, erasure);
            } else if (line !== "") yield { place, line };
          } catch (error) {
            yield { place, problem: reasonOf(error) };
          }
        }
      }
    },
    blob: (digest) => blobs.get(digest),
    erased: (digest) => erasures.get(digest),
    async *names() {},
    close() {},
  };
}

/** A line, or the lines that were glued together at a blob or an erasure when the newline between them was lost. */
function partsOf(line: string): readonly string[] {
  // Inside of a line a quote has a backslash before it, so this can only stand where a line begins.
  const isGlued = /^\{"(?:blob|erased)":.*\}\{"rath":|\}\{"(?:blob|erased)":/s.test(line);
  return isGlued ? line.split(/(?<=\})(?=\{"(?:rath|blob|erased)":)/) : [line];
}

/** A line in the order it was found; without `line`, a place where one was lost. */
type Found = {
  readonly place: string;
  readonly line?: string;
  readonly id?: FactId;
  readonly sure?: boolean;
};
type Sound = { readonly place: string; readonly line: string };

/** The record lines of a piece: one, or those that were glued together when what parted them was lost. */
function soundIn(piece: Piece, findings: Finding[]): readonly Found[] {
  if (!("line" in piece)) {
    findings.push(piece);
    return [{ place: piece.place }];
  }
  const problem = problemOf(piece.line);
  if (problem === undefined) return [{ ...piece, id: digestOf(piece.line) }];
  findings.push({ place: piece.place, problem });
  // Inside a line a quote has a backslash before it, so a line can only begin where one was written.
  return piece.line.split(/(?=\{"rath":)/).map((part) => {
    const line = part.slice(0, part.lastIndexOf("}") + 1);
    return problemOf(line) === undefined ? { ...piece, line, id: digestOf(line) } : { place: piece.place };
  });
}

/**
 * The lines that are as they were written, as far as anyone can tell. An altered line can still be a proper
 * one, under another id: then nothing comes from it, and what did comes from a fact that is missing.
 */
function trusted(
  found: readonly Found[],
  named: ReadonlySet<FactId>,
  findings: Finding[],
): Map<FactId, Sound> {
  const lines = new Map<FactId, Sound>();
  const confirmed = new Set(named);
  for (const { id, line, place, sure } of found) {
    if (id === undefined || line === undefined) continue;
    if (!lines.has(id)) lines.set(id, { place, line });
    if (sure) confirmed.add(id);
    for (const parent of parentsOf(line)) confirmed.add(parent);
  }
  const refuse = (id: FactId, problem: string): void => {
    findings.push({ place: lines.get(id)?.place as string, problem });
    lines.delete(id);
  };
  const told = new Set<FactId>();
  const missing = new Set<FactId>();
  // Candidates for the line of a missing fact: lost lines, and those that nothing comes from. The nearest before it is.
  const open: (FactId | undefined)[] = [];
  for (const { id, line, sure } of found) {
    for (const parent of line === undefined ? [] : parentsOf(line)) {
      if (lines.has(parent) || missing.has(parent)) continue;
      missing.add(parent);
      const altered = open.pop();
      if (altered !== undefined)
        refuse(altered, `nothing confirms it, and ${parent} is missing: it may be that fact, altered`);
    }
    if (id !== undefined && told.has(id)) continue;
    if (id !== undefined) told.add(id);
    if (id !== undefined && !confirmed.has(id) && sure === false)
      refuse(id, "it is not the line that was written");
    else if (id === undefined || (!confirmed.has(id) && sure === undefined)) open.push(id);
  }
  return lines;
}

function problemOf(line: string): string | undefined {
  try {
    checkLine(line);
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof RathError ? String(error.data.reason ?? error.message) : String(error);
}

/** The facts whose whole past is there, parents before children. The others are findings. */
function inOrder(
  lines: ReadonlyMap<FactId, { line: string; place: string }>,
  findings: Finding[],
): readonly { id: FactId; line: string; place: string }[] {
  const children = new Map<FactId, FactId[]>();
  const waiting = new Map<FactId, number>();
  const ready: FactId[] = [];
  for (const [id, { line }] of lines) {
    const parents = parentsOf(line);
    waiting.set(id, parents.length);
    if (parents.length === 0) ready.push(id);
    for (const parent of parents) children.set(parent, [...(children.get(parent) ?? []), id]);
  }
  const order: { id: FactId; line: string; place: string }[] = [];
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    order.push({ id, ...(lines.get(id) as { line: string; place: string }) });
    for (const child of children.get(id) ?? []) {
      const left = (waiting.get(child) as number) - 1;
      waiting.set(child, left);
      if (left === 0) ready.push(child);
    }
  }
  for (const [id, { line, place }] of lines) {
    if (waiting.get(id) === 0) continue;
    const missing = parentsOf(line).find((parent) => !lines.has(parent));
    if (missing !== undefined)
      findings.push({ place, problem: `it comes from ${missing}, which is missing or altered` });
    else findings.push({ place, problem: "part of its past is missing or altered" });
  }
  return order;
}
