import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Module, openRath, type Rath, Session } from "openrath";
import { readPublicKey, verifyFile, verifyStore } from "openrath/evidence";
import { openStore, readLines, type Store } from "openrath/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TapeEndedError } from "../../src/runtime/error.js";
import { house, programs } from "./programs.mjs";

type Pending = readonly { id: string; type: string; what: string; doubt: boolean; answered: boolean }[];
type Manifest = {
  readonly version: string;
  readonly facts: number;
  /** Those that a name leads to. */
  readonly exported: number;
  readonly blobs: number;
  readonly erased: number;
  readonly types: readonly string[];
  readonly names: { readonly [name: string]: string };
  readonly runs: {
    readonly [name: string]: { readonly program: string; readonly id: string; readonly status: string };
  };
  readonly pending: { readonly [name: string]: Pending };
  readonly key: string;
};

const here = fileURLToPath(new URL(".", import.meta.url));
const versions = readdirSync(here).filter((name) => /^\d/.test(name));

describe.each(versions)("the corpus of %s", (version) => {
  const at = (file: string): string => join(here, version, file);
  const manifest: Manifest = JSON.parse(readFileSync(at("manifest.json"), "utf8"));
  const keys = { given: [readPublicKey(manifest.key)] };
  const runs = Object.entries(manifest.runs);
  const waiting = Object.entries(manifest.pending);
  let folder: string;
  let store: Store;
  let rath: Rath;
  let modules: { readonly [name: string]: Module };
  const done: string[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "corpus-"));
    copyFileSync(at("corpus.sqlite"), join(folder, "corpus.sqlite"));
    store = await openStore(`sqlite:${join(folder, "corpus.sqlite")}`);
    rath = openRath({ store, policy: house, patience: 0, secrets: { TOKEN: "tok-4f9a77c1" } });
    modules = programs({ called: (what) => done.push(what) });
  });
  afterAll(async () => {
    await rath.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const moduleOf = (program: string): Module => modules[program] as Module;
  const pendingOf = async (name: string): Promise<Pending> =>
    (await rath.pending(name)).map(({ id, type, what, doubt = false, answered }) => ({
      id,
      type,
      what,
      doubt,
      answered,
    }));

  it("[Z1] holds every type of fact, and runs of every kind", async () => {
    const types = new Set<string>();
    for await (const batch of store.lines(Object.values(manifest.names)))
      for (const { line } of batch) types.add(JSON.parse(line).fact.type);
    expect([...types].sort()).toEqual(manifest.types);
    const statuses = new Set(runs.map(([, { status }]) => status));
    expect([...statuses].sort()).toEqual(["cancelled", "erased", "failed", "finished", "open", "waiting"]);
    expect(waiting.some(([, work]) => work.some(({ doubt }) => doubt))).toBe(true);
  });

  it("[Z2] opens, and every name and byte is as it was", async () => {
    const names = Object.fromEntries((await store.names()).map(({ name, id }) => [name, id]));
    expect(names).toEqual(manifest.names);
    const { facts, blobs, erased } = manifest;
    expect(await store.check()).toMatchObject({ facts, blobs, erased, findings: [] });
    const verified = await verifyStore(store, { keys });
    expect(verified).toMatchObject({ intact: true, facts, findings: [] });
    expect(verified.signatures).toMatchObject([{ verdict: "good" }]);
  });

  it("[Z3] verifies its export, and imports it to the same ids", async () => {
    expect(await verifyFile(at("corpus.jsonl"), { keys })).toMatchObject({
      intact: true,
      facts: manifest.exported,
      findings: [],
    });
    const other = await openStore("memory:");
    const { written } = await other.import(readLines(at("corpus.jsonl")));
    expect(written).toBe(manifest.exported);
    for (const id of Object.values(manifest.names)) expect((await other.load(id)).id).toBe(id);
    expect(await other.check()).toMatchObject({ facts: manifest.exported, findings: [] });
    await other.close();
  });

  it.each(runs.filter(([, { status }]) => status !== "open" && status !== "erased"))(
    "[Z4] replays %s",
    async (_name, { program, id }) => {
      done.length = 0;
      for (const mode of ["replay", "verify"] as const)
        expect((await endOf(rath.replay(id, moduleOf(program), { mode }))).id).toBe(id);
      expect(done).toEqual([]);
    },
  );

  it.each(runs.filter(([, { status }]) => status === "open"))(
    "[Z4] replays %s as far as it came",
    async (_name, { program, id }) => {
      done.length = 0;
      await expect(rath.replay(id, moduleOf(program))).rejects.toBeInstanceOf(TapeEndedError);
      expect(done).toEqual([]);
    },
  );

  it.each(runs.filter(([, { status }]) => status === "erased"))(
    "[Z4] replays %s no further than what was erased",
    async (_name, { program, id }) => {
      await expect(rath.replay(id, moduleOf(program))).rejects.toMatchObject({ code: "content-erased" });
    },
  );

  it.each(waiting)("[Z5] %s waits for the same", async (name, work) => {
    expect(await pendingOf(name)).toEqual(work);
    done.length = 0;
    const session = await rath.resume(name, moduleOf(manifest.runs[name]?.program ?? ""));
    if (work.some(({ answered }) => answered)) {
      expect(done.filter((what) => what === "transfer")).toHaveLength(1);
      expect(session.fact.type).toBe("run-end");
    } else {
      expect(await pendingOf(name)).toEqual(work);
      expect(done).toEqual([]);
    }
  });

  it("[Z2] verifies after it was written to", async () => {
    await rath.run(moduleOf("talk"), (await rath.load("chat-2")).say("And now?"), { name: "chat-3" });
    expect((await verifyStore(store, { keys })).findings).toEqual([]);
  });
});

/** The session that a run ended in, also one that failed. */
async function endOf(running: Promise<Session>): Promise<Session> {
  try {
    return await running;
  } catch (error) {
    if (error instanceof Error && "session" in error && error.session instanceof Session)
      return error.session;
    throw error;
  }
}
