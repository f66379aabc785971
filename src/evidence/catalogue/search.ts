import type { Connection } from "../../memory/index.js";
import type { FactId } from "../../session/index.js";
import { describeFact } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { showValue } from "../../util/index.js";
import { AuditError } from "../audit/error.js";
import { RowReader } from "../page/row.js";
import { cursorOf, fitting, limitOf, placeOf } from "./cursor.js";
import { idIn } from "./file.js";
import { exactly, matching, snippetOf, wordsOf } from "./words.js";

/** How many facts one page looks at, at most. */
const LOOKED_AT = 20_000;
const LABEL = 120;

export type SearchOptions = {
  /** Go on after a page: its `next`. It keeps the filters. */
  readonly after?: string;
  /** How many at most, up to 1000 (default 50). */
  readonly limit?: number;
  /**
   * False: show what the catalogue has, without taking in what is new first. "soon": take in as much as is done quickly, and the
   * rest after the page, which then says `indexing`.
   */
  readonly fresh?: boolean | "soon";
  /** Words that a fact says, all of them; the last one may be the beginning of a longer one. */
  readonly text?: string;
  readonly type?: string;
  /** The actor that recorded the fact. */
  readonly actor?: string;
  /** The tool or the model that a call, or its outcome, is of. */
  readonly tool?: string;
  readonly model?: string;
  /** Times that the facts lie between, both included. */
  readonly since?: string;
  readonly until?: string;
  /** Only in sessions whose names fit one of these: a name, or the beginning of names and "*". A cursor does not keep them. */
  readonly within?: readonly string[];
};

export type Hit = {
  readonly id: FactId;
  /** The session that the fact was found in first. */
  readonly name: string;
  readonly type: string;
  readonly at: string;
  readonly by: string;
  readonly label: string;
  /** The text before the first word that was looked for, the word, and the text after it. */
  readonly snippet: readonly [before: string, found: string, after: string];
};
export type SearchPage = {
  readonly items: readonly Hit[];
  readonly next: string | null;
  /** Something that is new is not taken in yet. */
  readonly indexing?: true;
};

export async function searchFacts(
  file: Connection,
  store: Store,
  options: SearchOptions,
): Promise<SearchPage> {
  const limit = limitOf(options.limit, 50);
  const { place, filter } = placeOf(options, [Number.MAX_SAFE_INTEGER]);
  const values = (["type", "actor", "tool", "model"] as const).flatMap((column) => {
    const value = filter[column];
    return value === undefined ? [] : [`${column} : ${exactly(value)}`];
  });
  const words = filter.text === undefined ? "" : matching(filter.text);
  // Words without a letter or a digit are in no fact.
  if (filter.text !== undefined && words === "") return { items: [], next: null };
  const query = [...(words === "" ? [] : [words]), ...values].join(" AND ");
  const looked =
    query === ""
      ? `SELECT row FROM fact WHERE row < ? ORDER BY row DESC LIMIT ${LOOKED_AT}`
      : `SELECT rowid AS row FROM words WHERE rowid < ? AND words MATCH ? ORDER BY rowid DESC LIMIT ${LOOKED_AT}`;
  const asked = [place[0] as number, ...(query === "" ? [] : [query])];
  const [since, until] = [timeOf(filter.since) ?? 0, timeOf(filter.until) ?? Number.MAX_SAFE_INTEGER];
  const [allowed, scopes] = fitting(options.within);
  const rows = file.all(
    `SELECT f.row, f.id, s.name FROM (${looked}) AS l JOIN fact AS f ON f.row = l.row
     LEFT JOIN session AS s ON s.row = f.session WHERE f.at BETWEEN ? AND ?
     ${allowed.map((one) => `AND ${one}`).join("")} ORDER BY f.row DESC LIMIT ?`,
    ...asked,
    since,
    until,
    ...scopes,
    limit,
  );
  const last =
    rows.length === limit
      ? rows.at(-1)
      : file.get(`SELECT row FROM (${looked}) LIMIT 1 OFFSET ${LOOKED_AT - 1}`, ...asked);
  const reader = new RowReader(store);
  const items: Hit[] = [];
  for (const { id, name } of rows) {
    const recorded = await reader.fact(idIn(id));
    // Collected since: it is no longer there to be told.
    if (recorded === undefined) continue;
    const { fact } = recorded;
    items.push({
      id: recorded.id,
      name: (name as string | null) ?? "",
      type: fact.type,
      at: fact.at,
      by: fact.by,
      label: describeFact(fact, { most: LABEL }),
      snippet: snippetOf(wordsOf(fact), filter.text ?? ""),
    });
  }
  return { items, next: last === undefined ? null : cursorOf([last.row as number], filter) };
}

function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = Date.parse(text);
  if (!Number.isNaN(time)) return time;
  throw new AuditError(
    "question-refused",
    `Cannot search around the time ${showValue(text)}.`,
    "give a time as ISO 8601: 2026-01-31T12:00:00Z",
  );
}
