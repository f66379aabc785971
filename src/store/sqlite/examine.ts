import { digestOf, type FactId, parentsOf } from "../../session/index.js";
import { agreement } from "../exchange/export.js";
import type { Erasure, Finding } from "../shelf.js";
import { isSealed } from "../shelf-store/snapshot.js";
import { chainOf, type Place, placeIn } from "../sql/chain.js";
import { idOf } from "../sql/names.js";
import type { SqliteDatabase, SqliteRow } from "./driver.js";
import type { Lines } from "./lines.js";
import { sumOfRow } from "./names.js";

/**
 * Whether the tables say what the lines say. A line is covered by its id, but what finds it (ids, chains,
 * merges, names) is covered by nothing, so all of it is worked out again from the lines and compared.
 */
export function* examineTables(database: SqliteDatabase, lines: Lines): Generator<Finding> {
  const ask = (sql: string, ...values: (string | number)[]): SqliteRow[] =>
    database.prepare(sql).all(...values);
  const idAt = (place: Place): FactId | undefined => {
    const line = lines.line(place);
    return line === undefined ? undefined : digestOf(line);
  };
  yield* examineLines(database, lines, idAt);
  for (const { name, p, id, epoch, owner, until, moved, sum } of ask("SELECT * FROM main.names")) {
    const place = `name ${JSON.stringify(name)}`;
    // A store that is older than the log of moves, and may not be written, has no column of them.
    const row = [name, p, id, epoch, owner, until, ...(moved === undefined ? [] : [moved])];
    if (sumOfRow(...row) !== sum) yield { place, problem: ALTERED };
    if (p === null ? id !== null : idAt(p as Place) !== id)
      yield { place, problem: "its two accounts of where it stands differ" };
  }
  for (const { n, name, id, was, sum } of ask("SELECT * FROM moves")) {
    if (sumOfRow(n, name, idOf(id), idOf(was)) !== sum)
      yield { place: `move ${String(n)}`, problem: ALTERED };
  }
  for (const { name, key, id, sum } of ask("SELECT * FROM steps")) {
    const place = `step ${String(key)} of ${JSON.stringify(name)}`;
    if (sumOfRow(name, key, id) !== sum) yield { place, problem: ALTERED };
    if (!lines.like(id as FactId).some((found) => idAt(found) === id))
      yield { place, problem: `it was recorded with ${String(id)}, which is missing` };
  }
  for (const { id, secret, sum } of ask("SELECT * FROM secrets")) {
    if (sumOfRow(id, hexOf(secret)) !== sum) yield { place: `key ${String(id)}`, problem: ALTERED };
  }
  for (const { n, digest } of ask("SELECT rowid AS n, digest FROM blobs")) {
    const [row] = ask("SELECT bytes FROM blobs WHERE rowid = ?", n as number);
    const bytes = row?.bytes;
    if (!(bytes instanceof Uint8Array) || digestOf(bytes) !== hexOf(digest))
      yield { place: `blob ${hexOf(digest)}`, problem: "its bytes are not those that were written" };
  }
  for (const { p } of ask("SELECT p FROM snapshots")) {
    const [row] = ask("SELECT snapshot FROM snapshots WHERE p = ?", p as Place);
    if (!isSealed(idAt(p as Place) ?? "", String(row?.snapshot)))
      yield { place: `snapshot ${String(p)}`, problem: "it is not what was written; it is passed over" };
  }
  const agrees = agreement((digest) => {
    const [row] = database
      .prepare("SELECT bytes FROM blobs WHERE digest = ?")
      .all(Buffer.from(digest, "hex"));
    const bytes = row?.bytes;
    return bytes instanceof Uint8Array && digestOf(bytes) === digest ? bytes : undefined;
  });
  for (const row of ask("SELECT * FROM erasures")) {
    const [line] = lines
      .like(row.fact as FactId)
      .map((place) => lines.line(place))
      .filter((found) => found !== undefined && digestOf(found) === row.fact);
    const problem = "it does not say what the fact says that erased it";
    if (!agrees(row as unknown as Erasure, line)) yield { place: `erasure ${String(row.digest)}`, problem };
  }
}

const ALTERED = "its row is not the one that was written";

function hexOf(bytes: SqliteRow[string] | undefined): string {
  return bytes instanceof Uint8Array ? Buffer.from(bytes).toString("hex") : String(bytes);
}

/** Every line: its id leads to it, and the tables have its parents as it names them. */
function* examineLines(
  database: SqliteDatabase,
  lines: Lines,
  idAt: (place: Place) => FactId | undefined,
): Generator<Finding> {
  const base = database.prepare("SELECT base FROM chains WHERE chain = ?");
  const merges = database.prepare("SELECT parent FROM merges WHERE child = ? ORDER BY place");
  const found = { facts: 0, chains: 0, merges: 0 };
  let before: { place: Place; id: FactId } | undefined;
  for (const batch of lines.every()) {
    for (const { place, line } of batch) {
      const where = `fact ${chainOf(place)}.${placeIn(place)}`;
      const id = digestOf(line);
      if (!lines.isSound(place, line))
        yield { place: where, problem: "the line is not the one that was written" };
      const [first = null, ...others] = parentsOf(line);
      const begins = placeIn(place) === 0;
      const from = begins ? (base.get(chainOf(place))?.base as Place | null | undefined) : place - 1;
      const told =
        from === undefined || from === null ? from : before?.place === from ? before.id : idAt(from);
      if (told !== first)
        yield { place: where, problem: "the tables say that it comes from elsewhere than its line does" };
      const merged = merges.all(place).map(({ parent }) => idAt(parent as Place));
      if (merged.join() !== others.join())
        yield { place: where, problem: "the tables say that it merges other sessions than its line does" };
      found.facts += 1;
      found.chains += begins ? 1 : 0;
      found.merges += others.length;
      before = { place, id };
    }
  }
  const rows = database.prepare(
    `SELECT (SELECT coalesce(sum(last - p + 1), 0) FROM packs) + (SELECT count(*) FROM fresh) AS facts,
       (SELECT count(*) FROM ids) + (SELECT count(*) FROM fresh) AS ids,
       (SELECT count(*) FROM chains) AS chains, (SELECT count(*) FROM merges) AS merges`,
  );
  const expected: { readonly [table: string]: number } = { ...found, ids: found.facts };
  for (const [table, count] of Object.entries(rows.get() ?? {})) {
    const problem = `it accounts for ${String(count)} rows where there are ${expected[table]}`;
    if (count !== expected[table]) yield { place: `table ${table}`, problem };
  }
}
