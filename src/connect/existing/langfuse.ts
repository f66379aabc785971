import { readFile } from "node:fs/promises";
import { digestOf } from "../../session/index.js";
import { defined, isObject, parseJson } from "../../util/index.js";
import type { Doing, ExistingEntry, ExistingRecord, Skipped } from "./source.js";
import { ExistingError, type ExistingSource, reasonOf, timeOf } from "./source.js";
import { rowText } from "./table.js";

type Fields = { readonly [field: string]: unknown };

/** Bytes of an export that is read at once. */
const MOST = 256 * 1024 ** 2;

/**
 * Traces and observations as Langfuse exports them: a trace, a session, a page of the API, or table rows.
 *
 * ```ts
 * langfuseExport("observations.jsonl");
 * ```
 */
export function langfuseExport(path: string): ExistingSource {
  const use = `link the observations of ${JSON.stringify(String(path).slice(0, 200))}`;
  if (typeof path !== "string" || path === "")
    throw new ExistingError("option", use, "the path must be a text", 'langfuseExport("observations.jsonl")');
  return Object.freeze<ExistingSource>({
    format: "langfuse",
    source: path,
    isTrace: true,
    async *entries(): AsyncGenerator<ExistingEntry> {
      const bytes = await readFile(path).catch((error: unknown) => {
        throw new ExistingError("missing", use, reasonOf(error), "look at the path: it has to be a file", {
          cause: error,
        });
      });
      if (bytes.length > MOST)
        throw new ExistingError("unreadable", use, `it has more than ${MOST} bytes`, "export a shorter time");
      const { rows, skipped } = rowsIn(bytes.toString("utf8"));
      for (const one of skipped) yield { skipped: one };
      const found = rows.map((row, place) => recordIn(row, `row ${place + 1}`));
      for (const one of found) if ("why" in one) yield { skipped: one };
      const records = found.flatMap((one) => ("why" in one ? [] : [one]));
      // In the order in which it happened: a trace before what it holds.
      const order = new Map(records.map((record, place) => [record, place]));
      records.sort(
        (one, other) =>
          Date.parse(one.at ?? "") - Date.parse(other.at ?? "") ||
          (order.get(one) ?? 0) - (order.get(other) ?? 0),
      );
      for (const record of records) yield { record };
      yield { digest: digestOf(bytes) };
    },
  });
}

function rowsIn(text: string): { readonly rows: readonly Fields[]; readonly skipped: readonly Skipped[] } {
  const whole = parseJson(text);
  if (whole !== undefined) return { rows: unfolded(whole), skipped: [] };
  const skipped: Skipped[] = [];
  const rows = text.split("\n").flatMap((line, place) => {
    if (line.trim() === "") return [];
    const value = parseJson(line);
    if (value !== undefined) return unfolded(value);
    skipped.push({ where: `line ${place + 1}`, why: "it is not JSON" });
    return [];
  });
  return { rows, skipped };
}

/** A value as its rows: lists, pages, sessions with traces and traces with observations hold others. */
function unfolded(value: unknown, around: Fields = {}): readonly Fields[] {
  if (Array.isArray(value)) return value.flatMap((one) => unfolded(one, around));
  if (!isObject(value)) return [{ odd: value }];
  const { data, trace, traces, observations, ...own } = value as Fields;
  if (Array.isArray(data)) return unfolded(data);
  if (Array.isArray(traces))
    return [traces, observations ?? []].flatMap((rows) => unfolded(rows, defined({ sessionId: own.id })));
  if (isObject(trace)) return unfolded({ ...(trace as Fields), observations });
  const row = { ...around, ...own };
  if (!Array.isArray(observations)) return [row];
  const session = read(row, "sessionId") ?? own.id;
  // The list of a table names its observations only.
  return [row, ...observations.filter(isObject).flatMap((one) => unfolded(one, { sessionId: session }))];
}

/** A field by its name, or by the name that a database has for it. */
function read(row: Fields, name: string): unknown {
  return row[name] ?? row[name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] ?? undefined;
}

function textIn(row: Fields, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = read(row, name);
    if (typeof value === "string" && value !== "") return value.slice(0, 500).toWellFormed();
  }
  return undefined;
}

function recordIn(row: Fields, where: string): ExistingRecord | Skipped {
  const key = textIn(row, "id");
  const started = textIn(row, "startTime", "timestamp");
  // Times without a zone are of UTC.
  const at = timeOf(started !== undefined && /^\d{4}-\d\d-\d\d \S+$/.test(started) ? `${started}Z` : started);
  if (key === undefined || at === undefined) return { where, why: "it has no id, or no time" };
  const type = textIn(row, "type");
  const session = textIn(row, "sessionId", "traceId") ?? key;
  return {
    key,
    digest: digestOf(rowText(row)),
    session,
    at,
    does: type === undefined ? traceOf(row) : observed(row, type),
    ...defined({ text: wordsOf(read(row, type === undefined ? "input" : "output")) }),
  };
}

function traceOf(row: Fields): Doing {
  return { kind: "step", name: `trace ${textIn(row, "name") ?? ""}`.trim() };
}

function observed(row: Fields, type: string): Doing {
  const name = textIn(row, "name") ?? type.toLowerCase();
  const failed = read(row, "level") === "ERROR" ? { error: textIn(row, "statusMessage") ?? "it failed" } : {};
  const model = textIn(row, "providedModelName", "model");
  if (type === "GENERATION" || (model !== undefined && type !== "TOOL")) {
    const usage = fieldsIn(read(row, "usageDetails") ?? read(row, "usage"));
    const cost = Number(read(row, "totalCost") ?? fieldsIn(read(row, "costDetails")).total ?? Number.NaN);
    return {
      kind: "model",
      name: model ?? name,
      usage: { input: countOf(usage.input), output: countOf(usage.output) },
      ...(cost > 0 && { cost }),
      ...failed,
    };
  }
  const about = { type, ...defined({ inside: textIn(row, "parentObservationId") }) };
  return { kind: type === "TOOL" ? "tool" : "step", name, about, ...failed };
}

function fieldsIn(value: unknown): Fields {
  const found = typeof value === "string" ? parseJson(value) : value;
  return isObject(found) ? (found as Fields) : {};
}

function countOf(value: unknown): number {
  const count = Math.round(Number(value));
  return count > 0 ? count : 0;
}

function wordsOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return (typeof value === "string" ? value : JSON.stringify(value)).toWellFormed();
}
