import { diffTrees, patchOf, type Trees } from "../../sandbox/index.js";
import { type Digest, type FactId, type FactOf, type PathChange, RathError } from "../../session/index.js";
import { defined, firstLine, isObject } from "../../util/index.js";
import { type Html, html } from "./html/html.js";
import type { Anchors, Section } from "./html/words.js";
import { card, count, gone, inline, items, line, OPEN, told, when } from "./html/words.js";
import { firstOf, itemOf, Sample, type Seen } from "./item.js";
import type { Item, Listed, Told, Words } from "./words.js";

export type Change = Item & {
  readonly kind: "import" | "change" | "merge" | "resolve";
  readonly before: Digest | null;
  readonly after: Digest;
  readonly files: Listed<FileDiff>;
  readonly source?: Told;
  readonly conflicts?: Told;
  readonly why?: Told;
  readonly of?: FactId;
  /** The tool that did it. */
  readonly tool?: string;
};

export type FileDiff = {
  readonly path: string;
  readonly change: "add" | "modify" | "delete";
  readonly added: number;
  readonly removed: number;
  /** The unified diff of the file; without it `note` says why. */
  readonly diff?: Told;
  readonly note?: string;
};

export type Patch = Awaited<ReturnType<Diffs["patch"]>>;

/** A change of files whose diff is still to be made. */
export type ChangeDraft = Omit<Change, "files"> & { readonly paths: readonly PathChange[] };

export class Changes {
  readonly #words: Words;
  readonly #sample: Sample<ChangeDraft>;
  /** The files as they were when they came. */
  first: { readonly tree: Digest | null; readonly fact: string } | undefined;
  readonly #changed = new Set<string>();

  constructor(most: number, words: Words) {
    this.#words = words;
    this.#sample = new Sample(most);
  }

  see(seen: Seen): void {
    const { id, fact, elsewhere, tool } = seen;
    if (fact.type === "session-detach" && fact.tree !== undefined && !elsewhere)
      this.first ??= { tree: fact.tree, fact: id };
    const draft = this.#draft(seen);
    if (draft === undefined) return;
    if (!elsewhere) this.first ??= { tree: draft.kind === "import" ? draft.after : draft.before, fact: id };
    if (draft.kind === "change") for (const { path } of draft.paths) this.#changed.add(path);
    this.#sample.add({ ...draft, ...defined({ tool }) });
  }

  /** How many different files were changed. */
  get files(): number {
    return this.#changed.size;
  }

  listed(): Listed<ChangeDraft> {
    return this.#sample.listed();
  }

  #draft(seen: Seen): ChangeDraft | undefined {
    const { fact } = seen;
    const words = this.#words;
    const of = "of" in fact && typeof fact.of === "string" ? fact.of : undefined;
    const draft = { ...itemOf(seen), ...defined({ of }) };
    switch (fact.type) {
      case "workspace-import": {
        const source = words.tell(fact.source);
        return { ...draft, kind: "import", before: null, after: fact.after, paths: [], source };
      }
      case "workspace-change": {
        const { before, after, paths } = fact;
        return { ...draft, kind: "change", before, after, paths: pathsOf(paths) };
      }
      case "workspace-merge": {
        const { ours: before, after, paths } = fact;
        const conflicts = conflicted(fact) ? words.tell(fact.conflicts) : undefined;
        return { ...draft, kind: "merge", before, after, paths: pathsOf(paths), ...defined({ conflicts }) };
      }
      case "workspace-resolve": {
        const [conflicts, why] = [words.tell(fact.choices), words.maybe(fact.why)];
        const { after, paths } = fact;
        return {
          ...draft,
          kind: "resolve",
          before: null,
          after,
          paths: pathsOf(paths),
          conflicts,
          ...defined({ why }),
        };
      }
      default:
        return undefined;
    }
  }
}

function conflicted({ conflicts }: FactOf<"workspace-merge">): boolean {
  return !Array.isArray(conflicts) || conflicts.length > 0;
}

