import { isUtf8 } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import { digestOf, type FactId } from "../../session/index.js";
import { BEHIND, type Behind, FRAME, readSeal, type Seal, SUM, signedText } from "../bundle/form.js";
import { reasonOf } from "../proof/error.js";
import { type PublicKey, readPublicKey, type Signer } from "../proof/index.js";
import { Growth, leafHash } from "../proof/merkle.js";
import { readSignature, signersOf } from "../proof/note.js";
import type { ByteLine } from "./byte-lines.js";
import { RecordCheck, type Spot } from "./record-check.js";
import type { RecordLine } from "./record-line.js";
import type { Findings } from "./report.js";

/** The public keys of a bundle, from the text of their section. */
export function keysIn(text: string): readonly PublicKey[] {
  const keys = JSON.parse(text) as unknown;
  if (!Array.isArray(keys)) throw new Error("it is not a list of keys");
  return keys.map(readPublicKey);
}

/** The signers of a bundle, from the text of the signatures and that of the seal. */
export function signersIn(text: string, sealed: string, keys: readonly PublicKey[]): readonly Signer[] {
  const lines = JSON.parse(text) as unknown;
  if (!Array.isArray(lines) || !lines.every((line) => typeof line === "string"))
    throw new Error("it is not a list of signatures");
  return signersOf({ text: signedText(digestOf(sealed)), signatures: lines.map(readSignature) }, keys);
}

/** Checks a bundle line by line: the frame, each section against the seal, the seal against digest and signatures. */
export class BundleCheck {
  readonly record: RecordCheck;
  readonly #known: readonly PublicKey[];
  #place: "first" | "about" | "lines" | "record" | Behind | "over" = "first";
  /** The text of each section, and the line that it stands in. Of the record only digests. */
  readonly #sections = new Map<"about" | Behind, { readonly text: string; readonly spot: ByteLine }>();
  readonly #hash: Hash = createHash("sha256");
  readonly #tree = new Growth();
  readonly #sums: string[] = [];
  /** Where the lines of the record begin, to say where what is wrong in the seal's eyes. */
  readonly #spots: (Spot & { readonly id?: FactId; readonly type?: string })[] = [];
  #erased = 0;
  #comma = true;
  #last: ByteLine | undefined;
  /** Lines of the record that were found wrong already: the seal need not be asked about them. */
  readonly #told = new Set<number>();

  constructor(options: {
    readonly keys: readonly PublicKey[];
    readonly read?: (bytes: Buffer) => RecordLine;
  }) {
    this.#known = options.keys;
    this.record = new RecordCheck(options);
  }

  get findings(): Findings {
    return this.record.findings;
  }

  take(_bytes: Buffer, line: ByteLine): void {
    this.#last = line;
    if (!line.ended) this.#tell(line, "the file ends in this line", this.#section);
    if (this.#place === "over") this.#tell(line, "the bundle is over, and there is more");
    else if (this.#place === "record") this.#takeRecord(line);
    else if (this.#place === "first") this.#expect(line, FRAME.first, "about");
    else if (this.#place === "lines") this.#expect(line, FRAME.lines, "record");
    else this.#takeSection(line, this.#place);
  }

  get #section(): string {
    return this.#place === "record" ? "lines" : this.#place;
  }

  #expect(line: ByteLine, text: string, next: "about" | "record"): void {
    this.#place = next;
    if (line.bytes.toString("latin1") === text) return;
    const [, version = "1"] = /^\{"bundle":(\d+),$/.exec(line.bytes.toString("latin1")) ?? [];
    this.#tell(
      line,
      Number(version) > 1
        ? `its format is ${version}, newer than 1: a newer openrath reads it`
        : `here must stand ${text}`,
    );
  }

  #takeSection(line: ByteLine, section: "about" | Behind): void {
    const start = FRAME[section];
    const end = section === "signatures" ? "}" : ",";
    const text = line.bytes.toString("utf8");
    const behind = this.#later(text, section);
    if (behind !== undefined) {
      this.#tell(line, `the section "${section}" must stand before this`, section);
      this.#place = behind;
      this.#takeSection(line, behind);
      return;
    }
    if (!isUtf8(line.bytes) || !text.startsWith(start) || !text.endsWith(end))
      this.#tell(line, `here must stand ${start}…${end}`, section);
    else {
      const value = text.slice(start.length, -end.length);
      if (isNormal(value)) this.#sections.set(section, { text: value, spot: line });
      else this.#tell(line, `its JSON is broken, or not in normal form`, section);
    }
    this.#place = nextOf(section);
  }

  /** The section that a line begins, if that is one that comes later: then those between are missing. */
  #later(text: string, section: "about" | Behind): Behind | undefined {
    const after = section === "about" ? [] : BEHIND.slice(BEHIND.indexOf(section) + 1);
    return after.find((one) => text.startsWith(FRAME[one]));
  }

