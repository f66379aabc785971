import type { BlobRef, BlobSource, Digest, FactId } from "../../session/index.js";
import { EMPTY_TREE, RecordError, readFact, Withheld } from "../../session/index.js";
import { type Erasure, TreeWalk } from "../../store/index.js";
import { type HeadSignature, headSignatureOf, type PublicKey } from "../proof/index.js";
import { type RecordLine, readRecordLine } from "./record-line.js";
import { Findings, type Flaw } from "./report.js";

/** The content of an erasing fact. Undefined where its list stands in a blob that is not here: then nothing follows from it. */
export type Eraser = {
  readonly digests: ReadonlySet<Digest>;
  readonly by: string;
  readonly at: string;
  readonly why: string;
};

export function eraserIn(line: string, blobs: BlobSource): Eraser | undefined {
  const { digests, by, at, why } = readFact(line, blobs) as {
    readonly [field in keyof Eraser]: unknown;
  };
  // A reason is never kept outside of its line.
  if (digests instanceof Withheld || typeof why !== "string") return undefined;
  return { digests: new Set(digests as readonly Digest[]), by: String(by), at: String(at), why };
}

/** Whether an erasure line says what its fact says. */
export function says(eraser: Eraser | undefined, erasure: Erasure): boolean {
  return (
    eraser?.by === erasure.by &&
    eraser.at === erasure.at &&
    eraser.why === erasure.why &&
    eraser.digests.has(erasure.digest)
  );
}

type TreeNode = ReturnType<TreeWalk["enter"]>[number];

/** The sizes below a tree that are not what it says. A blob that is missing has none, and is told elsewhere. */
export function* wrongSizes(
  node: TreeNode,
  below: readonly TreeNode[],
  sizes: readonly (number | undefined)[],
): Generator<string> {
  for (const [place, { kind, path, size }] of below.entries())
    if (kind === "file" && sizes[place] !== undefined && sizes[place] !== size)
      yield `${JSON.stringify(path)} has ${sizes[place]} bytes, and its tree says ${size}`;
  const sum = sizes.reduce<number>((all, one) => all + (one ?? Number.NaN), 0);
  if (node.kind === "parts" && !Number.isNaN(sum) && sum !== node.size)
    yield `the pieces of ${JSON.stringify(node.path)} have ${sum} bytes, and its tree says ${node.size}`;
}

/** Where a line lies. */
export type Spot = { readonly number: number; readonly offset: number };

type Met = Spot & { readonly type: string; extended: boolean };
type Held = Extract<RecordLine, { kind: "blob" }>;

/** Checks the lines of a record: hashes, edges, blobs, trees, signatures. It goes on behind faults. */
export class RecordCheck {
  readonly findings = new Findings();
  readonly signatures: HeadSignature[] = [];
  readonly #facts = new Map<FactId, Met>();
  readonly #blobs = new Map<Digest, Omit<Held, "kind">>();
  /** Parents that were named before they came, and by which line. */
  readonly #awaited = new Map<FactId, { readonly child: FactId; readonly spot: Spot }>();
  readonly #asked: { digest: Digest; spot: Spot; fact: FactId; what: string }[] = [];
  readonly #claims: { readonly erasure: Erasure; readonly spot: Spot }[] = [];
  /** The facts that erased something, to be held against what erasure lines say of them. */
  readonly #erasers = new Map<FactId, string>();
  readonly #signed: { readonly id: FactId; readonly text: string; readonly spot: Spot }[] = [];
  readonly #walk = new TreeWalk();
  readonly #keys: readonly PublicKey[];
  readonly #where: (spot: Spot) => string;
  readonly #read: (bytes: Buffer) => RecordLine;

  constructor(options: {
    readonly keys: readonly PublicKey[];
    /** How a line is called in findings. */
    readonly where?: (spot: Spot) => string;
    /** Reads a line. A caller that checks the same lines many times may cache the results. */
    readonly read?: (bytes: Buffer) => RecordLine;
  }) {
    this.#keys = options.keys;
    this.#where = options.where ?? (({ number }) => `line ${number}`);
    this.#read = options.read ?? readRecordLine;
  }

