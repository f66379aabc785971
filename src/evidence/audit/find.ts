import type { BlobRef, Digest, FactId } from "../../session/index.js";
import { isContent, isPrincipal, refsOf } from "../../session/index.js";
import { type Store, treesIn } from "../../store/index.js";
import { optionNames } from "../../util/index.js";
import { AuditError, requireOptions } from "./error.js";
import { type Held, holdersOf, later, type Touched } from "./holders.js";
import { namesIn } from "./principal.js";
import { FileSearch, Needle, textOf } from "./search.js";

export type FindOptions = {
  /** Only in these sessions. Default: all of the store. */
  readonly names?: readonly string[];
  /** A name, an e-mail address, any words: whatever content says them. */
  readonly about?: string;
  /** A principal: all content of its facts. */
  readonly by?: string;
  /** Blobs by their digests, or the beginnings of them. */
  readonly digests?: readonly string[];
  /** How many places that cannot be erased are told one by one. Default 1,000. */
  readonly limit?: number;
  readonly progress?: (facts: number) => void;
};

/** Content in a blob: it can be erased, and the chain still verifies. */
export type Erasable = {
  readonly digest: Digest;
  readonly size: number;
  /** Without a salt a guess of the content can be confirmed by its digest. */
  readonly salted: boolean;
  /** The field of a fact, or the path of a file. */
  readonly where: string;
  /** The facts that have it, the first twenty, and of which types they are. */
  readonly facts: readonly FactId[];
  readonly types: readonly string[];
  /** Every session of the store that loses it, wherever it was looked for. None: no name leads to it. */
  readonly sessions: readonly string[];
  /** When it was recorded last, anywhere in the store. */
  readonly newest: string;
};

/** A place that says it and cannot be erased: the id covers the very bytes. */
export type Fixed = {
  readonly fact: FactId;
  readonly type: string;
  readonly at: string;
  readonly session: string;
  readonly field: string;
  /** "content" that stands in its line, or "structure": who did it, names of branches, agents, tools. */
  readonly kind: "content" | "structure";
};

/** The findings, in blobs and elsewhere. */
export type Found = {
  readonly erasable: readonly Erasable[];
  readonly fixed: readonly Fixed[];
  /** How many more places cannot be erased than are listed. */
  readonly more: number;
  /** Names of sessions, and of files, that say it. */
  readonly names: readonly string[];
  readonly files: readonly string[];
  /** How much of it was erased before. */
  readonly gone: number;
  readonly read: { readonly sessions: number; readonly facts: number; readonly blobs: number };
  /** Facts and blobs without a name were not searched: `gc` removes them. */
  readonly unsearched: { readonly facts: number; readonly blobs: number };
  /** Runs that build on what can be erased. */
  readonly runs: Touched;
};

const KNOWN = optionNames<FindOptions>()("names about by digests limit progress");

/** Looks through lines, blobs and files of a store, as a stream, for everything of or about somebody. */
export async function findContent(store: Store, options: FindOptions): Promise<Found> {
  requireOptions(options, KNOWN, "look for content");
  const search = new Search(store, options, new Set((await store.erasures()).map(({ digest }) => digest)));
  for (const { name, id } of await namesIn(store, options.names)) await search.session(name, id);
  const { facts, blobs, spared } = await store.gc({ dryRun: true });
  return { ...(await search.done()), unsearched: { facts, blobs: blobs + spared } };
}

type Draft = { -readonly [Field in "size" | "salted" | "where" | "newest"]: Erasable[Field] } & {
  readonly [Field in "facts" | "types"]: Set<string>;
};
type Place = Pick<Fixed, "fact" | "type" | "at" | "session">;

/** As many facts are named of content that many have. */
const FACTS = 20;
const STAMPS: ReadonlySet<string> = new Set(["type", "at", "run", "seq"]);

class Search {
  readonly #store: Store;
  readonly #options: FindOptions;
  readonly #needle: Needle | undefined;
  readonly #erased: ReadonlySet<Digest>;
  readonly #files: FileSearch;
  readonly #erasable = new Map<Digest, Draft>();
  readonly #fixed: Fixed[] = [];
  readonly #names: string[] = [];
  readonly #gone = new Set<Digest>();
  /** Whether a blob says it: each is read once, however many facts have it. */
  readonly #says = new Map<Digest, boolean>();
  readonly #seen: FactId[] = [];
  #more = 0;
  #facts = 0;

  constructor(store: Store, options: FindOptions, erased: ReadonlySet<Digest>) {
    this.#store = store;
    this.#options = checked(options);
    this.#needle = options.about === undefined ? undefined : new Needle(options.about);
    this.#erased = erased;
    this.#files = new FileSearch(store, { needle: this.#needle, isAsked: (digest) => this.#isAsked(digest) });
  }

