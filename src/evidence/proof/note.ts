import { ProofError } from "./error.js";
import { bytesOf, type PublicKey, SIGNATURE_BYTES, type SigningKey } from "./key.js";

/** A C2SP signed note: text, empty line, then lines of `— name base64(id + signature)`. */
export type Note = { readonly text: string; readonly signatures: readonly NoteSignature[] };
export type NoteSignature = { readonly name: string; readonly id: string; readonly bytes: Buffer };

const LINE = /^\u2014 ([^\s+]+) ([A-Za-z0-9+/=]+)$/u;

export function signNote(text: string, ...keys: readonly SigningKey[]): string {
  checkText(text);
  return `${text}\n${keys.map((key) => signatureLine(key, key.sign(Buffer.from(text)))).join("")}`;
}

export function signatureLine(
  { name, id }: { readonly name: string; readonly id: string },
  bytes: Uint8Array,
): string {
  return `\u2014 ${name} ${Buffer.concat([Buffer.from(id, "hex"), bytes]).toString("base64")}\n`;
}

/** Reads a note. Whether its signatures are good, `signersOf` says. */
export function readNote(note: unknown): Note {
  if (typeof note !== "string") throw refused("it is not text");
  const end = note.lastIndexOf("\n\n");
  if (end < 0 || !note.endsWith("\n"))
    throw refused("it has no empty line between text and signatures, or was cut off");
  const text = note.slice(0, end + 1);
  checkText(text);
  const lines = note
    .slice(end + 2)
    .split("\n")
    .slice(0, -1);
  if (lines.length === 0) throw refused("nobody signed it");
  return { text, signatures: lines.map(readSignature) };
}

export function readSignature(line: string): NoteSignature {
  const [, name = "", data = ""] = LINE.exec(line) ?? [];
  const bytes = bytesOf(data, 4 + SIGNATURE_BYTES);
  if (bytes === undefined) throw refused(`a line is not a signature: ${JSON.stringify(line.slice(0, 60))}`);
  return { name, id: bytes.toString("hex", 0, 4), bytes: bytes.subarray(4) };
}

/** The verdict on a signature. A bad one claims to be by a known key and is not. */
export type Signer = {
  readonly name: string;
  readonly id: string;
  readonly verdict: "good" | "bad" | "unknown";
  /** The key that a good one is by. An id has 32 bits, so others may have the same: only the whole key says who it was. */
  readonly publicKey?: PublicKey;
};

export function signersOf({ text, signatures }: Note, keys: readonly PublicKey[]): readonly Signer[] {
  const bytes = Buffer.from(text);
  return signatures.map(({ name, id, bytes: signature }) => {
    const candidates = keys.filter((key) => key.name === name && key.id === id);
    if (candidates.length === 0) return { name, id, verdict: "unknown" };
    const publicKey = candidates.find((key) => key.signed(bytes, signature));
    return publicKey === undefined ? { name, id, verdict: "bad" } : { name, id, verdict: "good", publicKey };
  });
}

/** The notes of a file. An incomplete note has no text; bytes that are not UTF-8 match no note. */
export function* notesIn(file: Buffer) {
  for (let from = 0; from < file.length; ) {
    const middle = file.indexOf("\n\n", from);
    const end = middle < 0 ? -1 : file.indexOf("\n\n", middle + 2);
    yield { from, text: end < 0 ? undefined : file.toString("utf8", from, end + 1) };
    if (end < 0) return;
    from = end + 2;
  }
}

function checkText(text: string): void {
  if (!text.endsWith("\n") || text.startsWith("\n"))
    throw refused("its text does not end with a newline, or is empty");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
  if (/[\u0000-\u0009\u000b-\u001f]/.test(text) || !text.isWellFormed() || text.includes("\ufffd"))
    throw refused("its text has control characters, or is not UTF-8");
}

function refused(reason: string): ProofError {
  return new ProofError(
    "note-refused",
    `This is not a signed note: ${reason}.`,
    "give the file as it was written: a text, an empty line, and lines that begin with an em dash",
    { data: { reason } },
  );
}
