import { statSync } from "node:fs";
import { type FactId, RathError } from "../../session/index.js";
import { StoreError } from "../../store/index.js";
import { optionNames } from "../../util/index.js";
import { requireOptions } from "../proof/error.js";
import type { PublicKey, Signer } from "../proof/index.js";
import { BundleCheck } from "./bundle.js";
import { type ByteLine, byteLines } from "./byte-lines.js";
import { allOf, type Keys, signatureIn, signerIn } from "./keys.js";
import { RecordCheck } from "./record-check.js";
import type { RecordLine } from "./record-line.js";
import { type Standing, signedAnyway, type Verified } from "./report.js";

export type VerifyFileOptions = {
  /** Ids, or beginnings of ids, that must be among the heads: tells a file that was cut off. */
  readonly heads?: readonly string[];
  /** The keys that are known, by what they are known from. */
  readonly keys?: Keys;
  /** Keys that must have signed the bundle, or a head that everything comes before. */
  readonly signedBy?: readonly PublicKey[];
  readonly progress?: (lines: number) => void;
  /** Reads a line: for campaigns that check nearly the same file many times. */
  readonly read?: (bytes: Buffer) => RecordLine;
};
const OPTIONS = optionNames<VerifyFileOptions>()("heads keys signedBy progress read");

export type VerifiedFile = Verified & {
  readonly kind: "lines" | "bundle";
  readonly signers: readonly (Signer & { readonly standing: Standing })[];
};

/** Verifies a file of exported lines, or a bundle: every byte of it, as far as something covers it. */
export async function verifyFile(
  source: string | Uint8Array,
  options: VerifyFileOptions = {},
): Promise<VerifiedFile> {
  requireOptions(options, OPTIONS, "verifyFile");
  requireFile(source);
  const { keys = {}, signedBy = [], progress, read } = options;
  requireBeginnings(options.heads ?? []);
  const known: Keys = { ...keys, given: [...(keys.given ?? []), ...signedBy] };
  const reading = { keys: allOf(known), ...(read && { read }) };
  let check: BundleCheck | RecordCheck | undefined;
  let lines = 0;
  let held: readonly ByteLine[] = [];
  const begin = (): BundleCheck | RecordCheck => {
    refuseOthers(held[0], source);
    return isBundle(held) ? new BundleCheck(reading) : new RecordCheck(reading);
  };
  for await (const batch of byteLines(source)) {
    held = held.concat(batch);
    // The second line tells a bundle whose first was altered.
    if (check === undefined && held.length < 2 && batch.at(-1)?.ended === true) continue;
    check ??= begin();
    for (const line of held) {
      check.take(line.bytes, line);
      lines += 1;
      if (check.findings.isFull) break;
    }
    held = [];
    progress?.(lines);
    // A file of garbage may be as long as it likes.
    if (check.findings.isFull) break;
  }
  if (check === undefined) {
    check = begin();
    for (const line of held) check.take(line.bytes, line);
  }
  return check instanceof BundleCheck
    ? bundleReport(check, options, known, signedBy)
    : linesReport(check, options, known, signedBy);
}

function bundleReport(
  check: BundleCheck,
  { heads: asked = [] }: VerifyFileOptions,
  keys: Keys,
  signedBy: readonly PublicKey[],
): VerifiedFile {
  const { signers, seal, ...found } = check.finish();
  const { record } = check;
  const heads = seal?.heads ?? found.heads;
  requireHeads(record, asked, [...heads, ...found.heads]);
  for (const key of signedBy)
    if (!signers.some(({ publicKey }) => publicKey?.text === key.text))
      record.findings.add({
        place: "the bundle",
        problem: `${key.label} did not sign it`,
        section: "signatures",
      });
  const notices = signers.length === 0 ? ["nobody signed this bundle: who wrote it, it does not prove"] : [];
  return reportOf("bundle", record, keys, notices, { ...found, heads, signers: signers.map(signerIn(keys)) });
}