  async session(name: string, id: FactId): Promise<void> {
    if (this.#needle?.isIn(name) === true) this.#names.push(name);
    for await (const lines of this.#store.lines(id, { without: this.#seen })) {
      for (const one of lines) await this.#line(name, one.id, one.line);
      this.#options.progress?.(this.#facts);
    }
    this.#seen.push(id);
  }

  async done(): Promise<Omit<Found, "unsearched">> {
    const wanted = new Set(this.#erasable.keys());
    const { held, runs } =
      wanted.size === 0
        ? { held: new Map<Digest, Held>(), runs: { open: [], ended: 0 } }
        : await holdersOf(
            this.#store,
            wanted,
            new FileSearch(this.#store, { needle: undefined, isAsked: (digest) => wanted.has(digest) }),
          );
    const asked = new Set(this.#options.names);
    const erasable = [...this.#erasable].map(([digest, { facts, types, newest, ...rest }]): Erasable => {
      const { sessions = [], newest: last } = held.get(digest) ?? {};
      return {
        digest,
        ...rest,
        newest: last === undefined ? newest : later(newest, last),
        facts: [...facts],
        types: [...types],
        // Those that were named come first: the erasure goes on their record.
        sessions: [...sessions.filter((one) => asked.has(one)), ...sessions.filter((one) => !asked.has(one))],
      };
    });
    return {
      erasable,
      runs,
      fixed: this.#fixed,
      more: this.#more,
      names: this.#names,
      files: [...this.#files.names],
      gone: this.#gone.size,
      read: { sessions: this.#seen.length, facts: this.#facts, blobs: this.#says.size + this.#files.read },
    };
  }

  async #line(session: string, id: FactId, line: string): Promise<void> {
    this.#facts += 1;
    const { fact } = JSON.parse(line) as { readonly fact: { readonly [field: string]: unknown } };
    const type = String(fact.type);
    const place: Place = { fact: id, type, at: String(fact.at), session };
    const theirs = this.#options.by !== undefined && fact.by === this.#options.by;
    for (const [field, ref] of Object.entries(refsOf(line)))
      if (this.#isAsked(ref.digest) || (theirs && isContent(type, field)) || (await this.#saysBlob(ref)))
        this.#keep(ref.digest, { size: ref.size, salted: (ref.salt ?? 0) > 0, where: field }, place);
    for (const [field, value] of Object.entries(fact)) {
      if (STAMPS.has(field)) continue;
      const content = isContent(type, field);
      if ((theirs && content) || this.#needle?.isInside(value) === true)
        this.#fix({ ...place, field, kind: content ? "content" : "structure" });
    }
    for (const tree of treesIn(line))
      for (const { digest, size, path } of await this.#files.below(tree))
        this.#keep(digest, { size, salted: false, where: path }, place);
  }

  #keep(digest: Digest, what: Pick<Draft, "size" | "salted" | "where">, place: Place): void {
    if (this.#erased.has(digest)) {
      this.#gone.add(digest);
      return;
    }
    const draft = this.#erasable.get(digest) ?? {
      ...what,
      newest: place.at,
      facts: new Set<string>(),
      types: new Set<string>(),
    };
    this.#erasable.set(digest, draft);
    draft.newest = later(draft.newest, place.at);
    if (draft.facts.size < FACTS) draft.facts.add(place.fact);
    draft.types.add(place.type);
  }

  #fix(place: Fixed): void {
    if (this.#fixed.length < (this.#options.limit ?? 1_000)) this.#fixed.push(place);
    else this.#more += 1;
  }

  #isAsked(digest: Digest): boolean {
    return this.#options.digests?.some((one) => digest.startsWith(one)) === true;
  }

  async #saysBlob({ digest, media, salt = 0 }: BlobRef): Promise<boolean> {
    if (this.#needle === undefined) return false;
    const known = this.#says.get(digest);
    if (known !== undefined) return known;
    const bytes = await this.#store.blob(digest).catch(() => undefined);
    const says = bytes !== undefined && this.#saysText(textOf(bytes.subarray(salt)), media);
    this.#says.set(digest, says);
    return says;
  }

  #saysText(text: string, media: BlobRef["media"]): boolean {
    if (media === "application/json")
      try {
        return this.#needle?.isInside(JSON.parse(text)) === true;
      } catch {
        // Not what its line says: then it is looked at as it stands.
      }
    return this.#needle?.isIn(text) === true;
  }
}

function checked(options: FindOptions): FindOptions {
  const { about, by, digests = [] } = options;
  if (about === undefined && by === undefined && digests.length === 0)
    throw refused("nobody says what", 'say what: --about "Ada Lovelace", --by user:ada, or --digest …');
  if (about !== undefined && (typeof about !== "string" || new Needle(about).length < 2))
    throw refused(
      "one letter is in everything",
      "give a name, an address, or other words of at least two letters",
    );
  if (by !== undefined && !isPrincipal(by))
    throw refused(
      `${JSON.stringify(String(by).slice(0, 80))} names nobody`,
      "say who: user:ada, agent:coder",
    );
  for (const digest of digests)
    if (!/^[0-9a-f]{8,64}$/.test(String(digest)))
      throw refused(
        `${JSON.stringify(String(digest).slice(0, 80))} is not a digest`,
        "give the SHA-256 of a blob in hex, or at least its first 8 digits",
      );
  return options;
}

function refused(reason: string, hint: string): AuditError {
  return new AuditError("erase-refused", `Cannot look for what is to be erased: ${reason}.`, hint);
}
