import { ProofError } from "./error.js";
import type { SigningKey } from "./key.js";
import { bytesOf } from "./key.js";
import { HASH_BYTES } from "./merkle.js";
import { type Note, readNote, signNote } from "./note.js";

/** How many facts a store had, and the root of the tree over their ids, signed: C2SP's tlog-checkpoint. */
export type Checkpoint = TreeHead & { readonly note: Note; readonly text: string };
export type TreeHead = {
  /** Which log it is of: made at random with the first checkpoint, and the same ever after. */
  readonly origin: string;
  readonly size: number;
  readonly root: Buffer;
};

export function signCheckpoint(head: TreeHead, ...keys: readonly SigningKey[]): string {
  return signNote(bodyOf(head), ...keys);
}

/** The text that is signed: origin, size, root. It follows from the three alone, so a proof need not carry it. */
export function bodyOf({ origin, size, root }: TreeHead): string {
  checkOrigin(origin);
  return `${origin}\n${size}\n${root.toString("base64")}\n`;
}

export function readCheckpoint(text: unknown): Checkpoint {
  const note = readNote(text);
  const [origin = "", size = "", root = "", ...more] = note.text.split("\n").slice(0, -1);
  const bytes = bytesOf(root, HASH_BYTES);
  const number = readSize(size);
  if (number === undefined || bytes === undefined || more.length > 0)
    throw new ProofError(
      "note-refused",
      "This signed note is not a checkpoint: its text is not origin, size and root, a line each.",
      "give a file that `rath checkpoint` wrote",
    );
  checkOrigin(origin);
  return { origin, size: number, root: bytes, note, text: text as string };
}

/** A number as a checkpoint spells it. */
export function readSize(text: string): number | undefined {
  const number = Number(text);
  return /^(?:0|[1-9][0-9]{0,15})$/.test(text) && Number.isSafeInteger(number) ? number : undefined;
}

export function checkOrigin(origin: unknown): void {
  if (typeof origin === "string" && origin.length <= 100 && /^[^\s+\p{C}]+$/u.test(origin)) return;
  throw new ProofError(
    "note-refused",
    "A log cannot be called that: its origin is empty, too long, or has blanks, plus signs or control characters.",
    "an origin is like a web address without https: as example.org/log",
  );
}
