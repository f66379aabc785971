import { type Json, RathError } from "../../../session/index.js";
import { ImportError } from "../error.js";
import type { Source } from "../exchange.js";
import { isTooDeep, jsonOf, LONG_NUMBERS, MAX_BYTES } from "../json.js";
import { type BrokenLine, type ReadLine, readLines, warningsOf } from "../lines.js";

/** JSON of others that is an object. */
export type Fields = { readonly [key: string]: Json };

/** A file of others while it is read as one format: whatever is wrong with it is an `ImportError` that says where. */
export class Foreign {
  readonly format: string;
  readonly source: Source;
  /** What was found that whoever imports shall know. */
  readonly notes = new Set<string>();
  /** The parts of the file that could not be read or are not in it. */
  readonly warnings = new Set<string>();
  /** The lines that could not be read; the session that keeps them takes them from here. */
  broken: readonly BrokenLine[] = [];

  constructor(format: string, source: Source) {
    this.format = format;
    this.source = source;
  }

  refuse(where: string, reason: string, cause?: unknown): never {
    throw new ImportError(this.format, this.source, { where, reason, ...(cause !== undefined && { cause }) });
  }

  text(bytes: Uint8Array = this.source.bytes, where = ""): string {
    this.#requireSize(bytes, where);
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch (error) {
      return this.refuse(where, "it is not text in UTF-8", error);
    }
  }

  json(text: string = this.text(), where = ""): Json {
    return jsonOf(text, {
      // What is written again with the same digits may stay a number, so that a file can be written again as it was.
      holds: (digits) => String(Number(digits)) === digits,
      refuse: (reason, cause) => this.refuse(where, reason, cause),
      quoted: () => this.notes.add(LONG_NUMBERS),
    });
  }

  /** The objects of a file with one in each line, with the numbers of the lines. */
  lines(): readonly ReadLine<Fields>[] {
    this.#requireSize(this.source.bytes, "");
    const { lines, broken } = readLines(this.source.bytes, (text, where) =>
      this.object(this.json(text, where), where),
    );
    if (lines.length === 0)
      this.refuse("", broken.length === 0 ? "there is nothing in it" : "it is not text in UTF-8");
    this.broken = broken;
    for (const warning of warningsOf(broken)) this.warnings.add(warning);
    return lines;
  }

  #requireSize(bytes: Uint8Array, where: string): void {
    if (bytes.length > MAX_BYTES) this.refuse(where, `it is longer than ${MAX_BYTES} bytes`);
  }

  object(value: Json | undefined, where: string): Fields {
    return isFields(value) ? value : this.refuse(where, "an object was expected");
  }

  list(value: Json | undefined, where: string): readonly Json[] {
    return Array.isArray(value) ? (value as readonly Json[]) : this.refuse(where, "a list was expected");
  }

  /** The objects of a list. */
  objects(value: Json | undefined, where: string): readonly Fields[] {
    return this.list(value, where).map((one, place) => this.object(one, `${where}[${place}]`));
  }

  string(value: Json | undefined, where: string): string {
    return typeof value === "string" ? value : this.refuse(where, "a text was expected");
  }

  /** The same where it may be missing or null. */
  optional<Kind>(value: Json | undefined, read: (value: Json) => Kind): Kind | undefined {
    return value === undefined || value === null ? undefined : read(value);
  }

  /** Reads; what the record refuses to hold, and what nobody thought of, is an `ImportError` too. */
  reading<Result>(read: () => Result): Result {
    try {
      return read();
    } catch (error) {
      if (error instanceof ImportError) throw error;
      if (error instanceof RathError || error instanceof RangeError)
        return this.refuse("", `what it says cannot be recorded (${error.message.split("\n")[0]})`, error);
      throw error;
    }
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value of a key that is the object's own: a file may have keys such as "constructor". */
export function own(value: Fields, key: string): Json | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** The object without some of its keys. */
export function without(value: Fields, ...keys: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

/** A count that a record can add up, or undefined. */
export function amount(value: Json | undefined): number | undefined {
  return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined;
}

/** What the text of a file begins with, for a cheap look: damaged text is as good as any. */
export function beginning({ bytes }: Source, length = 65_536): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, length)).toString("utf8");
}

/** The first line of a file as an object, if it is one. */
export function firstLine(source: Source): Fields | undefined {
  const [line = ""] = beginning(source, 1024 ** 2)
    .trimStart()
    .split("\n", 1);
  if (isTooDeep(line)) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