/** The paths that a fact names, whatever a garbage record has there. */
function pathsOf(paths: unknown): readonly PathChange[] {
  return (Array.isArray(paths) ? paths : []).filter(
    (one): one is PathChange => isObject(one) && typeof one.path === "string",
  );
}

/** How many files of one change are shown with their diff. */
const FILES = 60;
/** And of all changes together. */
const ALL_FILES = 2_000;

/** Diffs of files, made from the trees that the facts name. */
export class Diffs {
  readonly #trees: Trees;
  readonly #words: Words;
  #left = ALL_FILES;

  constructor(trees: Trees, words: Words) {
    this.#trees = trees;
    this.#words = words;
  }

  async change({ paths, ...draft }: ChangeDraft): Promise<Change> {
    // Imported files are named by their source: a diff of them would repeat the files.
    if (draft.kind === "import") return { ...draft, files: { items: [], total: 0 } };
    // A decision names no tree that it began with, so only the paths are told.
    const files =
      draft.kind === "resolve"
        ? firstOf(paths.map(untold), paths.length)
        : await this.#files(draft.before, draft.after, paths);
    return { ...draft, files };
  }

  /** All that changed between two trees, with the first and the last fact of the files. */
  async patch(from: Digest | null, to: Digest, facts: readonly FactId[]) {
    try {
      const files = await this.#files(from, to, await diffTrees(this.#trees, from, to));
      const sum = (count: (file: FileDiff) => number): number =>
        files.items.reduce((total, file) => total + count(file), 0);
      const [added, removed] = [sum((file) => file.added), sum((file) => file.removed)];
      return { from, to, files, added, removed, facts };
    } catch (error) {
      const file: FileDiff = { path: "", change: "modify", added: 0, removed: 0, note: noteOf(error) };
      const files: Listed<FileDiff> = { items: [file], total: 1 };
      return { from, to, files, added: 0, removed: 0, facts };
    }
  }

  async #files(before: Digest | null, after: Digest, paths: readonly PathChange[]) {
    const files: FileDiff[] = [];
    for (const one of paths.slice(0, FILES))
      files.push(this.#left-- > 0 ? await this.#file(before, after, one) : untold(one));
    const { length } = files;
    return { items: files, total: paths.length, ...(length < paths.length && { gap: length }) };
  }

