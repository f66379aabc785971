import { hash } from "node:crypto";
import { closeSync, fstatSync, ftruncateSync, openSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { DamageError } from "./error.js";
import { errnoOf } from "./file-error.js";
import { identityOf, replaceFile, syncFile, syncFolder, writeAll } from "./file-folder.js";

const PRIVATE = 0o600;

/** The secrets that salts are made of, one JSON object per line, for the eyes of the owner alone. */
export class KeyFile {
  readonly #path: string;
  #keys = new Map<string, Uint8Array>();
  #read = "";

  constructor(path: string) {
    this.#path = path;
  }

  /** The keys that are there now; another process may have added or removed some. */
  all(): ReadonlyMap<string, Uint8Array> {
    const now = this.#state();
    if (now !== this.#read) {
      this.#keys = now === "" ? new Map() : this.#load();
      this.#read = now;
    }
    return this.#keys;
  }

  add(keys: readonly { readonly id: string; readonly secret: Uint8Array }[]): void {
    const known = this.all();
    const fresh = keys.filter(({ id }) => !known.has(id));
    if (fresh.length === 0) return;
    const isNew = this.#read === "";
    const fd = openSync(this.#path, isNew ? "w+" : "r+", PRIVATE);
    try {
      // Half a line from a crash is half a secret that nobody was promised: it is not moved aside but dropped.
      const size = soundSize(readFileSync(fd));
      if (size < fstatSync(fd).size) ftruncateSync(fd, size);
      try {
        writeAll(fd, Buffer.concat(fresh.map(({ id, secret }) => lineOf(id, secret))), size);
      } catch (error) {
        ftruncateSync(fd, size);
        throw error;
      }
      syncFile(fd);
    } finally {
      closeSync(fd);
    }
    if (isNew) syncFolder(dirname(this.#path));
  }

  /** Removes keys so that the file no longer holds them, and overwrites where they were. */
  remove(ids: readonly string[]): void {
    const known = this.all();
    if (!ids.some((id) => known.has(id))) return;
    const gone = new Set(ids);
    const old = openSync(this.#path, "r+");
    try {
      replaceFile(
        this.#path,
        [...known].filter(([id]) => !gone.has(id)).map(([id, secret]) => lineOf(id, secret)),
        PRIVATE,
      );
      writeAll(old, Buffer.alloc(fstatSync(old).size), 0);
      syncFile(old);
    } finally {
      closeSync(old);
    }
  }

  #load(): Map<string, Uint8Array> {
    const bytes = readFileSync(this.#path);
    const keys = new Map<string, Uint8Array>();
    const lines = bytes.toString("utf8", 0, soundSize(bytes)).split("\n").slice(0, -1);
    for (const [index, line] of lines.entries()) {
      const key = KEY.exec(line);
      const id = key && JSON.parse(key[1] as string);
      const secret = key && Buffer.from(key[2] as string, "hex");
      if (key === null || lineOf(id, secret as Buffer).toString("utf8") !== `${line}\n`) {
        throw new DamageError(`keys.jsonl:${index + 1}`, "it is not a key as it was written");
      }
      keys.set(id, secret as Buffer);
    }
    return keys;
  }

  #state(): string {
    try {
      const { inode, size, changed } = identityOf(this.#path);
      return `${inode}:${size}:${changed}`;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return "";
      throw error;
    }
  }
}

const KEY = /^\{"id":("(?:[^"\\]|\\.)*"),"secret":"((?:[0-9a-f]{2})*)","sum":"[0-9a-f]{8}"\}$/;

export function lineOf(id: string, secret: Uint8Array): Buffer {
  const text = `{"id":${JSON.stringify(id)},"secret":"${Buffer.from(secret).toString("hex")}"`;
  // Nothing else would notice a secret that is no longer the same.
  return Buffer.from(`${text},"sum":"${hash("sha256", text, "hex").slice(0, 8)}"}\n`);
}

function soundSize(bytes: Buffer): number {
  return bytes.lastIndexOf(0x0a) + 1;
}
