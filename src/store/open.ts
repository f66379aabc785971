import { fileURLToPath } from "node:url";
import { StoreError } from "./error.js";
import { shown } from "./move.js";
import { ShelfStore } from "./shelf-store.js";
import type { Store } from "./store.js";

/**
 * Opens a store: `memory:` for this process alone, `sqlite:PATH` for one machine, `file:PATH` for a folder of
 * JSON lines that an editor can read. What is not there yet is made.
 */
export async function openStore(url: string): Promise<Store> {
  const [, scheme, path] = (typeof url === "string" && /^([a-z]+):(.*)$/s.exec(url)) || [];
  // Adapters are loaded when they are asked for: who keeps sessions in memory pays for no database.
  if (scheme === "memory") return new ShelfStore((await import("./memory.js")).MemoryShelf.open());
  if (scheme === "sqlite" && path)
    return new ShelfStore((await import("./sqlite.js")).SqliteShelf.open(localPath(path, url), url));
  if (scheme === "file" && path)
    return new ShelfStore(await (await import("./file.js")).FileShelf.open(localPath(path, url), url));
  throw new StoreError(
    "url",
    `Cannot open a store at ${shown(url)}.`,
    'use "memory:", "sqlite:./rath.db" or "file:./rath"',
  );
}

function localPath(path: string, url: string): string {
  if (path.startsWith("//") && url.startsWith("file:")) return fileURLToPath(url);
  return path.startsWith("//") ? fileURLToPath(`file:${path}`) : path;
}
