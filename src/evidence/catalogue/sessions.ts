import type { Connection } from "../../memory/index.js";
import type { FactId } from "../../session/index.js";
import { textOf } from "../../session/index.js";
import type { SqliteRow, Store } from "../../store/index.js";
import { RowReader } from "../page/row.js";
import { cursorOf, fitting, isFitting, limitOf, placeOf } from "./cursor.js";
import { idIn } from "./file.js";
import type { Summary } from "./summary.js";
import { matching } from "./words.js";

/** How many sessions one page looks at, at most. */
const LOOKED_AT = 20_000;
const TITLE = 120;
const TEXT = 240;
const NAMED = "instr(lower(s.name), lower(?)) > 0";
const SAID = `s.row IN (SELECT f.session FROM (SELECT rowid AS row FROM words WHERE words MATCH ?
  ORDER BY rowid DESC LIMIT ${LOOKED_AT}) AS l JOIN fact AS f ON f.row = l.row)`;

export type SessionsOptions = {
  /** Go on after a page: its `next`. It keeps the filters. */
  readonly after?: string;
  /** How many at most, up to 1000 (default 50). */
  readonly limit?: number;
  /**
   * False: show what the catalogue has, without taking in what is new first. "soon": take in as much as is done quickly, and the
   * rest after the page, which then says `indexing`.
   */
  readonly fresh?: boolean | "soon";
  /** How the session came out: "finished", "failed", "cancelled", "waiting" or "open". */
  readonly state?: string;
  readonly person?: string;
  readonly model?: string;
  readonly tool?: string;
  /** Only sessions in which a call failed. */
  readonly failed?: boolean;
  /** Only sessions that read this memory space. */
  readonly memory?: string;
  /** Only sessions that were forked from this one, or imported from this format. */
  readonly origin?: string;
  /** Only names that have this text in them. */
  readonly text?: string;
  /** Only names that begin so. */
  readonly under?: string;
  /** Only sessions that say these words, among the facts that were found last, or have them in their name. */
  readonly words?: string;
  /** Only names that fit one of these: a name, or the beginning of names and "*". A cursor does not keep them. */
  readonly within?: readonly string[];
};

export type SessionRow = Omit<Summary, "title" | "text" | "shared"> & {
  readonly name: string;
  readonly head: FactId;
  readonly title: string;
  readonly text: string;
};
export type SessionPage = {
  readonly items: readonly SessionRow[];
  readonly next: string | null;
  /** Something that is new is not taken in yet. */
  readonly indexing?: true;
};

export async function listSessions(
  file: Connection,
  store: Store,
  options: SessionsOptions,
): Promise<SessionPage> {
  const limit = limitOf(options.limit, 50);
  const { place, filter } = placeOf(options, [Number.MAX_SAFE_INTEGER, 0]);
  const { state, text, failed, under, words } = filter;
  const [fits, patterns] = fitting(under === undefined ? undefined : [`${under}*`]);
  const [allowed, scopes] = fitting(options.within);
  const matched = words === undefined ? "" : matching(words);
  const traits = [
    ...(["person", "model", "tool", "memory", "origin"] as const).flatMap((kind) =>
      filter[kind] === undefined ? [] : [[kind, filter[kind]] as const],
    ),
    ...(failed === true ? [["failed", ""] as const] : []),
  ];
  // That a session came from a name shows that there is such a name.
  const isHidden = filter.origin !== undefined && !isFitting(options.within, filter.origin);
  const conditions = [
    ...traits.map(() => "EXISTS (SELECT 1 FROM trait WHERE kind = ? AND value = ? AND session = s.row)"),
    ...(isHidden ? ["json_extract(s.summary, '$.origin.name') IS NULL"] : []),
    ...(text === undefined ? [] : ["instr(lower(s.name), lower(?)) > 0"]),
    ...(words === undefined ? [] : [matched === "" ? NAMED : `(${NAMED} OR ${SAID})`]),
    ...fits,
    ...allowed,
  ];
  const values = [
    ...traits.flat(),
    ...(text === undefined ? [] : [text]),
    ...(words === undefined ? [] : matched === "" ? [words] : [words, matched]),
    ...patterns,
    ...scopes,
  ];
  const looked = `SELECT row FROM session WHERE (changed, row) < (?, ?) AND head <> x''
    ${state === undefined ? "" : "AND state = ?"} ORDER BY changed DESC, row DESC LIMIT ${LOOKED_AT}`;
  const places = [...place, ...(state === undefined ? [] : [state])];
  const rows = file.all(
    `SELECT s.* FROM (${looked}) AS l JOIN session AS s ON s.row = l.row
     ${conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`}
     ORDER BY s.changed DESC, s.row DESC LIMIT ?`,
    ...places,
    ...values,
    limit,
  );
  const last =
    rows.length === limit
      ? rows.at(-1)
      : file.get(
          `SELECT changed, row FROM session WHERE row = (SELECT row FROM (${looked}) LIMIT 1 OFFSET ${LOOKED_AT - 1})`,
          ...places,
        );
  const reader = new RowReader(store);
  const items: SessionRow[] = [];
  for (const row of rows) items.push(await rowOf(reader, row));
  return {
    items,
    next: last === undefined ? null : cursorOf([last.changed as number, last.row as number], filter),
  };
}

/** The row of one session, if it has one. */
export async function sessionOf(
  file: Connection,
  store: Store,
  name: string,
): Promise<SessionRow | undefined> {
  const row = file.get("SELECT * FROM session WHERE name = ? AND head <> x''", name);
  return row && rowOf(new RowReader(store), row);
}

async function rowOf(reader: RowReader, row: SqliteRow): Promise<SessionRow> {
  const { title, text, shared: _, ...summary } = JSON.parse(row.summary as string) as Summary;
  return {
    ...summary,
    name: row.name as string,
    head: idIn(row.head),
    title: await briefOf(reader, title, TITLE),
    text: await briefOf(reader, text, TEXT),
  };
}

/** The first words of a message, as the store has them now. */
async function briefOf(reader: RowReader, id: FactId | undefined, most: number): Promise<string> {
  const fact = id === undefined ? undefined : (await reader.fact(id))?.fact;
  const said =
    fact?.type === "session-start"
      ? fact.text
      : fact?.type === "message-say" || fact?.type === "model-reply"
        ? fact.content
        : undefined;
  const line = textOf(said, () => "")
    .slice(0, 4 * most)
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}
