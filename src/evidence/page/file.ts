import {
  type Conflict,
  changedLines,
  conflictsOf,
  diffTrees,
  entryAt,
  linesOf,
  mergeTrees,
  namesOf,
  PIECE_BYTES,
  type Side,
  Trees,
} from "../../sandbox/index.js";
import {
  type Digest,
  digestOf,
  type FactId,
  RathError,
  type Session,
  type TreeEntry,
} from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { type BlamedLine, blame } from "../audit/blame.js";
import { AuditError } from "../audit/error.js";
import { type Shown, shown } from "./content.js";
import { type ListOptions, type ListPage, pageOf, stretchOf } from "./list.js";
import type { RowReader } from "./row.js";

/** An entry of a directory, or a path that two trees have differently. */
export type FileRow = {
  readonly path: string;
  readonly kind: "file" | "directory" | "link";
  /** In octal, as chmod takes it. */
  readonly mode?: string;
  readonly size?: number;
  readonly digest?: Digest;
  readonly change?: "added" | "changed" | "removed";
};

export type FileDiff = {
  readonly path: string;
  readonly hunks: readonly Hunk[];
  /** One side is binary, or has more than 4 MB; both are named. */
  readonly binary?: true;
  readonly before?: Side;
  readonly after?: Side;
  /** Lines that are left out: a difference of more than 20,000 lines is cut. */
  readonly more?: number;
};

/** Lines that differ, with up to three lines around: " same", "-gone", "+new". Lines are counted from 1. */
export type Hunk = {
  readonly oldStart: number;
  readonly newStart: number;
  readonly lines: readonly string[];
};

/** Lines that one fact wrote, with the call, the model and the prompt behind it. */
export type BlameLine = {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
  /** Left out where the record ends before it. */
  readonly fact?: FactId;
  readonly by?: string;
  readonly at?: string;
  readonly branch?: string;
  readonly call?: FactId;
  readonly tool?: string;
  /** The call of the model that wanted it: `prompt` of it is what the model was asked. */
  readonly prompt?: FactId;
  readonly model?: string;
};

/** A path that two sides changed, with the text of each side and the text between markers. */
export type ConflictRow = Pick<Conflict, "path" | "kind"> & {
  /** The `workspace-merge` that left it; none where nobody has merged yet. */
  readonly merge?: FactId;
  readonly base?: Shown;
  readonly ours?: Shown;
  readonly theirs?: Shown;
  readonly result?: Shown;
};

/** A file and its bytes, of which a part can be read alone. */
export type FileContent = {
  readonly path: string;
  readonly size: number;
  readonly digest: Digest;
  bytes(from: number, end: number): AsyncIterable<Uint8Array>;
};

const CHANGES = { add: "added", modify: "changed", delete: "removed" } as const;
const TEXT = 4_194_304;
const LINES = 20_000;
const SIDE = 200_000;
/** So many characters of all sides together are told. */
const SIDES = 4_000_000;
const CONFLICTS = 200;
const CONTEXT = 3;
/** So much of a session is loaded to see its files: a view that was kept says the rest. */
const NEAR = 1_000;
/** And so much to find who wrote a line, or where two sessions parted. */
const BLAMED = 10_000;

/** The files of sessions, from the trees of their record. */
export class FilePages {
  readonly #store: Store;
  readonly #reader: RowReader;
  readonly #trees: Trees;

  constructor(store: Store, reader: RowReader) {
    this.#store = store;
    this.#reader = reader;
    this.#trees = new Trees(store);
  }

