import { type Json, RathError, type Session } from "../../session/index.js";
import { firstLine as firstLineOf, parseJson } from "../../util/index.js";
import { ImportError, type Imported, type ImportFormat, type Source } from "./exchange.js";
import { type Fields, isFields } from "./fields.js";
import { keepUnreadable } from "./intake.js";
import { isTooDeep, jsonOf, LONG_NUMBERS, MAX_BYTES } from "./json.js";

type Reading = {
  /** Whole numbers that JavaScript cannot hold become texts, also those whose digits would survive. */
  readonly quoteUnsafe?: boolean | undefined;
};

/** A file of another system while it is read as one format: whatever is wrong with it is an `ImportError` that says where. */
export class Foreign {
  readonly format: string;
  readonly source: Source;
  /** Notes for the person who imports. */
  readonly notes = new Set<string>();
  /** The parts of the file that could not be read or are not in it. */
  readonly warnings = new Set<string>();
  /** The lines that could not be read; the session that keeps them takes them from here. */
  #broken: BrokenLine[] = [];
  readonly #quoteUnsafe: boolean;

  constructor(format: string, source: Source, { quoteUnsafe = false }: Reading = {}) {
    this.format = format;
    this.source = source;
    this.#quoteUnsafe = quoteUnsafe;
  }

  /** The numbers of the lines that could not be read. */
  get gaps(): readonly number[] {
    return this.#broken.map(({ line }) => line);
  }

  refuse(where: string, reason: string, more: { cause?: unknown; hint?: string } = {}): never {
    throw new ImportError(this.format, this.source, { where, reason, ...more });
  }

  /** Bytes as UTF-8, without a byte order mark. */
  text(bytes: Uint8Array = this.source.bytes, where = ""): string {
    this.#requireSize(bytes, where);
    return textOf(bytes) ?? this.refuse(where, "it is not text in UTF-8");
  }

  json(text: string = this.text(), where = ""): Json {
    return jsonOf(text, {
      // A number that is written with the same digits again stays a number, so that a file can be written as it was.
      holds: (digits) => !this.#quoteUnsafe && String(Number(digits)) === digits,
      refuse: (reason, cause) => this.refuse(where, reason, { cause }),
      quoted: () => this.notes.add(LONG_NUMBERS),
    });
  }

