import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openRath, type Rath, statusOf } from "openrath";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { board } from "../../src/cluster/index.js";
import { ensureBuilt } from "../../src/store/testing/worker.js";

const at = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const [program, luck, command] = [at("program.mjs"), at("bad-luck.mjs"), at("../../dist/cli/rath.js")];
/** Words of a session that no engine may see. */
const SECRET = "the-secret-of-this-session";

/** The servers that an engine needs, while its suite runs. */
export type Surroundings = {
  /** Why they cannot run here: then all cases are skipped. */
  readonly reason?: string;
  /** The store of the workers. Default: SQLite. */
  readonly store?: string;
  /** For the processes of the workers. */
  readonly environment?: { readonly [name: string]: string };
  /** All that the servers of the engine have stored, as text. */
  stored?(): Promise<string>;
  /** Ends all servers of the engine as a crash does, and starts them again. */
  crash?(): Promise<void>;
  restart?(): Promise<void>;
  stop?(): Promise<void>;
};

/** The suite that every engine passes. */
export function conformanceOf(engine: string, start: (folder: string) => Promise<Surroundings>): void {
  describe(`the engine ${engine}`, { timeout: 120_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), "openrath-engine-"));
    const [ledger, wakes] = [join(folder, "ledger.txt"), join(folder, "wakes.txt")];
    const workers: ChildProcess[] = [];
    let around: Surroundings;
    let environment: NodeJS.ProcessEnv;
    let url: string;
    let rath: Rath;
    let client: Client;

    const startWorker = async (fresh = false): Promise<ChildProcess> => {
      const words = ["worker", program, "--store", url, "--engine", luck, "--concurrency", "4"];
      const child = spawn(process.execPath, [command, ...words], {
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...environment, ...(fresh && { RATH_FRESH: "yes" }) },
      });
      workers.push(child);
      let problems = "";
      child.stderr.on("data", (text) => {
        problems += text;
      });
      // It says that it runs when its engine has it.
      await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
      if (child.exitCode !== null) throw new Error(`the worker ended: ${problems}`);
      child.stdout.resume();
      return child;
    };
    const ended = (name: string) => until(async () => statusOf(await rath.load(name)) === "finished");
    const waiting = (name: string) => until(async () => statusOf(await rath.load(name)) === "waiting");
    const lines = () =>
      readFileSync(ledger, "utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => line.split(" "));
    const passed = () =>
      readFileSync(wakes, "utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as { readonly way: string; readonly wake: object });
    const submit = (module: string, name: string, times = 1) =>
      client.call("submit", program, module, name, SECRET, times);

    beforeAll(async () => {
      ensureBuilt();
      writeFileSync(ledger, "");
      writeFileSync(wakes, "");
      around = await start(folder);
      if (around.reason !== undefined) return;
      url = around.store ?? `sqlite:${join(folder, "rath.db")}`;
      environment = {
        ...process.env,
        ...around.environment,
        RATH_ENGINE: engine,
        RATH_LEDGER: ledger,
        RATH_WAKES: wakes,
      };
      rath = openRath({ store: url });
      await rath.store();
      client = new Client(url);
      await Promise.all([startWorker(), startWorker()]);
    }, 180_000);

    beforeEach((context) => context.skip(around.reason !== undefined, around.reason));

    afterAll(async () => {
      client?.end();
      for (const worker of workers) worker.kill("SIGKILL");
      await rath?.close();
      await around?.stop?.();
      rmSync(folder, { recursive: true, force: true });
    });

    it("[EN1] a session runs when it is submitted, answered, and when its time has come", async () => {
      await submit("asks", "a/b c");
      await submit("naps", "n");
      await waiting("a/b c");
      await client.call("signal", "a/b c", "go", SECRET);
      await ended("a/b c");
      await ended("n");
    });

    it("[EN2] [EN3] several submitters get one run; repeated wakes take once, and lost ones are found again", async () => {
      expect(await submit("quick", "once", 4)).toBe(1);
      await submit("quick", "twice");
      await submit("quick", "lost");
      for (const name of ["once", "twice", "lost"]) await ended(name);
      const keys = lines().map(([, key]) => key);
      expect(keys).toHaveLength(3);
      expect(new Set(keys).size).toBe(3);
    });

    it("[EN4] all workers get sessions; when one dies, another goes on with its own", async () => {
      const names = Array.from({ length: 6 }, (_, n) => `long-${n}`);
      for (const name of names) await submit("long", name);
      const both = await until(async () => {
        const pids = new Set(
          lines()
            .slice(3)
            .map(([pid]) => Number(pid)),
        );
        return pids.size === 2 && pids;
      });
      const idOf = async (pid: number | undefined) =>
        (await board(await rath.store())).workers.find((one) => one.pid === pid)?.id ?? "none";
      const victim = workers.find(({ pid }) => both.has(pid ?? 0));
      const id = await idOf(victim?.pid);
      victim?.kill("SIGKILL");
      for (const name of names) await ended(name);
      const pids = new Set((await board(await rath.store())).workers.map(({ pid }) => pid));
      expect(pids.has(victim?.pid ?? 0)).toBe(false);
      // The engine was told, and did not object.
      expect(passed()).toContainEqual({ way: "left", wake: { worker: id } });
      expect(new Set(lines().map(([, key]) => key)).size).toBe(3 + names.length * 6);
    });

    it("[EN5] a version that nobody has waits for a worker with it", async () => {
      const newer = new Client(url, { RATH_FRESH: "yes" });
      await newer.call("submit", program, "fresh", "fresh", SECRET);
      newer.end();
      await submit("quick", "after");
      await ended("after");
      expect((await board(await rath.store())).counts.due).toBe(1);
      await startWorker(true);
      await ended("fresh");
    });

    it("[EN7] sessions that run when the servers die end, and those that are submitted then run later", async (context) => {
      context.skip(around.crash === undefined, "the engine has no servers but the store");
      const before = lines().length;
      await submit("long", "during");
      await until(async () => lines().length > before);
      await around.crash?.();
      await submit("quick", "meanwhile");
      await around.restart?.();
      await ended("meanwhile");
      await ended("during");
      const keys = lines().map(([, key]) => key);
      expect(new Set(keys.slice(before)).size).toBe(7);
    });

    it("[EN6] only the names and ids of wakes pass, and are stored", async () => {
      const found = passed().filter(({ way }) => way !== "left");
      for (const { wake } of found) {
        expect(Object.keys(wake).sort()).toEqual(["module", "run", "session", "version"]);
        expect(Object.values(wake).every((one) => typeof one === "string" && one.length < 100)).toBe(true);
      }
      expect(new Set(found.map(({ way }) => way))).toEqual(new Set(["in", "out"]));
      expect(JSON.stringify(found).includes(SECRET)).toBe(false);
      const stored = await around.stored?.();
      // What it stores is looked at in the right place: the name of a session is there.
      if (stored !== undefined) expect(stored.includes("once")).toBe(true);
      expect(stored?.includes(SECRET) ?? false).toBe(false);
    });
  });
}

/** Calls of the built package: the digest of a module is that of what node has loaded. */
class Client {
  readonly #process: ChildProcess;
  readonly #open = new Map<number, (answer: readonly [unknown, string?]) => void>();
  #calls = 0;

  constructor(url: string, environment: NodeJS.ProcessEnv = {}) {
    this.#process = fork(at("client.mjs"), [url], { env: { ...process.env, ...environment } });
    this.#process.on("message", ([id, ...answer]: [number, unknown, string?]) =>
      this.#open.get(id)?.(answer),
    );
  }

  call(method: string, ...args: readonly unknown[]): Promise<unknown> {
    return new Promise((done, failed) => {
      this.#open.set(++this.#calls, ([value, error]) =>
        error === undefined ? done(value) : failed(new Error(error)),
      );
      this.#process.send([this.#calls, method, ...args]);
    });
  }

  end(): void {
    this.#process.kill("SIGKILL");
  }
}

async function until<Found>(look: () => Promise<Found | false>): Promise<Found> {
  for (;;) {
    const found = await look();
    if (found !== false) return found;
    await new Promise((done) => setTimeout(done, 30));
  }
}
