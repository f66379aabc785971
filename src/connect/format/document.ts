import { ContentError, FactError, type Json, MergeError, RathError } from "../../session/index.js";
import { ImportError, type ImportProblem } from "./error.js";
import type { Imported, Source } from "./exchange.js";
import { jsonOf, LONG_NUMBERS, MAX_BYTES } from "./json.js";
import { type BrokenLine, keepLines, type ReadLine, readLines, warningsOf } from "./lines.js";

/** A file of another system under the eyes of one format: its text, its JSON, and how it is refused. */
export class Document {
  readonly format: string;
  readonly source: Source;
  /** What was found that the reader of the import shall know. */
  readonly notes: string[] = [];
  /** The parts of the file that could not be read. */
  readonly warnings: string[] = [];
  /** The lines that could not be read. */
  broken: readonly BrokenLine[] = [];

  constructor(format: string, source: Source) {
    this.format = format;
    this.source = source;
  }

  refusal(problem: ImportProblem): ImportError {
    return new ImportError(this.format, this.source, problem);
  }

  /** The bytes as UTF-8, without a byte order mark. */
  text(): string {
    this.#requireSize();
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(this.source.bytes);
    } catch (cause) {
      throw this.refusal({ where: "", reason: "it is not UTF-8 text", cause });
    }
  }

  json(): Json {
    return this.parsed(this.text(), "");
  }

  /** One JSON value for each readable line, with the number of the line. */
  lines(): readonly ReadLine<Json>[] {
    this.#requireSize();
    const { lines, broken } = readLines(this.source.bytes, (text, where) => this.parsed(text, where));
    this.broken = broken;
    for (const warning of warningsOf(broken)) this.warn(warning);
    return lines;
  }

  #requireSize(): void {
    if (this.source.bytes.length > MAX_BYTES)
      throw this.refusal({ where: "", reason: `it is longer than ${MAX_BYTES} bytes` });
  }

  /** JSON text. Whole numbers that JavaScript cannot hold become texts with all their digits. */
  parsed(text: string, where: string): Json {
    return jsonOf(text, {
      holds: () => false,
      refuse: (reason, cause) => {
        throw this.refusal({ where, reason, ...(cause !== undefined && { cause }) });
      },
      quoted: () => this.note(LONG_NUMBERS),
    });
  }

  note(text: string): void {
    if (!this.notes.includes(text)) this.notes.push(text);
  }

  warn(text: string): void {
    if (!this.warnings.includes(text)) this.warnings.push(text);
  }
}

/** Reads a file of another system: sessions, or an `ImportError`, also where the record itself refuses a value. */
export async function readDocument(
  format: string,
  source: Source,
  read: (document: Document) => readonly Imported[] | Promise<readonly Imported[]>,
): Promise<readonly Imported[]> {
  const document = new Document(format, source);
  try {
    const imported = await read(document);
    // A line is written when its id is asked for: what cannot be written shall not come to light later.
    for (const { session } of imported) session.id;
    const { warnings, broken } = document;
    if (warnings.length === 0) return imported;
    return imported.map((one, place) => ({
      ...one,
      ...(place === 0 && { session: keepLines(one.session, broken) }),
      warnings: [...(one.warnings ?? []), ...warnings],
    }));
  } catch (cause) {
    if (cause instanceof ImportError || !isRefusal(cause)) throw cause;
    const reason = cause instanceof RathError ? String(cause.data.reason) : messageOf(cause);
    throw document.refusal({ where: "", reason: `the record cannot hold it: ${reason}`, cause });
  }
}

/** Whether a cheap look at the beginning of a file finds all of these; never throws. */
export function beginsLike({ bytes }: Source, ...patterns: readonly RegExp[]): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 65_536)).toString();
  return patterns.every((pattern) => pattern.test(text));
}

/** What the record says no to, and what has no room in a string or on the stack. */
function isRefusal(cause: unknown): cause is Error {
  return (
    cause instanceof ContentError ||
    cause instanceof FactError ||
    cause instanceof MergeError ||
    cause instanceof RangeError
  );
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message.slice(0, 200) : "unreadable";
}
