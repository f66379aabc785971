import { PathRefusedError } from "./error.js";

/** A name as text. Bytes that are not UTF-8 become lone surrogates (U+DC00 + byte), as in Python. */
export function textOfName(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString("utf8");
  if (!text.includes("\ufffd") || Buffer.from(text, "utf8").equals(buffer)) return text;
  let exact = "";
  for (let at = 0; at < buffer.length; ) {
    const length = sequenceAt(buffer, at);
    exact +=
      length === 0
        ? String.fromCharCode(0xdc00 + (buffer[at] as number))
        : buffer.toString("utf8", at, at + length);
    at += Math.max(1, length);
  }
  return exact;
}

export function bytesOfName(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text, "utf8");
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    // A pair of surrogates is a character like others.
    if (unit >= 0xd800 && unit < 0xdc00 && isLow(text.charCodeAt(at + 1))) at += 1;
    else if (unit >= 0xdc80 && unit <= 0xdcff) {
      parts.push(Buffer.from(text.slice(from, at), "utf8"), Buffer.of(unit - 0xdc00));
      from = at + 1;
    } else if (unit >= 0xd800 && unit <= 0xdfff)
      throw new PathRefusedError(text, "it holds half of a character, which no file name can");
  }
  parts.push(Buffer.from(text.slice(from), "utf8"));
  return Buffer.concat(parts);
}

/** Bytes as `printf %b` of a shell reads them: everything that could mean something to it as an octal number. */
export function printfText(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  return text.replace(/[^A-Za-z0-9/._-]/g, (byte) => `\\0${byte.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

/** The names on the way to a path of the workspace; none for the workspace itself. */
export function namesOf(path: string): readonly string[] {
  if (typeof path !== "string") throw new PathRefusedError(String(path), "it is not a text");
  if (path.includes("\0")) throw new PathRefusedError(path, "it holds a NUL character");
  if (path.startsWith("/")) throw new PathRefusedError(path, "it does not begin in the workspace");
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "" || name === ".") continue;
    if (name === "..") throw new PathRefusedError(path, "it goes up, out of where it begins");
    requireExact(name, path);
    if (bytesOfName(name).length > 255)
      throw new PathRefusedError(path, "a name in it is longer than 255 bytes");
    names.push(name);
  }
  return names;
}

/** Two texts must never mean one file: a name that spells in bytes what has a spelling as text is refused. */
export function requireExact(name: string, path: string = name): void {
  if (!name.isWellFormed() && textOfName(bytesOfName(name)) !== name)
    throw new PathRefusedError(path, "it spells in bytes what is a character");
}

/** How many bytes the UTF-8 character has that begins here; 0 when none does. */
function sequenceAt(buffer: Buffer, at: number): number {
  for (let length = 1; length <= 4 && at + length <= buffer.length; length++) {
    const text = buffer.toString("utf8", at, at + length);
    if (!text.includes("\ufffd") || (length === 3 && text === "\ufffd" && buffer[at] === 0xef)) {
      if (
        Buffer.byteLength(text, "utf8") === length &&
        Buffer.from(text, "utf8").equals(buffer.subarray(at, at + length))
      )
        return length;
    }
  }
  return 0;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
