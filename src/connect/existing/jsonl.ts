import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { digestOf } from "../../session/index.js";
import { isObject, parseJson } from "../../util/index.js";
import { requireCount } from "../../workflow/index.js";
import type { ExistingEntry, ExistingSource, Fields } from "./source.js";
import { ExistingError, FIELDS, isTrace, reasonOf, recordOf, requireFields } from "./source.js";

/** A line of a log, once it is read. */
export type JsonLine = { readonly [field: string]: unknown };

export type JsonlOptions = Fields<JsonLine> & {
  /** Bytes that a line may have. Default 4 MB: a longer one is passed over, and counted. */
  readonly longest?: number;
};

/**
 * Chat logs, one JSON object on each line.
 *
 * ```ts
 * jsonlLogs("logs/chat.jsonl", { session: "conversation_id", at: "timestamp", role: "role", text: "content" });
 * ```
 */
export function jsonlLogs(path: string, options: JsonlOptions): ExistingSource {
  const use = `link the lines of ${JSON.stringify(String(path).slice(0, 200))}`;
  requireFields(options, use, [...FIELDS, "longest"]);
  const { longest = 4_000_000 } = options;
  requireCount(longest, "longest", (reason, hint) => new ExistingError("option", use, reason, hint));
  if (typeof path !== "string" || path === "")
    throw new ExistingError(
      "option",
      use,
      "the path must be a text",
      'jsonlLogs("logs/chat.jsonl", { session: "session_id" })',
    );
  return Object.freeze<ExistingSource>({
    format: "jsonl",
    source: path,
    isTrace: isTrace(options),
    async *entries(): AsyncGenerator<ExistingEntry> {
      const all = createHash("sha256");
      let number = 0;
      for await (const line of bytesIn(path, longest, use, (piece) => all.update(piece))) {
        number += 1;
        const where = `line ${number}`;
        if (line === "long") yield { skipped: { where, why: `it has more than ${longest} bytes` } };
        else if (line.length > 0) yield entryOf(line, where, options);
      }
      yield { digest: all.digest("hex") };
    },
  });
}

const DECODER = new TextDecoder("utf-8", { fatal: true });

function entryOf(line: Buffer, where: string, options: JsonlOptions): ExistingEntry {
  let text: string;
  try {
    text = DECODER.decode(line);
  } catch {
    return { skipped: { where, why: "it is not UTF-8 text" } };
  }
  const value = parseJson(text);
  if (value === undefined) return { skipped: { where, why: "it is not JSON" } };
  if (!isObject(value)) return { skipped: { where, why: "it is not an object" } };
  const record = recordOf(value, digestOf(line), where, options);
  return typeof record === "string" ? { skipped: { where, why: record } } : { record };
}

const NEWLINE = 10;
const RETURN = 13;

/** The lines of a file as bytes, without what ends them. Of a line that is too long only that is told, and none of it held. */
async function* bytesIn(
  path: string,
  longest: number,
  use: string,
  seen: (piece: Buffer) => void,
): AsyncGenerator<Buffer | "long"> {
  let held: Buffer[] = [];
  let size = 0;
  const line = (): Buffer | "long" => {
    const whole = size > longest ? "long" : Buffer.concat(held);
    held = [];
    size = 0;
    return whole !== "long" && whole.at(-1) === RETURN ? whole.subarray(0, -1) : whole;
  };
  const hold = (piece: Buffer): void => {
    size += piece.length;
    if (size <= longest) held.push(piece);
    else held = [];
  };
  const stream = createReadStream(path, { highWaterMark: 256 * 1024 });
  try {
    for await (const chunk of stream) {
      const piece = chunk as Buffer;
      seen(piece);
      let from = 0;
      for (let to = piece.indexOf(NEWLINE); to !== -1; to = piece.indexOf(NEWLINE, from)) {
        hold(piece.subarray(from, to));
        yield line();
        from = to + 1;
      }
      // The rest of the line is copied, so that it does not hold the whole piece.
      if (from < piece.length) hold(Buffer.from(piece.subarray(from)));
    }
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    const missing = code === "ENOENT" || code === "EISDIR" || code === "EACCES" || code === "ENOTDIR";
    throw new ExistingError(
      missing ? "missing" : "broken",
      use,
      reasonOf(error),
      missing
        ? "look at the path: it has to be a file that can be read"
        : "read it again: what was linked is kept",
      { data: { path }, cause: error },
    );
  } finally {
    stream.destroy();
  }
  if (size > 0) yield line();
}
