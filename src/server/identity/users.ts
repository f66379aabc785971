import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { lockFile } from "../../evidence/proof/index.js";
import type { Principal } from "../../session/index.js";
import { isObject } from "../../util/index.js";
import { ROLES, type Role } from "../contract/route.js";
import { UserError } from "../error.js";
import type { Grant, Identity } from "./identity.js";

/** A token of a person. Its secret is not kept: only the SHA-256 of it, which nobody can turn back. */
export type UserToken = {
  readonly id: string;
  readonly name: string;
  readonly hash: string;
  readonly grants: readonly Grant[];
  readonly created: string;
  readonly expires?: string;
};

export type NewUser = Grant & { readonly name: string; readonly expires?: string };

/**
 * People and their tokens, in a file beside the store that only its owner can read. Changes of the file, by any process, count
 * from the next request on.
 */
export class Users {
  readonly file: string;
  #read: { readonly version: string; readonly tokens: readonly UserToken[] } = { version: "", tokens: [] };

  constructor(file: string) {
    this.file = file;
  }

  get tokens(): readonly UserToken[] {
    const { version, found } = this.#stat();
    // Two changes at once may leave the same times: a file that is this new is read again.
    const isNew = found !== undefined && Math.abs(Date.now() - found.mtimeMs) < 1_000;
    if (isNew || version !== this.#read.version)
      this.#read = { version, tokens: version === "" ? [] : readUsers(this.file) };
    return this.#read.tokens;
  }

  /** Another one after each change of the file. */
  get version(): string {
    return this.#stat().version;
  }

  #stat() {
    const found = statSync(this.file, { throwIfNoEntry: false });
    return { found, version: found === undefined ? "" : `${found.mtimeMs} ${found.size} ${found.ino}` };
  }

  /** Makes a token, which is shown this once. A person may have several, each with its own roles. */
  add({ name, roles, under, expires }: NewUser): { readonly token: string; readonly entry: UserToken } {
    requireUser({ name, roles, under }, expires);
    const [id, secret] = [randomBytes(6).toString("hex"), randomBytes(32).toString("base64url")];
    const entry: UserToken = {
      id,
      name,
      hash: hashOf(secret),
      grants: [{ roles: [...new Set(roles)], under }],
      created: new Date().toISOString(),
      ...(expires !== undefined && { expires: new Date(expires).toISOString() }),
    };
    this.#change((tokens) => [...tokens, entry]);
    return { token: `rath_${id}_${secret}`, entry };
  }

  /** Takes tokens away, by their id or the name of their person, and says which. */
  revoke(which: string): readonly UserToken[] {
    const isGone = ({ id, name }: UserToken): boolean => id === which || name === which;
    let gone: readonly UserToken[] = [];
    this.#change((tokens) => {
      gone = tokens.filter(isGone);
      if (gone.length > 0) return tokens.filter((token) => !isGone(token));
      throw new UserError(
        `there is no user and no token ${JSON.stringify(which.slice(0, 60))}`,
        "see which there are: rath user list",
      );
    });
    return gone;
  }

  /** The person of a token; undefined for one that is unknown, altered, revoked or expired. */
  identify(token: string, now = Date.now()): Identity | undefined {
    const [, id, secret = ""] = /^rath_([0-9a-f]{12})_([\w-]{43})$/.exec(token) ?? [];
    if (id === undefined) return undefined;
    const found = this.tokens.find((one) => one.id === id);
    // An unknown id takes as long as a wrong secret.
    const isSame = timingSafeEqual(Buffer.from(hashOf(secret)), Buffer.from(found?.hash ?? hashOf("")));
    if (found === undefined || !isSame) return undefined;
    if (found.expires !== undefined && Date.parse(found.expires) <= now) return undefined;
    return { principal: `user:${found.name}` as Principal, grants: found.grants, via: "token" };
  }

  /** One process at a time reads and writes, so that no change undoes another. */
  #change(change: (tokens: readonly UserToken[]) => readonly UserToken[]): void {
    const lock = `${this.file}.lock`;
    const release = lockFile(lock, {
      patience: PATIENCE_MS,
      busy: () =>
        new UserError(
          "somebody else is changing it right now",
          `try again in a moment; if nobody is, take the file away: rm ${JSON.stringify(lock)}`,
        ),
    });
    try {
      this.#write(change(existsSync(this.file) ? readUsers(this.file) : []));
    } finally {
      release();
    }
  }

  /** Whole or not at all: a process that is killed leaves the old file. */
  #write(tokens: readonly UserToken[]): void {
    const next = `${this.file}.${process.pid}.${randomBytes(4).toString("hex")}`;
    const file = openSync(next, "wx", 0o600);
    try {
      writeSync(file, `${JSON.stringify({ users: VERSION, tokens }, null, 2)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(next, this.file);
  }
}

const VERSION = 1;
const PATIENCE_MS = 10_000;

export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** The file of the users of a store: beside it. */
export function usersFile(store: string): string {
  return `${store}.users.json`;
}

function readUsers(file: string): readonly UserToken[] {
  const { mode } = statSync(file);
  if (process.platform !== "win32" && (mode & 0o077) !== 0)
    throw new UserError(
      `other people of this machine can read ${file}`,
      `make it yours alone: chmod 600 ${file}`,
    );
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, "utf8"));
  } catch {
    content = undefined;
  }
  const tokens = isObject(content) && content.users === VERSION ? content.tokens : undefined;
  if (!Array.isArray(tokens) || !tokens.every(isToken))
    throw new UserError(
      `${file} is not such a list`,
      "move it away, and make the users again: rath user add NAME",
    );
  return tokens;
}

function isToken(value: unknown): value is UserToken {
  if (!isObject(value)) return false;
  const { id, name, hash, grants, expires } = value;
  return (
    typeof id === "string" &&
    typeof name === "string" &&
    typeof hash === "string" &&
    /^[0-9a-f]{64}$/.test(hash) &&
    (expires === undefined || (typeof expires === "string" && !Number.isNaN(Date.parse(expires)))) &&
    Array.isArray(grants) &&
    grants.every(isGrant)
  );
}

export function isGrant(value: unknown): value is Grant {
  if (!isObject(value)) return false;
  const { roles, under } = value;
  return (
    Array.isArray(roles) &&
    roles.length > 0 &&
    roles.every((role) => ROLES.includes(role as Role)) &&
    typeof under === "string" &&
    /^[^*]*\*?$/s.test(under) &&
    under !== ""
  );
}

function requireUser(user: Grant & { readonly name: string }, expires: string | undefined): void {
  const { name } = user;
  if (!/^[\p{L}\p{N}][\p{L}\p{N}._@-]{0,63}$/u.test(name))
    throw new UserError(
      `${JSON.stringify(name.slice(0, 60))} cannot be the name of a user`,
      "letters, digits, and . _ @ -, at most 64 of them: rath user add ada",
    );
  if (!isGrant(user))
    throw new UserError(
      `the roles are ${ROLES.join(", ")}, and \`under\` is a name or the beginning of names with * at its end`,
      "rath user add ada --role approve --under 'pay/*'",
    );
  if (expires !== undefined && !(Date.parse(expires) > Date.now()))
    throw new UserError("the expiry time is in the past", "give a later time: --expires 30d");
}

/** Whether there is a list of users for a store. */
export function hasUsers(store: string): boolean {
  return existsSync(usersFile(store));
}
