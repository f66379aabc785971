import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openStore, type Store } from "../../store/index.js";
import { openRath, type Rath, type RathOptions } from "../index.js";

/** A runtime of the running test, closed when the test is over. In memory unless it says otherwise. */
export function rathOf(options: RathOptions = {}): Rath {
  const rath = openRath({ store: "memory:", ...options });
  onTestFinished(() => rath.close());
  return rath;
}

/** A store of the running test. */
export async function storeOf(url = "memory:"): Promise<Store> {
  const store = await openStore(url);
  onTestFinished(() => store.close());
  return store;
}

/** Where a durable store of the running test may be, gone when the test is. */
export function urlOf(kind: "sqlite"): string {
  const path = mkdtempSync(join(tmpdir(), "openrath-runtime-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
  return `${kind}:${join(path, "rath.db")}`;
}

/** A runtime on the same store that cannot ask for the time or for chance: a replay must not want to. */
export function blind(store: Store | string): Rath {
  const never = (what: string) => (): never => {
    throw new Error(`${what} was asked for`);
  };
  return rathOf({
    store,
    clock: never("the time"),
    random: never("chance"),
    uuid: never("a new id"),
  });
}

/** A clock that a test moves. */
export function clockOf(start = Date.parse("2026-01-01T00:00:00Z")): {
  readonly clock: () => number;
  pass(milliseconds: number): void;
} {
  let now = start;
  return {
    clock: () => now,
    pass: (milliseconds) => {
      now += milliseconds;
    },
  };
}