  get facts(): number {
    return this.#facts.size;
  }
  get blobs(): number {
    return this.#blobs.size;
  }

  /** Takes the next line, without its newline. Answers with what it is. */
  take(bytes: Buffer, spot: Spot): RecordLine {
    const line = this.#read(bytes);
    if (line.kind === "wrong") this.tell(spot, line.problem);
    else if (line.kind === "fact") this.#takeFact(line, spot);
    else if (line.kind === "erasure") this.#claims.push({ erasure: line.erasure, spot });
    else if (this.#blobs.has(line.digest)) this.tell(spot, `the blob ${line.digest} was there before`);
    else this.#blobs.set(line.digest, line);
    return line;
  }

  tell(spot: Spot, problem: string, more: Partial<Flaw> = {}): void {
    this.findings.add({ place: this.#where(spot), problem, line: spot.number, offset: spot.offset, ...more });
  }

  #takeFact({ id, type, text, parents, refs, trees }: Extract<RecordLine, { kind: "fact" }>, spot: Spot) {
    const before = this.#facts.get(id);
    if (before !== undefined) {
      this.tell(spot, `the fact ${id} was there before, in line ${before.number}`, { fact: id, type });
      return;
    }
    for (const parent of parents) {
      const met = this.#facts.get(parent);
      if (met !== undefined) met.extended = true;
      else if (!this.#awaited.has(parent)) this.#awaited.set(parent, { child: id, spot });
    }
    this.#facts.set(id, { ...spot, type, extended: this.#awaited.has(id) });
    for (const ref of refs) this.#needRef(ref, id, spot);
    for (const tree of trees) this.#needTree(tree, id, spot);
    if (type === "content-erase") this.#erasers.set(id, text);
    if (type === "head-sign") this.#signed.push({ id, text, spot });
  }

  #needRef({ digest, size, media, salt = 0 }: BlobRef, fact: FactId, spot: Spot): void {
    const blob = this.#blobs.get(digest);
    if (blob === undefined) this.#asked.push({ digest, spot, fact, what: "the line refers to it" });
    else if (blob.size !== size)
      this.tell(spot, `its blob ${digest} has ${blob.size} bytes, and the line says ${size}`, { fact });
    else if (media === "application/json" && (salt === 0 || salt === 32) && !blob.json.includes(salt))
      this.tell(spot, `its blob ${digest} is not the JSON that the line says`, { fact });
  }

  /** Follows a tree to everything that it leads to and that was not followed before. */
  #needTree(tree: Digest, fact: FactId, spot: Spot): void {
    if (!this.#walk.add(tree)) return;
    const ask = (digest: Digest, path: string): void => {
      const what =
        path === "" ? "it is a tree of the line" : `it is ${JSON.stringify(path)} in the tree ${tree}`;
      if (digest !== EMPTY_TREE) this.#asked.push({ digest, spot, fact, what });
    };
    if (!this.#blobs.has(tree)) ask(tree, "");
    for (let node = this.#walk.next(); node !== undefined; node = this.#walk.next()) {
      const held = this.#blobs.get(node.digest);
      // A missing blob was asked for where it was named.
      if (held === undefined) continue;
      try {
        if (held.text === undefined)
          throw new RecordError(`it is not the ${node.kind} that it is said to be`);
        const named = this.#walk.enter(node, held.text);
        for (const { digest, path } of named) if (!this.#blobs.has(digest)) ask(digest, path);
        const sizes = named.map(({ digest }) => this.#blobs.get(digest)?.size);
        for (const problem of wrongSizes(node, named, sizes)) this.tell(spot, problem, { fact });
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        this.tell(spot, `the blob ${node.digest}: ${String(error.data.reason)}`, { fact });
      }
    }
  }

  /** Judges the signatures of heads: at the end, since the keys of a bundle stand behind its record. */
  #judge(keys: readonly PublicKey[]): void {
    for (const { id, text, spot } of this.#signed) {
      const signature = headSignatureOf(id, text, keys);
      if (signature === undefined) continue;
      this.signatures.push(signature);
      if (signature.verdict === "bad")
        this.tell(spot, String(signature.problem), { fact: id, type: "head-sign" });
    }
  }

  /** Ends it. `expected` are ids that must be there; a fact that neither they nor another fact names is the first suspect. */
  finish(
    expected: readonly FactId[] = [],
    keys: readonly PublicKey[] = [],
  ): { readonly heads: readonly FactId[]; readonly erasures: readonly Erasure[]; readonly erased: number } {
    this.#judge([...this.#keys, ...keys]);
    const heads = [...this.#facts].filter(([, { extended }]) => !extended).map(([id]) => id);
    this.#checkParents(heads.filter((id) => !expected.includes(id)));
    const erased = this.#erased();
    const wanted = new Set(this.#asked.map(({ digest }) => digest));
    for (const { erasure, spot } of this.#claims)
      if (!wanted.has(erasure.digest))
        this.tell(spot, `nothing here refers to the blob ${erasure.digest} that it is about`);
    const gone = new Set<Digest>();
    for (const { digest, spot, fact, what } of this.#asked) {
      if (this.#blobs.has(digest)) this.tell(spot, `the blob ${digest} is below, and ${what}`, { fact });
      else if (erased.has(digest)) gone.add(digest);
      else this.tell(spot, `the blob ${digest} is missing, and ${what}`, { fact });
    }
    const lost = expected.filter((id) => !this.#facts.has(id));
    // Where a head is missing, one that nobody expects is most likely what became of it.
    const suspects = lost.length === 0 ? [] : heads.filter((id) => !expected.includes(id));
    for (const id of lost) this.#tellLost(id, suspects.at(-1));
    return { heads, erasures: [...gone].map((digest) => erased.get(digest) as Erasure), erased: gone.size };
  }

  #tellLost(id: FactId, suspect: FactId | undefined): void {
    const met = suspect === undefined ? undefined : this.#facts.get(suspect);
    const problem = `the session ${id} is not here: the newest lines were cut off or altered, or it is another file`;
    if (met === undefined || suspect === undefined)
      this.findings.add({ place: "the end", problem, fact: id });
    else
      this.tell(met, `nothing comes from it, and it is not a known head. ${problem}`, {
        fact: suspect,
        type: met.type,
      });
  }

  #checkParents(suspects: readonly FactId[]): void {
    for (const [parent, { child, spot }] of this.#awaited) {
      const late = this.#facts.get(parent);
      const more = { fact: child, type: this.#facts.get(child)?.type ?? "" };
      if (late !== undefined) {
        this.tell(spot, `it comes from ${parent}, which stands below it, in line ${late.number}`, more);
        continue;
      }
      const above = suspects
        .map((id) => this.#facts.get(id) as Met)
        .filter(({ number }) => number < spot.number)
        .slice(-3)
        .map(({ number }) => number);
      const guess =
        above.length === 0
          ? "a line above it was left out or moved"
          : `line ${above.join(" or ")} was altered, or a line above it was left out or moved`;
      this.tell(spot, `it comes from ${parent}, which is not here: ${guess}`, more);
    }
  }

  /** The erasures: an erasure line is proved by the fact that it names, and is a finding without it. */
  #erased(): ReadonlyMap<Digest, Erasure> {
    const erased = new Map<Digest, Erasure>();
    const held = { read: (digest: Digest) => this.#blobs.get(digest)?.text };
    const erasers = new Map([...this.#erasers].map(([fact, line]) => [fact, eraserIn(line, held)]));
    for (const { erasure, spot } of this.#claims) {
      const isHere = this.#facts.has(erasure.fact);
      if (isHere && !says(erasers.get(erasure.fact), erasure)) {
        this.tell(spot, `it says of ${erasure.digest} what the fact ${erasure.fact} does not say`);
        continue;
      }
      if (!isHere)
        this.tell(
          spot,
          `it says that ${erasure.digest} was erased by ${erasure.fact}, but that fact is not in this file`,
        );
      erased.set(erasure.digest, erasure);
    }
    for (const [fact, eraser] of erasers)
      for (const digest of eraser?.digests ?? []) {
        const { by, at, why } = eraser as Eraser;
        if (!erased.has(digest)) erased.set(digest, { digest, fact, by, at, why } as Erasure);
      }
    return erased;
  }
}
