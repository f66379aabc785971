import { openDatabase } from "../../../store/sqlite/driver.js";

/** Everything that a file of an index says, whatever the order in which it came to say it. */
export function dumped(path: string): unknown {
  const database = openDatabase(path, { readOnly: true });
  try {
    const hex = (value: unknown): unknown =>
      value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
    const all = (sql: string): unknown[] =>
      database
        .prepare(sql)
        .all()
        .map((row) => JSON.stringify(Object.values(row).map(hex)))
        .sort();
    return {
      state: all("SELECT space, head, erasures FROM state"),
      facts: all("SELECT id, depth, type, body, text FROM fact"),
      about: all("SELECT a.memory, f.id FROM about a JOIN fact f ON f.row = a.fact"),
      undone: all("SELECT id FROM undone"),
      blobs: all("SELECT fact, digest, absence FROM blob"),
      memories: all(
        `SELECT id, depth, folded, status, into_id, subject, scope, source, trust, by, at, expires, digest FROM memory
         WHERE status <> 'gone'`,
      ),
      words: all("SELECT m.id, w.list FROM words w LEFT JOIN memory m ON m.row = w.rowid"),
      sketches: all("SELECT s.key, s.tag, m.id FROM sketch s LEFT JOIN memory m ON m.row = s.row"),
    };
  } finally {
    database.close();
  }
}
