import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import { type Module, openRath, type Rath } from "../../runtime/index.js";
import { openStore, type Store } from "../../store/index.js";
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
