import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { thrownMessage } from "../session/index.js";
import { showValue } from "../util/index.js";
import { StoreError } from "./error.js";
import { defaultStore, homeOf } from "./home.js";
import { ShelfStore } from "./shelf-store/shelf-store.js";
import type { Store } from "./store.js";

/**
 * Opens a store: `memory:` for this process alone, `sqlite:PATH` for all processes of one machine, `postgres://…` for many
 * machines (`npm install pg`; `?schema=NAME` tells the stores of one database apart). Without a URL it opens the
 * default store, which programs and the command share. A store that is not there yet is made.
 */
export async function openStore(url?: string): Promise<Store> {
  if (url === undefined) return openDefaultStore();
  const [, scheme, path] = (typeof url === "string" && /^([a-z]+):(.*)$/s.exec(url)) || [];
  // Adapters are loaded when they are asked for: a program that keeps sessions in memory pays for no database.
  if (scheme === "memory") return new ShelfStore(new (await import("./memory/shelf.js")).MemoryShelf());
  if (scheme === "sqlite" && path)
    return new ShelfStore((await import("./sqlite/shelf.js")).SqliteShelf.open(localPath(path), url));
  if (scheme === "postgres" || scheme === "postgresql")
    return new ShelfStore(await (await import("./postgres/shelf.js")).PgShelf.open(url));
  if (scheme === "file")
    throw new StoreError(
      "unsupported",
      `Cannot open a store at ${showValue(url)}: folders are no longer stores.`,
      `bring the folder into a database: rath import ${path || "FOLDER"} --store sqlite:./rath.db, then open "sqlite:./rath.db"`,
      { data: { url } },
    );
  throw new StoreError(
    "url",
    `Cannot open a store at ${showValue(url)}.`,
    typeof url === "string" && scheme === undefined && url !== ""
      ? `a file needs its scheme: ${JSON.stringify(`sqlite:${url}`)}`
      : 'use "memory:", "sqlite:./rath.db" or "postgres://USER@HOST/DATABASE"',
  );
}

/** Makes the folder of the default store; the folder of a named store must be there, for a misspelt path would make another. */
async function openDefaultStore(): Promise<Store> {
  let url: string;
  try {
    const folder = process.cwd();
    url = defaultStore(process.env, folder);
    if (!process.env.RATH_STORE) {
      const home = homeOf(process.env, folder);
      // A new folder ignores itself, so that `git add .` does not take in the store.
      if (mkdirSync(home, { recursive: true }) !== undefined) writeFileSync(join(home, ".gitignore"), "*\n");
    }
  } catch (error) {
    throw new StoreError(
      "failed",
      `Cannot make the folder of the default store: ${thrownMessage(error)}.`,
      'name another place: RATH_HOME=DIR, or openRath({ store: "sqlite:./rath.db" })',
      { cause: error },
    );
  }
  return openStore(url);
}

function localPath(path: string): string {
  return path.startsWith("//") ? fileURLToPath(`file:${path}`) : path;
}