  #takeRecord(line: ByteLine): void {
    // Lines of the record begin with a brace: only the others can be anything else.
    const start = line.bytes[0] === 0x7b ? "" : line.bytes.toString("latin1", 0, 20);
    const behind = start === "" ? undefined : BEHIND.find((one) => start.startsWith(FRAME[one]));
    if (start === FRAME.end || behind !== undefined) {
      const last = this.#spots.at(-1);
      if (this.#comma && last !== undefined)
        this.#tell(last, "a comma stands behind the last line of the record", "lines");
      if (last === undefined) this.#tell(line, "the record has no lines", "lines");
      this.#place = "view";
      if (behind === undefined) return;
      this.#tell(line, `the record must end before this, with ${FRAME.end}`, "lines");
      this.#place = behind;
      this.#takeSection(line, behind);
      return;
    }
    const last = this.#spots.at(-1);
    if (!this.#comma && last !== undefined)
      this.#tell(last, "a comma must stand behind this line of the record", "lines");
    this.#comma = line.bytes.at(-1) === 0x2c;
    const bytes = this.#comma ? line.bytes.subarray(0, -1) : line.bytes;
    const found = this.record.take(bytes, line);
    if (found.kind === "wrong") this.#told.add(this.#spots.length);
    else if (found.kind === "erasure") this.#erased += 1;
    const { number, offset } = line;
    this.#hash.update(bytes).update("\n");
    if (found.kind === "fact") this.#tree.add(leafHash(Buffer.from(found.id, "hex")));
    this.#sums.push((found.kind === "fact" ? found.id : digestOf(bytes)).slice(0, SUM));
    this.#spots.push({ number, offset, ...(found.kind === "fact" && { id: found.id, type: found.type }) });
  }

  /** Ends it: what the seal says is held against what was there. */
  finish(): { readonly seal?: Seal; readonly signers: readonly Signer[] } & Pick<
    ReturnType<RecordCheck["finish"]>,
    "heads" | "erasures" | "erased"
  > {
    const sealed = this.#sections.get("seal");
    const seal = sealed && readSeal(sealed.text);
    if (sealed !== undefined && seal === undefined)
      this.#tell(sealed.spot, "it does not say what a seal says", "seal");
    if (this.#place !== "over")
      this.#tell(
        this.#last ?? { number: 1, offset: 0 },
        `the file ends before ${this.#place === "first" ? "it begins" : `its section "${this.#section}"`}: it was cut off`,
        this.#section,
      );
    const digest = this.#sections.get("digest");
    const isSealed =
      sealed !== undefined && digest !== undefined && `"${digestOf(sealed.text)}"` === digest.text;
    if (seal !== undefined && isSealed) this.#checkSections(seal);
    // With a seal that was altered the record can still be held against itself.
    const keys = this.#keys();
    const { heads, erasures, erased } = this.record.finish(seal?.heads ?? [], keys);
    if (seal !== undefined && isSealed) this.#checkWhole(seal);
    if (seal !== undefined && sealed !== undefined && digest !== undefined && !isSealed) {
      // Which of the two was altered, the sections tell: they agree with a seal that was not.
      const agrees = this.#agrees(seal);
      if (agrees)
        this.#tell(
          digest.spot,
          "it is not the digest of the seal, and the seal fits everything else",
          "digest",
        );
      else
        this.#tell(
          sealed.spot,
          "its digest is another: the seal was altered, or the sections and the digest were",
          "seal",
        );
    }
    const signers = this.#signers(keys, sealed?.text);
    return { heads, erasures, erased, signers, ...(seal && { seal }) };
  }

  #agrees(seal: Seal): boolean {
    return (["about", "view", "keys"] as const).every(
      (one) => digestOf(this.#sections.get(one)?.text ?? "") === seal.sections[one],
    );
  }

  #checkSections(seal: Seal): void {
    for (const section of ["about", "view", "keys"] as const) {
      const held = this.#sections.get(section);
      if (held !== undefined && digestOf(held.text) !== seal.sections[section])
        this.#tell(held.spot, "it is not what was sealed", section);
    }
    const expected = seal.sums.match(/.{8}/g) ?? [];
    const { length } = this.#sums;
    if (length === expected.length) {
      const other = this.#sums.flatMap((sum, place) => (sum === expected[place] ? [] : [place]));
      const isOrder = other.length > 1 && sorted(other, this.#sums) === sorted(other, expected);
      for (const place of other)
        if (!this.#told.has(place))
          this.#tellRecord(
            place,
            isOrder ? "it stands elsewhere than when it was sealed" : "it is not the line that was sealed",
          );
      return;
    }
    let same = 0;
    while (same < Math.min(length, expected.length) && this.#sums[same] === expected[same]) same += 1;
    const [more, number] = [length > expected.length, Math.abs(length - expected.length)];
    this.#tellRecord(
      Math.min(same, length - 1),
      more
        ? `from here on there ${number === 1 ? "is a line" : `are ${number} lines`} that ${number === 1 ? "was" : "were"} not sealed, or there twice`
        : `here, or before it, ${number === 1 ? "a line is" : `${number} lines are`} missing`,
    );
  }

  /** The last resort, where no line says that it was altered. */
  #checkWhole(seal: Seal): void {
    if (this.record.findings.count > 0) return;
    const spot = this.#spots[0] ?? { number: 1, offset: 0 };
    if (this.#tree.root().toString("hex") !== seal.root)
      this.#tell(spot, "the facts are not those of the sealed root", "lines");
    else if (this.#hash.digest("hex") !== seal.sections.lines)
      this.#tell(spot, "the record is not the one that was sealed", "lines");
    const { facts, blobs, erased } = seal;
    if (facts !== this.record.facts || blobs !== this.record.blobs || erased !== this.#erased)
      this.#tell(
        spot,
        `it says ${facts} facts, ${blobs} blobs and ${erased} erasures, which is not what is there`,
        "seal",
      );
  }

  #keys(): readonly PublicKey[] {
    const held = this.#sections.get("keys");
    if (held === undefined) return [];
    const keys = this.#attempt("keys", held.spot, () => keysIn(held.text)) ?? [];
    const isKnown = ({ label }: PublicKey): boolean => this.#known.some((known) => known.label === label);
    for (const key of keys)
      if (isKnown(key) && !this.#known.some(({ text }) => text === key.text))
        this.#tell(
          held.spot,
          `its key ${key.label} is not the key of that name and id that is known`,
          "keys",
        );
    // An id is short enough to make another key for it: where the label is known, what is known decides alone.
    return keys.filter((key) => !isKnown(key));
  }

  #signers(keys: readonly PublicKey[], sealed: string | undefined): readonly Signer[] {
    const held = this.#sections.get("signatures");
    if (held === undefined || sealed === undefined) return [];
    const read = (): readonly Signer[] => signersIn(held.text, sealed, [...keys, ...this.#known]);
    const signers = this.#attempt("signatures", held.spot, read) ?? [];
    for (const { name, id, verdict } of signers) {
      if (verdict === "bad") this.#tell(held.spot, `the signature of ${name}+${id} is bad`, "signatures");
      if (verdict === "unknown")
        this.#tell(held.spot, `the key ${name}+${id} is not among the keys of the bundle`, "signatures");
    }
    return signers;
  }

  /** An unreadable section is reported with its name. */
  #attempt<Value>(section: string, spot: ByteLine, read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      this.#tell(spot, reasonOf(error), section);
      return undefined;
    }
  }

  #tell(spot: Spot, problem: string, section?: string): void {
    this.record.tell(spot, problem, section === undefined ? {} : { section });
  }

  #tellRecord(place: number, problem: string): void {
    const spot = this.#spots[place] ?? { number: 1, offset: 0 };
    const { id, type } = "id" in spot ? spot : {};
    this.record.tell(spot, problem, { section: "lines", ...(id && { fact: id }), ...(type && { type }) });
  }
}

function nextOf(section: "about" | Behind): "lines" | Behind | "over" {
  return section === "about" ? "lines" : (BEHIND[BEHIND.indexOf(section) + 1] ?? "over");
}

function sorted(places: readonly number[], sums: readonly string[]): string {
  return places
    .map((place) => sums[place] as string)
    .sort()
    .join();
}

function isNormal(text: string): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === text;
  } catch {
    return false;
  }
}
