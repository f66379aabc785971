import { type Digest, EMPTY_TREE, readTree, type TreeEntry } from "../../session/index.js";
import type { Store } from "../../store/index.js";

/** Words that are looked for: however they are cased or spaced, and whichever of two spellings Unicode has for a letter. */
export class Needle {
  readonly #words: string;

  constructor(text: string) {
    this.#words = folded(text).trim();
  }

  get length(): number {
    return this.#words.length;
  }

  /** So many characters at the end of a piece may belong to words that end in the next one. */
  get overlap(): number {
    // Folding may make a text shorter, blanks above all.
    return 4 * this.#words.length + 64;
  }

  isIn(text: string): boolean {
    return folded(text).includes(this.#words);
  }

  /** Whether a value of JSON says it anywhere, keys included. */
  isInside(value: unknown): boolean {
    // A list of its own: values may be nested as deep as the record allows.
    const open = [value];
    while (open.length > 0) {
      const one = open.pop();
      if (typeof one === "string" || typeof one === "number") {
        if (this.isIn(String(one))) return true;
      } else if (Array.isArray(one)) {
        for (const item of one as readonly unknown[]) open.push(item);
      } else if (typeof one === "object" && one !== null) {
        for (const [key, item] of Object.entries(one)) {
          if (this.isIn(key)) return true;
          open.push(item);
        }
      }
    }
    return false;
  }
}

function folded(text: string): string {
  return text.normalize("NFKC").toLowerCase().replaceAll(/\s+/g, " ");
}

/** A file that is looked for, and where it lies below a tree. */
type FoundFile = { readonly digest: Digest; readonly size: number; readonly path: string };

type Wanted = { readonly needle: Needle | undefined; isAsked(digest: Digest): boolean };

/** Looks for files below trees. Trees have most of their directories in common: each directory, and each file, is read once. */
export class FileSearch {
  readonly #store: Store;
  readonly #wanted: Wanted;
  readonly #known = new Map<Digest, readonly FoundFile[]>();
  readonly #says = new Map<Digest, boolean>();
  /** Names of files and directories that say it. */
  readonly names = new Set<string>();

  constructor(store: Store, wanted: Wanted) {
    this.#store = store;
    this.#wanted = wanted;
  }

  get read(): number {
    return this.#says.size;
  }

  /** The files below a tree that are looked for. A blob that is not a tree, or is missing, has none: `verify` reports it. */
  async below(tree: Digest): Promise<readonly FoundFile[]> {
    const known = this.#known.get(tree);
    if (known !== undefined) return known;
    const found: FoundFile[] = [];
    // A tree cannot hold itself: its digest would have to be known before its text.
    for (const entry of await this.#entries(tree)) found.push(...(await this.#entry(entry)));
    this.#known.set(tree, found);
    return found;
  }

  async #entry(entry: TreeEntry): Promise<readonly FoundFile[]> {
    const { name } = entry;
    const { needle } = this.#wanted;
    if (needle?.isIn(name) === true || (entry.kind === "link" && needle?.isIn(entry.target) === true))
      this.names.add(name);
    if (entry.kind === "link") return [];
    if (entry.kind === "tree")
      return (await this.below(entry.digest)).map((one) => ({ ...one, path: `${name}/${one.path}` }));
    const wanted = this.#wanted.isAsked(entry.digest) || (await this.#saysFile(entry));
    return wanted ? [{ digest: entry.digest, size: entry.size, path: name }] : [];
  }

  async #entries(tree: Digest): Promise<readonly TreeEntry[]> {
    const bytes = tree === EMPTY_TREE ? undefined : await this.#blob(tree);
    try {
      return bytes === undefined ? [] : readTree(textOf(bytes)).entries;
    } catch {
      return [];
    }
  }

  async #saysFile(entry: Extract<TreeEntry, { readonly kind: "file" | "parts" }>): Promise<boolean> {
    const { needle } = this.#wanted;
    if (needle === undefined) return false;
    const known = this.#says.get(entry.digest);
    if (known !== undefined) return known;
    let says = false;
    let rest = "";
    for await (const bytes of this.#pieces(entry)) {
      const text = rest + textOf(bytes);
      says = needle.isIn(text);
      if (says) break;
      rest = text.slice(-needle.overlap);
    }
    this.#says.set(entry.digest, says);
    return says;
  }

  async *#pieces({
    kind,
    digest,
  }: Extract<TreeEntry, { readonly kind: "file" | "parts" }>): AsyncGenerator<Uint8Array> {
    const bytes = await this.#blob(digest);
    if (bytes === undefined) return;
    if (kind === "file") yield bytes;
    else
      for (const piece of digestsIn(textOf(bytes))) {
        const part = await this.#blob(piece);
        if (part !== undefined) yield part;
      }
  }

  #blob(digest: Digest): Promise<Uint8Array | undefined> {
    return this.#store.blob(digest).catch(() => undefined);
  }
}

function digestsIn(text: string): readonly Digest[] {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}