  /** One directory as of a fact. */
  async list(id: FactId, path: string, options: ListOptions): Promise<ListPage<FileRow>> {
    const names = namesOf(path);
    const tree = await this.#treeOf(id);
    const at = names.length === 0 ? tree : await entryAt(this.#trees, tree, path);
    if (at !== null && typeof at === "object" && at.kind !== "tree")
      throw unknownFile(path, "is not a directory");
    if (at === undefined) throw unknownFile(path, "is not among the files here");
    const digest = at === null || typeof at === "string" ? at : at.digest;
    const { entries } = await this.#trees.tree(digest);
    const stretch = stretchOf(options, entries.length);
    const way = names.map((name) => `${name}/`).join("");
    const items: FileRow[] = [];
    let place = stretch.from;
    for (; entries[place] !== undefined && items.length < stretch.limit; place += stretch.step)
      items.push(rowOf(`${way}${(entries[place] as TreeEntry).name}`, entries[place] as TreeEntry));
    return pageOf(items, stretch, place - stretch.step, entries.length);
  }

  /** The paths that changed between two facts; null is before any files. */
  async changes(before: FactId | null, after: FactId, options: ListOptions): Promise<ListPage<FileRow>> {
    const trees = [before === null ? null : await this.#treeOf(before), await this.#treeOf(after)] as const;
    const all = await diffTrees(this.#trees, ...trees);
    const stretch = stretchOf(options, all.length);
    const items: FileRow[] = [];
    let place = stretch.from;
    for (; all[place] !== undefined && items.length < stretch.limit; place += stretch.step) {
      const { path, change } = all[place] as (typeof all)[number];
      const entry = await entryAt(this.#trees, trees[change === "delete" ? 0 : 1], path);
      const row: FileRow = entry === undefined ? { path, kind: "file" } : rowOf(path, entry);
      items.push({ ...row, change: CHANGES[change] });
    }
    return pageOf(items, stretch, place - stretch.step, all.length);
  }

  /** The difference of one file between two facts. */
  async diff(before: FactId | null, after: FactId, path: string): Promise<FileDiff> {
    const old = before === null ? undefined : await entryAt(this.#trees, await this.#treeOf(before), path);
    const now = await entryAt(this.#trees, await this.#treeOf(after), path);
    if (old === undefined && now === undefined) throw unknownFile(path, "is not among the files of either");
    const sides = defined({ before: old && sideOf(old), after: now && sideOf(now) });
    const [one, other] = [await this.#text(old), await this.#text(now)];
    if (one === undefined || other === undefined) return { path, hunks: [], binary: true, ...sides };
    return { path, ...hunksOf(linesOf(one), linesOf(other)), ...sides };
  }

  /** A file as of a fact. */
  async content(id: FactId, path: string): Promise<FileContent> {
    const entry = await entryAt(this.#trees, await this.#treeOf(id), path);
    if (entry === undefined) throw unknownFile(path, "is not among the files here");
    if (entry.kind !== "file" && entry.kind !== "parts") throw unknownFile(path, "is not a file");
    const { digest, size } = entry;
    const trees = this.#trees;
    async function* bytes(from: number, end: number): AsyncIterable<Uint8Array> {
      const pieces = entry?.kind === "parts" ? await trees.parts(digest) : [digest];
      for (let at = Math.floor(from / PIECE_BYTES); at < pieces.length && at * PIECE_BYTES < end; at++) {
        const piece = await trees.blob(pieces[at] as Digest);
        const start = pieces.length === 1 ? 0 : at * PIECE_BYTES;
        yield piece.subarray(Math.max(0, from - start), Math.max(0, end - start));
      }
    }
    return { path, size, digest, bytes };
  }

  /** The author of each line of a file, as far back as the session is loaded. */
  async blame(id: FactId, path: string, options: ListOptions): Promise<ListPage<BlameLine>> {
    const found = await blame(await this.#store.load(id, { horizon: BLAMED }), this.#trees, path);
    if (found === undefined) throw unknownFile(path, "is not among the files here");
    const all = stretchesOf(found.lines.slice(0, LINES));
    const stretch = stretchOf(options, all.length);
    const known = new Map<FactId, Partial<BlameLine>>();
    const items: BlameLine[] = [];
    let at = stretch.from;
    for (; all[at] !== undefined && items.length < stretch.limit; at += stretch.step) {
      const line = all[at] as BlameLine;
      const { fact } = line;
      if (fact !== undefined && !known.has(fact)) known.set(fact, await this.#origin(fact));
      items.push({ ...line, ...(fact !== undefined && known.get(fact)) });
    }
    return pageOf(items, stretch, at - stretch.step, all.length);
  }

  /** The conflicts that are in the files of a session, or that a merge of two sessions would leave. Nothing is written. */
  async conflicts(ours: FactId, theirs?: FactId): Promise<readonly ConflictRow[]> {
    const session = await this.#store.load(ours, { horizon: BLAMED });
    if (theirs === undefined) return this.#left(session);
    const merged = session.merge(await this.#store.load(theirs, { horizon: BLAMED }));
    const { tree, unmerged = [] } = merged.files;
    const put = new Map<Digest, Uint8Array>();
    const trees = new Trees(overlay(this.#store, put));
    const rows: ConflictRow[] = [];
    let now = tree;
    for (const side of unmerged) {
      const result = await mergeTrees(trees, { ...side, ours: now });
      rows.push(...(await this.#rows(trees, result.conflicts, result.tree)));
      now = result.tree;
    }
    return rows;
  }

  async #left(session: Session): Promise<readonly ConflictRow[]> {
    const rows: ConflictRow[] = [];
    for (const id of session.conflicts) {
      const merge = (await this.#reader.fact(id))?.fact;
      if (merge?.type !== "workspace-merge") continue;
      const found = await this.#rows(this.#trees, conflictsOf(merge.conflicts), session.files.tree);
      rows.push(...found.map((row) => ({ ...row, merge: id })));
    }
    return rows;
  }

  async #rows(trees: Trees, conflicts: readonly Conflict[], tree: Digest | null) {
    const rows: ConflictRow[] = [];
    let left = SIDES;
    for (const { path, kind, base, ours, theirs } of conflicts.slice(0, CONFLICTS)) {
      const result = await entryAt(trees, tree, path);
      const sides = { base, ours, theirs, result: result && sideOf(result) };
      const texts: { [side: string]: Shown } = {};
      for (const [name, side] of Object.entries(sides)) {
        const text = side && (await this.#text({ ...side, name: "" } as TreeEntry, trees));
        if (side !== undefined)
          texts[name] = text === undefined ? shown(side) : shown(text, Math.min(SIDE, left));
        left -= texts[name]?.text.length ?? 0;
      }
      rows.push({ path, kind, ...texts });
    }
    return rows;
  }

  async #origin(id: FactId): Promise<Partial<BlameLine>> {
    const fact = (await this.#reader.fact(id))?.fact;
    if (fact === undefined) return {};
    const of = (fact as { readonly of?: FactId }).of;
    const call = of === undefined ? undefined : await this.#reader.fact(of);
    if (call?.fact.type !== "tool-call") return { by: fact.by, at: fact.at, ...defined({ call: call?.id }) };
    const origin = { by: fact.by, at: fact.at, call: call.id, tool: call.fact.name };
    // The reply that asked for a call stands before it, with the other calls that it asked for between.
    let [before] = call.parents;
    for (let steps = 0; before !== undefined && steps < 200; steps++) {
      const recorded = await this.#reader.fact(before);
      if (recorded?.fact.type === "model-reply") {
        const asked = (await this.#reader.fact(recorded.fact.of))?.fact;
        const model = recorded.fact.model ?? (asked?.type === "model-call" ? asked.model : undefined);
        return { ...origin, prompt: recorded.fact.of, ...defined({ model }) };
      }
      [before] = recorded?.parents ?? [];
    }
    return origin;
  }

  async #treeOf(id: FactId): Promise<Digest | null> {
    return (await this.#store.load(id, { horizon: NEAR })).files.tree;
  }

  /** The text of a file; "" for a missing one, undefined for a binary one. */
  async #text(entry: TreeEntry | undefined, trees = this.#trees): Promise<string | undefined> {
    if (entry === undefined) return "";
    if (entry.kind === "link") return `${entry.target}\n`;
    if (entry.kind !== "file" || entry.size > TEXT) return undefined;
    try {
      const text = Buffer.from(await trees.blob(entry.digest)).toString("utf8");
      return /[\0\ufffd]/.test(text) ? undefined : text;
    } catch (error) {
      // Erased, or not here.
      if (error instanceof RathError) return undefined;
      throw error;
    }
  }
}

/** Lines of one fact that follow each other. */
function stretchesOf(lines: readonly BlamedLine[]): readonly BlameLine[] {
  const stretches: (BlameLine & { readonly lines: string[]; to: number })[] = [];
  for (const { number, text, fact } of lines) {
    const last = stretches.at(-1);
    if (last === undefined || last.fact !== fact)
      stretches.push({ from: number, to: number, lines: [text], ...defined({ fact }) });
    else {
      last.lines.push(text);
      last.to = number;
    }
  }
  return stretches;
}

/** A store whose new blobs go nowhere. */
function overlay(store: Store, put: Map<Digest, Uint8Array>) {
  return {
    putBlobs: async (blobs: readonly Uint8Array[]): Promise<readonly Digest[]> =>
      blobs.map((bytes) => {
        const digest = digestOf(bytes);
        put.set(digest, bytes);
        return digest;
      }),
    blob: async (digest: Digest): Promise<Uint8Array | undefined> => put.get(digest) ?? store.blob(digest),
  };
}

function rowOf(path: string, entry: TreeEntry): FileRow {
  const { mode, size, digest } = entry as {
    readonly mode?: number;
    readonly size?: number;
    readonly digest?: Digest;
  };
  const kind = entry.kind === "tree" ? "directory" : entry.kind === "link" ? "link" : "file";
  return { path, kind, ...defined({ mode: mode?.toString(8), size, digest }) };
}

function sideOf({ name: _name, ...side }: TreeEntry): Side {
  return side;
}

function hunksOf(before: readonly string[], after: readonly string[]): Pick<FileDiff, "hunks" | "more"> {
  const hunks: { oldStart: number; newStart: number; lines: string[] }[] = [];
  /** Where the last hunk ends in the old text. */
  let end = -1;
  let [count, more] = [0, 0];
  for (const change of changedLines(before, after)) {
    const { at, newAt } = change;
    if (count > LINES) {
      more += change.count + change.newCount;
      continue;
    }
    const from = Math.max(0, at - CONTEXT);
    let hunk = hunks.at(-1);
    if (hunk === undefined || from > end) {
      hunk = { oldStart: from + 1, newStart: newAt - (at - from) + 1, lines: [] };
      hunks.push(hunk);
      end = from;
    } else hunk.lines.splice(hunk.lines.length - (end - Math.min(end, at)));
    const gone = before.slice(at, at + change.count);
    const made = after.slice(newAt, newAt + change.newCount);
    const around = before.slice(Math.min(end, at), at);
    end = Math.min(before.length, at + change.count + CONTEXT);
    hunk.lines.push(
      ...around.map((line) => ` ${line}`),
      ...gone.map((line) => `-${line}`),
      ...made.map((line) => `+${line}`),
      ...before.slice(at + change.count, end).map((line) => ` ${line}`),
    );
    count += gone.length + made.length;
  }
  return { hunks, ...(more > 0 && { more }) };
}

function unknownFile(path: string, problem: string): AuditError {
  const name = String(path).slice(0, 200);
  return new AuditError(
    "file-unknown",
    `${JSON.stringify(name)} ${problem}.`,
    "list the files: files(session)",
    {
      path: name,
    },
  );
}