  async #file(before: Digest | null, after: Digest, { path, change }: PathChange): Promise<FileDiff> {
    try {
      const patch = await patchOf(this.#trees, before, after, { paths: [path] });
      const diff = ownSection(patch);
      if (diff === "") return { ...untold({ path, change }), note: "nothing that a diff can show" };
      const [added, removed] = countsOf(diff);
      return { path, change, added, removed, diff: this.#words.tell(diff) };
    } catch (error) {
      return { ...untold({ path, change }), note: noteOf(error) };
    }
  }
}

function untold({ path, change }: PathChange): FileDiff {
  return { path, change, added: 0, removed: 0 };
}

/** The first file of a patch: a path that became a directory brings what is below it along. */
function ownSection(patch: string): string {
  const next = patch.indexOf("\ndiff --git ");
  return next === -1 ? patch : patch.slice(0, next + 1);
}

function countsOf(diff: string): readonly [added: number, removed: number] {
  let [added, removed] = [0, 0];
  // The names of the files stand before the first hunk.
  for (const line of diff.slice(Math.max(0, diff.indexOf("\n@@ "))).split("\n")) {
    if (line.startsWith("+")) added += 1;
    else if (line.startsWith("-")) removed += 1;
  }
  return diff.includes("\n@@ ") ? [added, removed] : [0, 0];
}

/** Why there is no diff, in words: files may be erased, not brought along, or no trees at all. */
function noteOf(error: unknown): string {
  return error instanceof RathError ? firstLine(error.message) : "its files cannot be read";
}

const KINDS: { readonly [kind in Change["kind"]]: string } = {
  import: "Files came in",
  change: "Files changed",
  merge: "Files merged",
  resolve: "Conflicts decided",
};

export const changesSection: Section = {
  id: "changes",
  title: "Changes of files",
  total: ({ changes }) => changes.total,
  body: ({ changes }, anchors) => items(changes, (change, place) => item(change, place, anchors)),
};

function item(change: Change, place: number, anchors: Anchors): Html {
  const [first] = change.files.items;
  const named =
    first === undefined
      ? inline(change.source)
      : html`<code dir="auto">${first.path}</code>${change.files.total > 1 && ` and ${count(change.files.total - 1, "other")}`}`;
  return card(
    html`<h3>${place + 1}. ${KINDS[change.kind]}</h3> ${named}${line(change.branch, change.tool ?? change.by, when(change.at, "clock"))}`,
    html`${files(change.files)}${told(change.source, "From")}${told(change.conflicts, change.kind === "resolve" ? "Choices" : "Conflicts")}${told(change.why, "Why")}<p class="small soft">tree <code class="id">${change.before?.slice(0, 12) ?? "(empty)"}</code> to <code class="id" title="${change.after}">${change.after.slice(0, 12)}</code>${
      change.of !== undefined && html`, by the call ${anchors.id(change.of)}`
    }</p>`,
    anchors,
    change.facts,
  );
}

/** The changes of files from the first to the last, on the way that was accepted. */
export const patchSection: Section = {
  id: "patch",
  title: "Accepted patch",
  heading: "The accepted patch",
  total: ({ patch }) => patch?.files.total,
  note: ({ patch }) =>
    patch !== null && `+${patch.added} −${patch.removed} in ${count(patch.files.total, "file")}`,
  body: ({ patch, outcome }, anchors) =>
    patch !== null &&
    html`<p class="lead">From the files as they came to the files as ${outcome.branch} has them, computed from the trees that the record names.</p>
${patch.files.total === 0 && html`<p class="soft">Nothing is different.</p>`}${files(patch.files)}
<p class="proofs">tree ${tree(patch.from)} to ${tree(patch.to)}, ${patch.facts.map((id) => html`${anchors.id(id)} `)}</p>`,
};

function tree(digest: string | null): Html {
  return digest === null
    ? html`(empty)`
    : html`<code class="id" title="${digest}">${digest.slice(0, 12)}</code>`;
}

/** Files with their diffs. */
function files(list: Listed<FileDiff>): Html {
  return html`${items(list, (file) => {
    const counts = html`<span class="soft small"> ${WORDS[file.change]}${file.added + file.removed > 0 && html`, <span class="good">+${file.added}</span> <span class="bad">−${file.removed}</span>`}</span>`;
    const name = html`<code dir="auto">${file.path === "" ? "(all files)" : file.path}</code>${counts}`;
    if (file.diff === undefined) return html`<p>${name} <span class="soft small">${file.note}</span></p>`;
    return html`<details class="part"${OPEN}><summary>${name}</summary>${diff(file.diff)}</details>`;
  })}`;
}

const WORDS = { add: "added", modify: "changed", delete: "deleted" } as const;

/** Lines are coloured, and say by their sign what they are. */
function diff(text: Told): Html {
  if ("withheld" in text) return gone(text);
  const lines = text.text.replace(/\n$/, "").split("\n");
  const first = lines.findIndex((line) => line.startsWith("@@"));
  const left = text.characters - text.text.length;
  return html`<pre class="diff">${lines.map((line, place) => {
    const isHead = first === -1 || place < first;
    // The names of the file stand above it already.
    if (isHead && NAMES.test(line)) return html``;
    const kind =
      isHead || line.startsWith("@@") ? "h" : line.startsWith("+") ? "a" : line.startsWith("-") ? "d" : "c";
    return html`<span class="${kind}">${line === "" ? " " : line}</span>`;
  })}</pre>${left > 0 && html`<p class="more">${count(left, "more character")} in the bundle.</p>`}`;
}

const NAMES = /^(?:diff --git |index |--- |\+\+\+ )/;