function linesReport(
  record: RecordCheck,
  { heads: asked = [] }: VerifyFileOptions,
  keys: Keys,
  signedBy: readonly PublicKey[],
): VerifiedFile {
  const isWhole = (one: string): boolean => one.length === 64;
  const found = record.finish(asked.filter(isWhole));
  requireHeads(
    record,
    asked.filter((one) => !isWhole(one)),
    found.heads,
  );
  for (const key of signedBy)
    for (const head of found.heads)
      if (!record.signatures.some(({ fact, publicKey }) => fact === head && publicKey?.text === key.text))
        record.findings.add({
          place: `head ${head}`,
          problem: `it is not a signature of ${key.label}`,
          fact: head,
        });
  if (record.facts === 0 && record.findings.count === 0)
    record.tell({ number: 1, offset: 0 }, "there is no fact in this file");
  // Nothing in a file can tell that its newest line was altered or is missing: only an id known from elsewhere can.
  const isOpen = asked.length === 0 && signedBy.length === 0;
  return reportOf("lines", record, keys, isOpen ? [OPEN_END] : [], { ...found, signers: [] });
}

const OPEN_END =
  "nothing here tells whether newer lines are missing: compare the head with the id you know, or give it: --head ID";

function reportOf(
  kind: VerifiedFile["kind"],
  { findings, facts, blobs, signatures }: RecordCheck,
  keys: Keys,
  notices: readonly string[],
  { erased, erasures, heads, signers }: Pick<VerifiedFile, "erased" | "erasures" | "heads" | "signers">,
): VerifiedFile {
  const stopped = findings.isFull ? ["so much is wrong that the rest of the file was not read"] : [];
  return {
    notices: [...notices, ...signedAnyway(findings, signatures), ...stopped],
    facts,
    blobs,
    findings: findings.list,
    more: findings.more,
    signatures: signatures.map(signatureIn(keys)),
    kind,
    intact: findings.count === 0 && facts > 0,
    erased,
    erasures,
    heads,
    signers,
  };
}

function requireHeads(record: RecordCheck, asked: readonly string[], heads: readonly FactId[]): void {
  for (const one of asked)
    if (!heads.some((head) => head.startsWith(one)))
      record.findings.add({
        place: "the end",
        problem: `no session ${one.slice(0, 64)} ends these lines: the newest were cut off or altered, or it is another file`,
      });
}

/** A malformed id, or a beginning that too many ids have, would be a check that is not made. */
function requireBeginnings(heads: readonly unknown[]): void {
  for (const one of heads)
    if (typeof one !== "string" || !/^[0-9a-f]{8,64}$/.test(one)) {
      const shown = JSON.stringify(String(one).slice(0, 80));
      throw new RathError(
        "option-refused",
        `No head can be called ${shown}: give an id, or the beginning of one.`,
        {
          hint: "give 8 to 64 of the hex digits of its id: rath log SESSION shows them",
          data: { head: shown },
        },
      );
    }
}

/** Whether lines are the beginning of a bundle, also one that was damaged there. */
function isBundle([first, second]: readonly ByteLine[]): boolean {
  const begins = (line: ByteLine | undefined, text: string): boolean => line?.bytes.indexOf(text) === 0;
  return begins(first, '{"bundle"') || begins(second, '"about":');
}

function refuseOthers(first: ByteLine | undefined, source: string | Uint8Array): void {
  const start = first?.bytes.toString("latin1", 0, 200).trimStart().toLowerCase() ?? "";
  if (!start.startsWith("<!doctype html") && !start.startsWith("<html")) return;
  const name = typeof source === "string" ? source : "this";
  throw new StoreError(
    "url",
    `Cannot verify ${name}: it is a page for people.`,
    "give the bundle that was written with it (.json), or the exported lines (.jsonl)",
  );
}

function requireFile(source: unknown): void {
  if (source instanceof Uint8Array) return;
  if (typeof source === "string" && statSync(source, { throwIfNoEntry: false })?.isFile() === true) return;
  throw new StoreError(
    "url",
    `Cannot verify ${typeof source === "string" ? source.slice(0, 500) : "this"}: there is no such file.`,
    "give a bundle, or a file of exported lines: rath export SESSION -o FILE",
  );
}
