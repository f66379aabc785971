import { type Json, RathError, type Session } from "../../session/index.js";
import { parseJson } from "../../util/index.js";
import { ImportError } from "./error.js";
import type { Imported, Source } from "./exchange.js";
import { type Fields, isFields } from "./fields.js";
import { isTooDeep, jsonOf, LONG_NUMBERS, MAX_BYTES } from "./json.js";
import { type BrokenLine, keepLines, type ReadLine, readLines, textOf, warningsOf } from "./lines.js";

type Reading = {
  /** Whole numbers that JavaScript cannot hold become texts, also those whose digits would survive. */
  readonly quoteUnsafe?: boolean;
};

/** A file of another system while it is read as one format: whatever is wrong with it is an `ImportError` that says where. */
export class Foreign {
  readonly format: string;
  readonly source: Source;
  /** What the person who imports must know. */
  readonly notes = new Set<string>();
  /** The parts of the file that could not be read or are not in it. */
  readonly warnings = new Set<string>();
  /** The lines that could not be read; the session that keeps them takes them from here. */
  #broken: readonly BrokenLine[] = [];
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
      // What is written again with the same digits may stay a number, so that a file can be written again as it was.
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

  /** One value for each readable line. */
  jsonLines<Value>(as: (value: Json, where: string) => Value): readonly ReadLine<Value>[] {
    this.#requireSize(this.source.bytes, "");
    const { lines, broken } = readLines(this.source.bytes, (text, where) =>
      as(this.json(text, where), where),
    );
    this.#broken = broken;
    for (const warning of warningsOf(broken)) this.warnings.add(warning);
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

  /** The objects of a list. */
  objects(value: Json | undefined, where: string): readonly Fields[] {
    return this.list(value, where).map((one, place) => this.object(one, `${where}[${place}]`));
  }

  string(value: Json | undefined, where: string): string {
    return typeof value === "string" ? value : this.refuse(where, "a text was expected");
  }

  /** Keeps the lines that could not be read, once. */
  keepBroken(session: Session): Session {
    const kept = keepLines(session, this.#broken);
    this.#broken = [];
    return kept;
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

/** Reads sessions from a file. What the record refuses to hold is an `ImportError` too. */
export async function readForeign(
  format: string,
  source: Source,
  read: (foreign: Foreign) => readonly Imported[] | Promise<readonly Imported[]>,
  reading?: Reading,
): Promise<readonly Imported[]> {
  const foreign = new Foreign(format, source, reading);
  try {
    const imported = await read(foreign);
    // A line is written when its id is asked for: what cannot be written must not come to light later.
    for (const { session } of imported) session.id;
    return imported;
  } catch (cause) {
    if (cause instanceof ImportError || !(cause instanceof RathError || cause instanceof RangeError))
      throw cause;
    return foreign.refuse("", `the record cannot hold it (${cause.message.split("\n")[0]})`, { cause });
  }
}

/** What the text of a file begins with, for a cheap look: damaged text is as good as any. */
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
