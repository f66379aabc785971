import { afterAll, describe, it } from "vitest";
import { type MakeStore, storeConformance } from "../../testkit/store/index.js";
import { openStore } from "../open.js";
import { needsPostgres, PostgresServer } from "../testing/postgres.js";

let server: Promise<PostgresServer> | undefined;
let stores = 0;

afterAll(async () => {
  await (await server)?.stop();
});

/** A store is a schema of its own on one server. */
const makeStore: MakeStore = async () => {
  // These cases end no machine. The tests of killed servers sync.
  server ??= PostgresServer.start({ settings: ["fsync=off", "full_page_writes=off"] });
  const running = await server;
  const schema = `store_${++stores}`;
  return {
    open: () => openStore(`${running.url()}?schema=${schema}`),
    // The server is removed as a whole.
    destroy: async () => {},
  };
};

const isFull = process.env.OPENRATH_CAMPAIGN === "full";
/** The first case of each promise; all of them with OPENRATH_CAMPAIGN=full. */
const cases = isFull
  ? storeConformance
  : storeConformance.filter(
      ({ id }, index) => storeConformance.findIndex((other) => other.id === id) === index,
    );
/** Cases of many rows or many random graphs, which SQLite has in every run: here they take two thirds of the time of all. */
const LARGE: readonly string[] = ["S4", "S42", "S43", "S48", "S51", "S103", "S107", "S121", "S140"];

describe("postgres:", () => {
  needsPostgres();
  for (const { id, title, run } of cases) {
    it(`[${id}] ${title}`, async (context) => {
      if (!isFull && LARGE.includes(id)) context.skip("large; OPENRATH_CAMPAIGN=full runs it");
      const note = await run(makeStore);
      if (note !== undefined) context.skip(note);
    });
  }
});