  /** The objects of a file with one in each line, with the numbers of the lines. */
  lines(): readonly ReadLine<Fields>[] {
    const lines = this.jsonLines((value, where) => this.object(value, where));
    if (lines.length === 0)
      this.refuse("", this.#broken.length === 0 ? "the file is empty" : "it is not text in UTF-8");
    return lines;
  }

  /** One value for each readable line. Half a line, of a writer that was killed, is skipped. */
  jsonLines<Value>(as: (value: Json, where: string) => Value): readonly ReadLine<Value>[] {
    this.#requireSize(this.source.bytes, "");
    const lines: ReadLine<Value>[] = [];
    let first: ImportError | undefined;
    const texts = textsIn(this.source.bytes);
    for (const [place, value] of texts.entries()) {
      const line = place + 1;
      if (typeof value !== "string") this.#broken.push({ line, why: "it is not text in UTF-8", value });
      else if (value.trim() !== "")
        try {
          lines.push({ line, value: as(this.json(value, `line ${line}`), `line ${line}`) });
        } catch (error) {
          if (!(error instanceof ImportError)) throw error;
          first ??= error;
          // The words of the parser differ between versions of Node, and the ids must not.
          const why = String(error.data.reason).replace(/ \(.*\)$/s, "");
          this.#broken.push({ line, why: line === texts.length ? CUT_OFF : why, value });
        }
    }
    if (lines.length === 0 && first !== undefined) throw first;
    for (const { line, why } of this.#broken.slice(0, WARNED))
      this.warnings.add(`line ${line} is unreadable: ${why}.`);
    const more = this.#broken.length - WARNED;
    if (more > 0) this.warnings.add(`${more} more lines are unreadable.`);
    return lines;
  }

  #requireSize(bytes: Uint8Array, where: string): void {
    if (bytes.length > MAX_BYTES) this.refuse(where, `it is longer than ${MAX_BYTES} bytes`);
  }

  object(value: Json | undefined, where: string, reason = "an object was expected"): Fields {
    return isFields(value) ? value : this.refuse(where, reason);
  }

  list(value: Json | undefined, where: string, reason = "a list was expected"): readonly Json[] {
    return Array.isArray(value) ? (value as readonly Json[]) : this.refuse(where, reason);
  }

  objects(value: Json | undefined, where: string): readonly Fields[] {
    return this.list(value, where).map((one, place) => this.object(one, `${where}[${place}]`));
  }

  string(value: Json | undefined, where: string): string {
    return typeof value === "string" ? value : this.refuse(where, "a text was expected");
  }

  /** Keeps the lines that could not be read, once. */
  keepBroken(session: Session): Session {
    const broken = this.#broken;
    this.#broken = [];
    return broken.reduce(
      (next, { line, why, value }) => keepUnreadable(next, `line ${line}`, why, value),
      session,
    );
  }

  imported(name: string, session: Session, notes: readonly string[] = []): Imported {
    const { warnings } = this;
    return {
      name,
      session: this.keepBroken(session),
      notes: [...this.notes, ...notes],
      ...(warnings.size > 0 && { warnings: [...warnings] }),
    };
  }
}

/** A format that sessions are read from, with the checks that all of them share. */
export function defineImport(
  format: Omit<ImportFormat, "read"> &
    Reading & {
      read(foreign: Foreign): Imported | readonly Imported[] | Promise<Imported | readonly Imported[]>;
    },
): ImportFormat {
  const { name, title, fits, quoteUnsafe, read } = format;
  return {
    name,
    title,
    fits,
    async read(source) {
      const foreign = new Foreign(name, source, { quoteUnsafe });
      try {
        const imported = [await read(foreign)].flat();
        // A line is written when its id is asked for: what cannot be written must not come to light later.
        for (const { session } of imported) session.id;
        return imported;
      } catch (cause) {
        if (cause instanceof ImportError || !(cause instanceof RathError || cause instanceof RangeError))
          throw cause;
        const reason = `the record cannot hold it (${firstLineOf(cause.message)})`;
        return foreign.refuse("", reason, { cause });
      }
    },
  };
}

/** The beginning of the text of a file, for a cheap look. The text may be damaged. */
export function beginning({ bytes }: Source, length = 65_536): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, length)).toString("utf8");
}

/** Whether the beginning of a file matches all of these. */
export function beginsLike(source: Source, ...patterns: readonly RegExp[]): boolean {
  const text = beginning(source);
  return patterns.every((pattern) => pattern.test(text));
}

/** The first line of a file as an object, if it is one. */
export function firstLine(source: Source): Fields | undefined {
  const [line = ""] = beginning(source, 1024 ** 2)
    .trimStart()
    .split("\n", 1);
  const value = isTooDeep(line) ? undefined : parseJson(line);
  return isFields(value) ? value : undefined;
}

/** A line of a file with its number, from 1. */
export type ReadLine<Value> = { readonly line: number; readonly value: Value };
/** A line that cannot be read, as it came: its text, or its bytes where they are not text. */
type BrokenLine = { readonly line: number; readonly why: string; readonly value: Json };

const CUT_OFF = "the file ends in the middle of it";
const WARNED = 20;
const NEWLINE = 10;

/** The texts between line ends; bytes in base64 where they are not UTF-8. */
function textsIn(bytes: Uint8Array): readonly (string | { readonly base64: string })[] {
  const whole = textOf(bytes);
  if (whole !== undefined) return whole.split("\n");
  const texts: (string | { readonly base64: string })[] = [];
  for (let begin = 0; begin <= bytes.length; ) {
    const found = bytes.indexOf(NEWLINE, begin);
    const part = bytes.subarray(begin, found === -1 ? bytes.length : found);
    texts.push(textOf(part) ?? { base64: Buffer.from(part).toString("base64") });
    begin = found === -1 ? bytes.length + 1 : found + 1;
  }
  return texts;
}

/** Bytes as text, or undefined when they are not UTF-8. A byte order mark is dropped, unless it is to be kept. */
export function textOf(bytes: Uint8Array, keepMark = false): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: keepMark }).decode(bytes);
  } catch {
    return undefined;
  }
}
