import type { PathChange } from "../../session/index.js";
import { bytesOfName, namesOf, textOfName } from "../path.js";
import { type FilePatch, fitted, type PatchMistake, type PlacedHunk, parsePatch } from "./patch-parse.js";

/** Where a patch is applied: the files of a sandbox, a tree, anything that can be read and written. */
export interface PatchFiles {
  /** The bytes of a file; undefined when it does not exist. */
  read(path: string): Promise<Uint8Array | undefined>;
  /** Without a mode, a file that is there keeps its own. */
  write(path: string, bytes: Uint8Array, mode?: number): Promise<void>;
  remove(path: string): Promise<void>;
  /** The mode of a file that is there. Without it, one that is renamed or put back has the mode of a new one. */
  mode?(path: string): Promise<number | undefined>;
  /** The files below a directory: one that the patch empties may become a file. Without it, none may. */
  below?(path: string): Promise<readonly string[]>;
  /** Links, where there can be any: where one leads, and making one. */
  readonly links?: {
    read(path: string): Promise<string | undefined>;
    write(path: string, target: string): Promise<void>;
  };
}

export type ApplyOptions = {
  /** How many lines at each end of a hunk's context may be otherwise; none unless given, at most 3. */
  readonly fuzz?: number;
  /** Do not believe how many lines the headers of hunks promise. */
  readonly recount?: boolean;
};

/** The outcome of a patch: all of it was applied, or nothing was, and why. */
export type PatchOutcome =
  | { readonly applied: true; readonly files: readonly PatchedFile[] }
  | { readonly applied: false; readonly failures: readonly PatchFailure[] };

export type PatchedFile = PathChange & {
  /** The path it was renamed or copied from. */
  readonly from?: string;
  readonly hunks: readonly PlacedHunk[];
};

export type PatchFailure = PatchMistake & {
  readonly path?: string;
  /** The hunk of that file, counted from 1. */
  readonly hunk?: number;
};

/**
 * Applies a unified diff, all of it or nothing. A hunk goes where its header says, else to the only other
 * place where its lines stand; otherwise it fails.
 */
export async function applyPatch(
  files: PatchFiles,
  patch: string | Uint8Array,
  options: ApplyOptions = {},
): Promise<PatchOutcome> {
  const { files: wanted, mistakes } = parsePatch(patch, options);
  if (mistakes.length > 0) return { applied: false, failures: mistakes };
  const draft = new Draft(files, Math.min(options.fuzz ?? 0, 3));
  for (const one of wanted) await draft.take(one);
  draft.checkDirectories();
  if (draft.failures.length > 0) return { applied: false, failures: draft.failures };
  await draft.write();
  return { applied: true, files: draft.done };
}

/** The content at a path: bytes, one character each, and whether they say where a link leads. */
type Held = { readonly bytes: string; readonly isLink: boolean; readonly mode?: number };
const LINK = 0o120000;

class Draft {
  readonly failures: PatchFailure[] = [];
  readonly done: PatchedFile[] = [];
  readonly #files: PatchFiles;
  readonly #fuzz: number;
  readonly #before = new Map<string, Held | undefined>();
  readonly #after = new Map<string, Held | undefined>();
  readonly #directories = new Map<string, { readonly line: number; readonly below: readonly string[] }>();

  constructor(files: PatchFiles, fuzz: number) {
    this.#files = files;
    this.#fuzz = fuzz;
  }

