import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import { type Module, openRath, type Rath } from "../../runtime/index.js";
import { type Lease, openStore, type Store } from "../../store/index.js";
import { type Worker, worker } from "../index.js";
import type { WorkerOptions } from "../options.js";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Does something when the test is over. */
export function atEnd(end: () => unknown): void {
  ends.push(end);
}

/** A store in a folder of its own, and a runtime on it. */
export async function place(): Promise<{ readonly store: Store; readonly rath: Rath; readonly url: string }> {
  const folder = mkdtempSync(join(tmpdir(), "rath-cluster-"));
  const url = `sqlite:${join(folder, "rath.db")}`;
  const store = await openStore(url);
  const rath = openRath({ store });
  ends.push(async () => {
    await rath.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { store, rath, url };
}

/** A worker in this process. */
export async function work(
  store: Store,
  modules: readonly Module[],
  options: Partial<WorkerOptions> = {},
): Promise<Worker> {
  const named = Object.fromEntries(modules.map((one) => [one.name, one]));
  const running = await worker({ store, modules: named, grace: 2_000, ...options });
  ends.push(() => running.drain());
  return running;
}

/** Looks until there is something; a test that waits for good ends by its own time limit. */
export async function until<Found>(look: () => Promise<Found | undefined | false>): Promise<Found> {
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await new Promise((done) => setTimeout(done, 20));
  }
}

/** The same store, in which something happens before a method is called: an error, a wait, or a silence as after a kill. */
export function hooked(store: Store, before: (method: string, first: unknown) => unknown): Store {
  return new Proxy(store, {
    get: (_, method: keyof Store) => {
      const value = store[method] as unknown;
      if (typeof value !== "function") return value;
      const call = (values: readonly unknown[]): unknown => value.apply(store, values);
      if (!ASYNCHRONOUS.has(method)) return (...values: readonly unknown[]) => call(values);
      return async (...values: readonly unknown[]) => {
        await before(method, values[0]);
        const found = await call(values);
        return method === "lease" ? leaseOf(found as Lease, before) : found;
      };
    },
  });
}

/** A lease that is renewed only if that is let pass. */
function leaseOf(lease: Lease, before: (method: string, first: unknown) => unknown): Lease {
  return new Proxy(lease, {
    get: (_, name: keyof Lease) => {
      const value = lease[name];
      if (typeof value !== "function") return value;
      return async () => {
        await before(name, lease.name);
        return value.apply(lease);
      };
    },
  });
}

const ASYNCHRONOUS: ReadonlySet<string> = new Set([
  "save",
  "load",
  "names",
  "head",
  "line",
  "lease",
  "forget",
]);
