import { type FactId, isDigest } from "../../session/index.js";
import { bodyOf, checkOrigin, readCheckpoint, readSize } from "./checkpoint.js";
import { ProofError } from "./error.js";
import type { PublicKey } from "./key.js";
import { bytesOf } from "./key.js";
import { HASH_BYTES, leafHash, rootOfPath, same } from "./merkle.js";
import { type NoteSignature, readSignature, type Signer, signatureLine, signersOf } from "./note.js";

/**
 * The proof that a fact is in a log: its place, the hashes to the root, and the checkpoint's signers. The
 * root follows from these.
 */
export type InclusionProof = {
  readonly origin: string;
  readonly index: number;
  readonly size: number;
  readonly path: readonly Buffer[];
  readonly signatures: readonly NoteSignature[];
  /** The root that the text names, in the longer form. */
  readonly root?: Buffer;
};

const SHORT = "openrath-proof 1";
const STANDARD = "c2sp.org/tlog-proof@v1";

/** The shorter form, of our own: under 1 KiB for one fact in a million. */
export function writeProof({ origin, index, size, path, signatures }: InclusionProof): string {
  return [
    `${SHORT}\n${origin} ${index} ${size}\n${Buffer.concat(path).toString("base64")}\n`,
    ...signatures.map((one) => signatureLine(one, one.bytes)),
  ].join("");
}

/** The same as C2SP's tlog-proof, which says the root too and gives each hash a line. */
export function writeStandardProof(proof: InclusionProof, root: Buffer): string {
  const { index, path, signatures } = proof;
  return [
    `${STANDARD}\nindex ${index}\n`,
    ...path.map((one) => `${one.toString("base64")}\n`),
    `\n${bodyOf({ ...proof, root })}\n`,
    ...signatures.map((one) => signatureLine(one, one.bytes)),
  ].join("");
}

/** Reads a proof of either form. */
export function readProof(text: unknown): InclusionProof {
  if (typeof text !== "string" || text.length > LONGEST) throw refused("it is not text, or too long");
  if (!text.endsWith("\n")) throw refused("it was cut off");
  const lines = text.slice(0, -1).split("\n");
  if (lines[0] === SHORT) return readShort(lines);
  if (lines[0] === STANDARD) return readStandard(lines, text);
  throw refused("its first line does not say what it is");
}

/** More than any tree needs: a proof of 2⁶⁴ facts with a hundred signatures is shorter. */
const LONGEST = 64 * 1024;

function readShort(lines: readonly string[]): InclusionProof {
  const [origin = "", at = "", of = "", ...more] = lines[1]?.split(" ") ?? [];
  const [index, size] = [readSize(at), readSize(of)];
  const bytes = bytesOf(lines[2] ?? "");
  if (index === undefined || size === undefined || more.length > 0)
    throw refused("line 2 is not origin, index and size");
  if (bytes === undefined || bytes.length % HASH_BYTES !== 0) throw refused("line 3 is not a list of hashes");
  checkOrigin(origin);
  const path = Array.from({ length: bytes.length / HASH_BYTES }, (_, place) =>
    bytes.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES),
  );
  if (lines.length < 4) throw refused("nobody signed it");
  return { origin, index, size, path, signatures: lines.slice(3).map(readSignature) };
}

function readStandard(lines: readonly string[], text: string): InclusionProof {
  // The line "extra" is not signed, so it is passed over.
  const from = lines[1]?.startsWith("extra ") === true ? 2 : 1;
  const index = readSize(/^index (.*)$/.exec(lines[from] ?? "")?.[1] ?? "");
  const end = lines.indexOf("", from);
  if (index === undefined || end < 0) throw refused("it has no index, or no checkpoint");
  const path = lines.slice(from + 1, end).map((line) => bytesOf(line, HASH_BYTES));
  if (!path.every((one) => one !== undefined)) throw refused("a line is not a hash");
  const { origin, size, root, note } = readCheckpoint(
    text.slice(lines.slice(0, end + 1).join("\n").length + 1),
  );
  return { origin, index, size, root, path: path as Buffer[], signatures: note.signatures };
}

/** The outcome of holding a proof against a fact. */
export type Included = {
  readonly included: boolean;
  readonly problem?: string;
  readonly signers: readonly Signer[];
};

/** Whether a proof shows, with keys that are known, that a fact is in the log. */
export function checkInclusion(proof: InclusionProof, id: FactId, keys: readonly PublicKey[]): Included {
  const { origin, index, size, path, signatures } = proof;
  const not = (problem: string, signers: readonly Signer[] = []): Included => {
    return { included: false, problem, signers };
  };
  if (!isDigest(id)) return not("this is not an id of a fact");
  const root = rootOfPath(leafHash(Buffer.from(id, "hex")), index, size, path);
  if (root === undefined) return not(`a proof of place ${index} among ${size} has another number of hashes`);
  if (proof.root !== undefined && !same(proof.root, root))
    return not(`it does not lead from the fact ${id} to the root that was signed`);
  const signers = signersOf({ text: bodyOf({ origin, size, root }), signatures }, keys);
  if (signers.some(({ verdict }) => verdict === "good")) return { included: true, signers };
  const names = signers.map((one) => `${one.name}+${one.id}`).join(", ");
  return signers.some(({ verdict }) => verdict === "bad")
    ? not(
        `it is not about the fact ${id}, or was altered: what follows from both was not signed by ${names}`,
        signers,
      )
    : not(`it is signed by ${names}, and no such key is known here`, signers);
}

function refused(reason: string): ProofError {
  return new ProofError(
    "proof-refused",
    `This is not a proof of inclusion: ${reason}.`,
    "give a file that `rath prove SESSION -o FILE` wrote",
    { data: { reason } },
  );
}