  /** Works out what a file becomes. Nothing is written yet. */
  async take(patch: FilePatch): Promise<void> {
    const { from, to, kind, line } = patch;
    const path = (to ?? from) as string;
    const fail = (why: string): void => {
      this.failures.push({ path, line, why });
    };
    const isLink = ((patch.newMode ?? patch.oldMode ?? 0) & 0o170000) === LINK;
    try {
      for (const one of [from, to])
        if (one !== undefined && namesOf(one).join("/") !== one)
          return fail("it is not a path of the workspace");
      if (path === "") return fail("it has no name");
      if (isLink && this.#files.links === undefined) return fail("links cannot be made here");
      if (patch.isBinary) return fail("it is not text, and a patch in words cannot change it");
      const old = kind === "add" ? undefined : await this.#held(from as string, isLink);
      if (kind !== "change" && to !== undefined) {
        if ((await this.#held(to, isLink)) !== undefined) return fail("it is there already");
        const below = (await this.#files.below?.(to)) ?? [];
        if (below.length > 0) this.#directories.set(to, { line, below });
      }
      const isAdded = kind === "add" || (kind === "change" && old === undefined && isAddition(patch));
      if (!isAdded && old === undefined)
        return fail(`there is no ${isLink ? "link" : "file"} ${JSON.stringify(from)}`);
      const result = fitted(old?.bytes ?? "", patch.hunks, this.#fuzz);
      this.failures.push(...result.failures.map((failure) => ({ path, ...failure })));
      if (result.failures.length > 0) return;
      if (kind === "delete" && result.bytes !== "")
        return fail("it would be deleted, and has lines that the patch does not know");
      if (kind === "delete" || kind === "rename") this.#after.set(from as string, undefined);
      const mode = isLink ? undefined : patch.newMode === undefined ? old?.mode : patch.newMode & 0o777;
      if (to !== undefined)
        this.#after.set(to, { bytes: result.bytes, isLink, ...(mode !== undefined && { mode }) });
      const change = kind === "delete" ? "delete" : kind === "change" && !isAdded ? "modify" : "add";
      const moved = kind === "rename" || kind === "copy";
      this.done.push({ path, change, ...(moved && { from: from as string }), hunks: result.hunks });
    } catch (error) {
      fail(error instanceof Error ? (error.message.split("\n")[0] as string) : String(error));
    }
  }

  /** A file can only take the place of a directory that the patch empties. */
  checkDirectories(): void {
    for (const [path, { line, below }] of this.#directories)
      if (below.some((file) => !this.#after.has(file) || this.#after.get(file) !== undefined))
        this.failures.push({ path, line, why: "it is a directory, with files that the patch leaves there" });
  }

  /** Writes everything. If a write fails, earlier ones are undone. */
  async write(): Promise<void> {
    const begun: string[] = [];
    try {
      // Removals come first: a file may be where a directory was.
      for (const [path, held] of [...this.#after].sort(
        ([, one], [, other]) => Number(one !== undefined) - Number(other !== undefined),
      )) {
        begun.push(path);
        await this.#put(path, held);
      }
    } catch (error) {
      for (const path of begun.reverse())
        await this.#put(path, this.#before.get(path)).catch(() => undefined);
      throw error;
    }
  }

  async #put(path: string, held: Held | undefined): Promise<void> {
    if (held === undefined) return this.#files.remove(path);
    const bytes = Buffer.from(held.bytes, "latin1");
    if (held.isLink) await this.#files.links?.write(path, textOfName(bytes));
    else await this.#files.write(path, bytes, held.mode);
  }

  async #held(path: string, isLink: boolean): Promise<Held | undefined> {
    if (this.#after.has(path)) return this.#after.get(path);
    const target = isLink ? await this.#files.links?.read(path) : undefined;
    const content = isLink ? undefined : await this.#files.read(path);
    const bytes = target === undefined ? content : bytesOfName(target);
    const mode = bytes === undefined || isLink ? undefined : await this.#files.mode?.(path);
    const held = bytes && { bytes: latin(bytes), isLink, ...(mode !== undefined && { mode: mode & 0o777 }) };
    this.#before.set(path, held);
    return held;
  }
}

/** Bytes as a text of one character each. */
function latin(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

/** `diff -N` says nothing of a new file but that it had no lines. */
function isAddition({ hunks }: FilePatch): boolean {
  return hunks.length === 1 && hunks[0]?.from === 0 && hunks[0].lines.every(({ sign }) => sign === "+");
}
