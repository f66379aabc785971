import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import Module from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { Session } from "../../session/index.js";
import { closedError } from "../error.js";
import { openStore } from "../open.js";
import type { Store } from "../store.js";
import { folder } from "../testing/folder.js";
import {
  freePort,
  needsPostgres,
  PostgresServer,
  postgresPrograms,
  serverUser,
} from "../testing/postgres.js";
import { ensureBuilt, Worker } from "../testing/worker.js";
import { targetOf } from "./driver.js";
import { PgRows } from "./rows.js";

const AT = "2026-01-01T00:00:00.000Z";
let server: PostgresServer;
let schemas = 0;

/** The URL of a new store on the server. */
const fresh = (of = server): string => `${of.url()}?schema=s${++schemas}`;

async function opened(url: string): Promise<Store> {
  const store = await openStore(url);
  onTestFinished(() => store.close());
  return store;
}

describe("a store on a server", () => {
  needsPostgres();
  beforeAll(async () => {
    if (postgresPrograms() === undefined) return;
    ensureBuilt();
    server = await PostgresServer.start();
  });
  afterAll(() => server?.stop());

  it("[P1] its URL says where and in which schema, is shown without the password, and what cannot be opened is a typed error", async () => {
    const store = await opened(fresh().replace("postgres@", "postgres:secret%21@"));
    expect(store.url).not.toContain("secret");
    expect(store.capabilities).toEqual({ durability: "power-loss", writers: "many-hosts" });
    expect(store.identity).toMatch(/^[0-9a-f]{32}$/);
    const code = (url: string): Promise<unknown> =>
      openStore(url).then(
        () => "opened",
        (error) => error.code,
      );
    expect(await code(`postgres://postgres@127.0.0.1:${await freePort()}/postgres`)).toBe(
      "store-unreachable",
    );
    expect(await code(server.url("nowhere"))).toBe("store-not-a-store");
    expect(await code(`${server.url()}?schema=Bad-Name`)).toBe("store-url");
    server.sql("CREATE SCHEMA another; CREATE TABLE another.things (n int)");
    expect(await code(`${server.url()}?schema=another`)).toBe("store-not-a-store");
    const url = fresh();
    await (await openStore(url)).close();
    server.sql(`UPDATE s${schemas}.about SET version = 99`);
    expect(await code(url)).toBe("store-newer");
  });

  it("[P2] without the driver, opening says what to install", async () => {
    const resolver = Module as unknown as {
      _resolveFilename: (request: string, ...more: unknown[]) => string;
    };
    const resolve = resolver._resolveFilename;
    resolver._resolveFilename = (request, ...more) => {
      if (request === "pg") throw new Error("not found");
      return resolve.call(Module, request, ...more);
    };
    try {
      await expect(openStore(fresh())).rejects.toMatchObject({
        code: "store-failed",
        hint: "npm install pg",
      });
    } finally {
      resolver._resolveFilename = resolve;
    }
  });

  it("[P3] one tenant can read nothing of another: each has a schema and a user of its own", async () => {
    for (const tenant of ["ann", "bob"])
      server.sql(`CREATE ROLE ${tenant} LOGIN; CREATE SCHEMA ${tenant} AUTHORIZATION ${tenant}`);
    const url = (user: string, schema = user): string => `${server.url("postgres", user)}?schema=${schema}`;
    const ann = await opened(url("ann"));
    const bob = await opened(url("bob"));
    const session = Session.start("the secret of ann");
    await ann.save(session, { name: "main" });
    expect([await bob.names(), await bob.has(session.id)]).toEqual([[], false]);
    await expect(bob.load(session.id)).rejects.toMatchObject({ code: "not-found" });
    await expect(openStore(url("bob", "ann"))).rejects.toMatchObject({
      code: "store-denied",
      data: { retry: false },
    });
    const tables = server.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'ann'").split("\n");
    expect(tables.length).toBeGreaterThan(10);
    for (const table of tables)
      expect(() => server.sql(`SET ROLE bob; SELECT * FROM ann.${table}`)).toThrow(/permission denied/);
  });

  it("[P4] leases end by the clock of the database, whatever that of a worker says", async () => {
    const url = fresh();
    const [right, ahead] = [await opened(url), await opened(url)];
    await right.save(Session.start("hi"), { name: "main" });
    const now = Date.now;
    const anHourOff = async <Result>(act: () => Promise<Result>): Promise<Result> => {
      Date.now = () => now() + 3_600_000;
      try {
        return await act();
      } finally {
        Date.now = now;
      }
    };
    const lease = await right.lease("main", { owner: "right", milliseconds: 60_000 });
    await anHourOff(async () => {
      await expect(ahead.lease("main", { owner: "ahead" })).rejects.toMatchObject({ code: "name-fenced" });
      await expect(ahead.save((await ahead.load("main")).say("on"), { name: "main" })).rejects.toMatchObject({
        code: "name-fenced",
      });
    });
    await lease.release();
    const taken = await anHourOff(() => ahead.lease("main", { owner: "ahead", milliseconds: 1 }));
    await new Promise((done) => setTimeout(done, 20));
    expect((await right.lease("main", { owner: "right" })).epoch).toBeGreaterThan(taken.epoch);
  });

  it("[P13] a network that is cut without a word does not hold up a reader for long", async () => {
    const port = await freePort();
    // In a process of its own, since a reader holds up this one. It swallows everything after a line of input.
    const program = `
      const { connect, createServer } = require("node:net");
      let cut = false;
      createServer((near) => {
        const far = connect(${server.port}, "127.0.0.1");
        for (const [from, to] of [[near, far], [far, near]]) {
          from.on("data", (bytes) => cut || to.write(bytes));
          from.on("error", () => {}).on("close", () => to.destroy());
        }
      }).listen(${port}, "127.0.0.1", () => console.log("on"));
      process.stdin.on("data", () => { cut = true; console.log("cut"); });
      process.stdin.on("end", () => process.exit());`;
    const proxy = spawn(process.execPath, ["--eval", program], { stdio: ["pipe", "pipe", "inherit"] });
    onTestFinished(() => void proxy.stdin.end());
    await once(proxy.stdout, "data");
    const rows = new PgRows(targetOf(`postgres://postgres@127.0.0.1:${port}/postgres`), 1_000);
    onTestFinished(() => rows.close(closedError("it")));
    expect(rows.get("SELECT 1 AS one")).toEqual({ one: 1 });
    proxy.stdin.write("cut\n");
    await once(proxy.stdout, "data");
    const from = performance.now();
    expect(() => rows.get("SELECT 2 AS two")).toThrow(/Cannot reach the database/);
    // Without an end to its patience it takes the minute that an answer may take.
    expect(performance.now() - from).toBeLessThan(30_000);
  });

  it("[P14] a commit whose acknowledgement was lost is acknowledged when the standbys have it", async () => {
    const store = await opened(fresh());
    await store.save(Session.start("hi"), { name: "main" });
    const standbys = (of: string): void => {
      for (const sql of [`ALTER SYSTEM SET synchronous_standby_names = '${of}'`, "SELECT pg_reload_conf()"])
        server.sql(sql);
    };
    standbys("nobody");
    onTestFinished(() => standbys(""));
    let outcome = "";
    const saving = store.save(Session.start("there"), { name: "other" }).then(
      () => {
        outcome = "acknowledged";
      },
      (error) => {
        outcome = error.code;
      },
    );
    const ended = new Set<string>();
    // The second wait for a standby is that of the attempt after the first was cut off.
    while (ended.size < 2 && outcome === "") {
      const pid = server.sql("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
      if (pid !== "" && ended.size === 0) server.sql(`SELECT pg_terminate_backend(${pid})`);
      if (pid !== "") ended.add(pid);
      await new Promise((done) => setTimeout(done, 10));
    }
    expect([outcome, ended.size]).toEqual(["", 2]);
    standbys("");
    await saving;
    expect(outcome).toBe("acknowledged");
  });

  it("[P15] programs that open a new store at once get it, whatever the defaults of the server are", async () => {
    server.sql("CREATE DATABASE odd");
    for (const setting of [
      "default_transaction_isolation = 'repeatable read'",
      "standard_conforming_strings = off",
    ])
      server.sql(`ALTER DATABASE odd SET ${setting}`);
    for (const database of ["postgres", "odd"]) {
      const url = `${server.url(database)}?schema=s${++schemas}`;
      const stores = await Promise.all([1, 2, 3, 4, 5, 6].map(() => opened(url)));
      const words = `\\x41 ' ${"text ".repeat(50)}`;
      await Promise.all(
        stores.map((store, n) =>
          store.save(Session.start(words, { inline: 0 }).say("on"), { name: `n${n}`, key: "a\\b" }),
        ),
      );
      const [store] = stores as [Store];
      expect((await store.load("n3")).transcript[0]).toMatchObject({ content: words });
      expect((await store.save(await store.load("n3"), { name: "n3", key: "a\\b" })).replayed).toBe(true);
      expect((await store.check()).findings).toEqual([]);
    }
  });

  it("[P17] the marks of processes that were killed are removed", async () => {
    const url = fresh();
    const store = await openStore(url);
    await store.save(Session.start("hi"), { name: "main" });
    const marks = `s${schemas}.writers`;
    server.sql(
      `INSERT INTO ${marks} VALUES (gen_random_uuid(), 1, now() - interval '8 days'), (gen_random_uuid(), 1, now())`,
    );
    let session = Session.start("long");
    for (let n = 0; n < 100; n++) session = session.say(`${n}`);
    await store.save(session, { name: "long" });
    await store.close();
    expect(server.sql(`SELECT count(*) FROM ${marks}`)).toBe("1");
  });

  it("[P5] ten thousand steps take at most 1.4 times their content", async () => {
    const store = await opened(fresh());
    let session = Session.start("hi");
    let content = 0;
    for (let step = 0; step < 10_000; step++) {
      const text = Array.from({ length: 10 }, (_, index) => Math.sin(step * 10 + index)).join();
      session = session.say(text, { at: AT });
      // The line, and the words with their salt.
      content += session.line.length + [...session.blobs()].reduce((sum, { bytes }) => sum + bytes.length, 0);
      if (step % 100 === 99) await store.save(session, { name: "main", key: `step ${step}` });
    }
    await store.close();
    const size = `SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = 's${schemas}'::regnamespace AND relkind = 'r'`;
    expect(Number(server.sql(size)) / content).toBeLessThan(1.4);
  });

  it("[P6] stores synchronise between SQLite and PostgreSQL in both directions, and a backup is a SQLite store", async () => {
    const sqlite = await opened(`sqlite:${join(folder(), "rath.db")}`);
    const postgres = await opened(fresh());
    const base = Session.start("shared", { inline: 0 });
    const here = base.fork("left").say("from the file");
    await sqlite.save(here, { name: "file" });
    const there = Session.start("from the server").say("on");
    await postgres.save(there, { name: "server" });
    await postgres.sync(sqlite);
    await sqlite.sync(postgres);
    for (const store of [sqlite, postgres]) {
      expect((await store.names()).map(({ name, id }) => [name, id])).toEqual([
        ["file", here.id],
        ["server", there.id],
      ]);
      expect((await store.load("file")).transcript).toEqual(here.transcript);
      expect((await store.check()).findings).toEqual([]);
    }
    const path = join(folder(), "copy.db");
    await postgres.backup(path);
    const copy = await opened(`sqlite:${path}`);
    expect((await copy.load("file")).transcript).toEqual(here.transcript);
    expect((await copy.check()).findings).toEqual([]);
  });

  it("[P8] eight processes on one name: exactly one wins each step, while a ninth collects", async () => {
    const url = fresh();
    const store = await opened(url);
    await store.save(Session.start("hi"), { name: "main" });
    const collector = new Worker("collect", url);
    const workers = Array.from(
      { length: 8 },
      (_, index) => new Worker("race", url, { me: `w${index}`, wins: 2 }),
    );
    const told = await Promise.all(workers.map((worker) => worker.next<{ won: string[] }>()));
    collector.go();
    await collector.next();
    const ids = new Set<string>();
    for await (const { id } of store.history("main")) ids.add(id);
    expect(ids.size).toBe(1 + 8 * 2 * 2);
    for (const { won } of told) for (const id of won) expect(ids).toContain(id);
    expect((await store.check()).findings).toEqual([]);
  });

  it("[P9] a holder that was stopped and wakes after a takeover is fenced, also at a step that is recorded", async () => {
    const url = fresh();
    const store = await opened(url);
    await store.save(Session.start("hi"), { name: "main" });
    const sleeper = new Worker("hold", url, { milliseconds: 50 });
    const { epoch } = await sleeper.next<{ epoch: number }>();
    sleeper.process.kill("SIGSTOP");
    await new Promise((done) => setTimeout(done, 100));
    const lease = await store.lease("main", { owner: "next", milliseconds: 600_000 });
    expect(lease.epoch).toBeGreaterThan(epoch);
    const session = await store.load("main");
    expect((await store.save(session, { name: "main", lease, key: "one" })).replayed).toBe(true);
    sleeper.go();
    sleeper.process.kill("SIGCONT");
    expect(await sleeper.next()).toEqual({ again: "name-fenced", next: "name-fenced", renew: "name-fenced" });
  });

  it("[P10] a pooler in transaction mode may be in between: everything works, and a watch hears within its look", async (context) => {
    const program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].find(
      (path) => spawnSync(path, ["--version"]).status === 0,
    );
    if (program === undefined) return context.skip("pgbouncer is not installed");
    const port = await freePort();
    const place = mkdtempSync(join(tmpdir(), "openrath-pool-"));
    const user = serverUser();
    writeFileSync(
      join(place, "pool.ini"),
      `[databases]\npostgres = user=postgres host=127.0.0.1 port=${server.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 5\nunix_socket_dir =\n`,
    );
    if (user?.uid !== undefined && user.gid !== undefined) chownSync(place, user.uid, user.gid);
    const pooler = spawn(program, [join(place, "pool.ini")], { stdio: "ignore", ...user });
    onTestFinished(() => {
      pooler.kill("SIGKILL");
      rmSync(place, { recursive: true, force: true });
    });
    const url = `postgres://postgres@127.0.0.1:${port}/postgres?schema=s${++schemas}`;
    let store: Store | undefined;
    while (store === undefined) {
      store = await openStore(url).catch(() => undefined);
      if (store === undefined) await new Promise((done) => setTimeout(done, 50));
    }
    // Eight connections on five: statements of one land on those of another. With fewer than stores and one, a read can wait
    // for a transaction of its own thread until that one is given up.
    const others = await Promise.all([1, 2, 3].map(() => openStore(url)));
    onTestFinished(async () => {
      for (const one of [store, ...others]) await one?.close();
    });
    const moves = store.watch({ name: "main" })[Symbol.asyncIterator]();
    const heard = moves.next();
    await Promise.all(
      others.map(async (one, index) => {
        for (let step = 0; step < 5; step++) {
          const session = Session.start(`${index} ${step}`);
          await one.save(session, { name: index === 0 ? "main" : `n${index}`, force: true });
          expect((await one.load(session.id)).id).toBe(session.id);
        }
      }),
    );
    expect((await heard).value).toMatchObject({ name: "main" });
    await moves.return?.();
    expect(await store.check()).toMatchObject({ facts: 15, findings: [] });
  });

  it("[P12] a program goes on while a store is opened, written and closed, and ends while one is open", async () => {
    const url = JSON.stringify(fresh());
    const program = (end: string): string => `
      import { Session } from "openrath";
      import { openStore } from "openrath/store";
      const store = await openStore(${url});
      await store.save(Session.start("hi"), { name: "main", force: true });
      console.log((await store.load("main")).transcript.length);
      ${end}`;
    const run = (end: string): string =>
      execFileSync(process.execPath, ["--input-type=module", "--eval", program(end)], { encoding: "utf8" });
    expect(run('await store.close(); console.log("closed");')).toBe("1\nclosed\n");
    expect(run("")).toBe("1\n");
  });
});
