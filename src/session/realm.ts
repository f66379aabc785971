import { randomBytes } from "node:crypto";
import { type BlobSource, digestOf } from "./blob.js";
import type { Draft } from "./draft.js";
import { RathError } from "./error.js";
import type { Principal } from "./fact/index.js";
import { strictestOf } from "./keeping.js";
import type { Session } from "./session.js";

/** Settings that are carried with sessions and do not belong to them: never hashed, never stored, inherited from the parent. */
export interface Realm {
  /** The runtime a session lives in, if any. A `Host` has a say in what is made of it. */
  readonly host?: object;
  /** Content of up to this many bytes stays in the line, unless it is personal; 0 puts all content into salted blobs. */
  readonly inline: number;
  /**
   * The secret that salts are made from, and the name it is kept under. Erasing it makes erased content unguessable. Sessions of version
   * 0.1 have none unless `inline` is 0: their personal content stays in the line like any other.
   */
  readonly key?: { readonly id: string; readonly secret: Uint8Array };
  /** Where the content of loaded lines is read. */
  readonly blobs?: BlobSource;
  /** Where a session whose past is not in memory reads it; without one, it cannot. */
  readonly past?: PastSource;
}

/** Reads facts that were not loaded, at once: a question is answered without waiting. */
export interface PastSource {
  parentsOf(session: Session): readonly Session[];
}

/** A runtime under whose eyes sessions are made: each new fact becomes the session that it answers with. */
export interface Host {
  next(parents: readonly Session[], fact: Draft, realm: Realm): Session;
  /** Stands where a root would otherwise have a random word. */
  readonly nonce: string;
  /** The module that acts: the author of facts that would otherwise be the user's. */
  readonly actor?: Principal | undefined;
}

const SECRET_BYTES = 32;

export function keepingOf(realm: Realm): { inline: number; secret?: Uint8Array } {
  return realm.key === undefined
    ? { inline: realm.inline }
    : { inline: realm.inline, secret: realm.key.secret };
}

export function hostOf(realm: Realm): Host | undefined {
  const host = realm.host as Partial<Host> | undefined;
  return host?.next === undefined ? undefined : (host as Host);
}

/** A merge with a session whose content must stay erasable keeps its own content erasable. */
export function strictest(realms: readonly [Realm, ...Realm[]]): Realm {
  const [ours] = realms;
  const { inline, key } = strictestOf(realms);
  if (inline === ours.inline && key === ours.key) return ours;
  return Object.freeze({ ...ours, inline, ...(key && { key }) });
}

/** The key of a new root. Its id comes from the secret, so that the same secret is the same session. */
export function newKey(secret: Uint8Array = randomBytes(SECRET_BYTES)): { id: string; secret: Uint8Array } {
  if (secret instanceof Uint8Array && secret.length === SECRET_BYTES)
    return { id: digestOf(secret).slice(0, 32), secret };
  throw new RathError("option-refused", "Cannot start a session: `secret` must be 32 bytes.", {
    hint: "leave `secret` out, or pass 32 random bytes: randomBytes(32)",
  });
}
