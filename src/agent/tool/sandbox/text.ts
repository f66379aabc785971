export type FileText =
  | { readonly kind: "text"; readonly lines: readonly string[]; readonly notes: readonly string[] }
  | { readonly kind: "image"; readonly media: string }
  | { readonly kind: "binary"; readonly what: string };

/** Bytes that are looked at to tell text from other things. */
const SAMPLE = 8192;

/** The content of a file: lines of text, a picture for models, or something else. */
export function textOf(bytes: Uint8Array): FileText {
  const buffer = bufferOf(bytes);
  const media = imageOf(buffer);
  if (media !== undefined) return { kind: "image", media };
  const encoding = new Map([
    ["\u00ff\u00fe", "utf-16le"],
    ["\u00fe\u00ff", "utf-16be"],
  ]).get(buffer.toString("latin1", 0, 2));
  if (encoding !== undefined)
    return {
      kind: "text",
      lines: linesOf(new TextDecoder(encoding).decode(buffer)),
      notes: [`encoded as ${encoding.toUpperCase()}`],
    };
  if (buffer.subarray(0, SAMPLE).includes(0)) return { kind: "binary", what: kindOf(buffer) };
  const text = buffer.toString("utf8");
  const notes: string[] = [];
  if (text.includes("\ufffd") && !Buffer.from(text, "utf8").equals(buffer))
    notes.push("not all of it is UTF-8: what is not is shown as \ufffd");
  const returns = count(text, "\r\n");
  if (returns > 0)
    notes.push(
      returns === count(text, "\n") ? "line endings are CRLF" : "line endings are LF and CRLF mixed",
    );
  return { kind: "text", lines: linesOf(text.startsWith("\ufeff") ? text.slice(1) : text), notes };
}

/** The lines of a text without their endings. An empty rest after the last ending does not count. */
export function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  const lines = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  return text.endsWith("\n") ? lines.slice(0, -1) : lines;
}

/** Whether there is a byte of zero where text is looked for. */
export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, SAMPLE).includes(0);
}

export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Characters of a line that are shown. */
const LINE = 1000;

/** Lines with their numbers, as many as there is room for: at least one. */
export function numbered(
  lines: readonly string[],
  from: number,
  count: number,
  room: number,
): { readonly text: string; readonly last: number } {
  const shown: string[] = [];
  const widest = Math.min(LINE, Math.max(100, Math.floor(room / 2)));
  let left = room;
  for (let at = from; at < Math.min(from + count, lines.length + 1); at++) {
    const line = `${at}:${shortened(lines[at - 1] as string, widest)}`;
    left -= line.length + 1;
    if (left < 0 && shown.length > 0) break;
    shown.push(line);
  }
  return { text: shown.join("\n"), last: from + shown.length - 1 };
}

/** A window on a file: which lines of how many, and what is above and below. */
export function windowOf(
  path: string,
  lines: readonly string[],
  from: number,
  count: number,
  room: number,
): string {
  if (lines.length === 0) return `[${path}: empty]`;
  const { text, last } = numbered(lines, from, count, room);
  const below = lines.length - last;
  return [
    `[${path}: lines ${from}-${last} of ${lines.length}]`,
    ...(from > 1 ? [`(${from - 1} more ${from === 2 ? "line" : "lines"} above)`] : []),
    text,
    ...(below > 0 ? [`(${below} more ${below === 1 ? "line" : "lines"} below)`] : []),
  ].join("\n");
}

export function shortened(line: string, most = LINE): string {
  if (line.length <= most) return printable(line);
  const cut = line.slice(0, most).toWellFormed();
  return `${printable(cut)}[… ${line.length - most} more characters]`;
}

/** Without characters that steer a terminal: no model is helped by them, and some providers refuse them. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "\ufffd");
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

export function sizeOf(bytes: number): string {
  if (bytes < 1024) return plural(bytes, "byte");
  if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KB`;
  return `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}

/** How often a part stands in a text, none over another. */
export function count(text: string, part: string): number {
  let found = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) found += 1;
  return found;
}

/** The pictures that every provider takes, told by their first bytes. */
function imageOf(buffer: Buffer): string | undefined {
  const head = buffer.toString("latin1", 0, 12);
  if (head.startsWith("\u0089PNG\r\n\u001a\n")) return "image/png";
  if (head.startsWith("\u00ff\u00d8\u00ff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(head)) return "image/gif";
  if (head.startsWith("RIFF") && head.endsWith("WEBP")) return "image/webp";
  return undefined;
}

function kindOf(buffer: Buffer): string {
  const head = buffer.toString("latin1", 0, 8);
  if (head.startsWith("\u007fELF")) return "a program (ELF)";
  if (head.startsWith("PK\u0003\u0004")) return "an archive (zip)";
  if (head.startsWith("\u001f\u008b")) return "compressed (gzip)";
  if (head.startsWith("%PDF-")) return "a document (PDF)";
  if (head.startsWith("SQLite ")) return "a database (SQLite)";
  return "no text";
}
