import { beforeAll } from "vitest";
import { ensurePeer } from "../../bench/peer.mjs";
import { PostgresServer, postgresPrograms } from "../../src/store/testing/postgres.js";
import { conformanceOf } from "./testkit.js";

let reason: string | undefined;
beforeAll(async () => {
  const installed = await ensurePeer(new URL("../../engines/dbos/", import.meta.url), "DBOS");
  const here = postgresPrograms() === undefined ? "PostgreSQL 15 or newer is not here" : undefined;
  reason = installed.ok ? here : installed.reason;
}, 900_000);

conformanceOf("dbos", async () => {
  if (reason !== undefined) return { reason };
  const server = await PostgresServer.start({ supervised: true });
  return {
    store: `${server.url()}?schema=rath`,
    environment: { RATH_STORE: `${server.url()}?schema=rath` },
    stored: async () => server.sql("SELECT schema_to_xml('dbos', true, false, '')"),
    stop: () => server.stop(),
  };
});
