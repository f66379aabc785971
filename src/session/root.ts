import { randomUUID } from "node:crypto";
import { defined } from "../util/index.js";
import { type Stamped, stampOf } from "./draft.js";
import { RathError } from "./error.js";
import type { Content, FactInput } from "./fact/index.js";
import { given } from "./given.js";
import { INLINE_BYTES } from "./line.js";
import { hostOf, newKey, type Realm } from "./realm.js";
import type { Session } from "./session.js";

export type StartOptions = Stamped & {
  /** Makes this start unlike any other. Random unless given. */
  readonly nonce?: string;
  /**
   * Content longer than this many bytes is kept in blobs (default 4096). Messages of people and memories are always in salted
   * blobs, which can be erased; with 0, all content is.
   */
  readonly inline?: number;
  /**
   * The secret from which salts are derived: 32 bytes, by default random. With the same nonce, time and secret a start is the
   * same session. With the secret, a guess can be tested against the digest of erased content.
   */
  readonly secret?: Uint8Array;
  readonly host?: object;
};

/** The first fact of a history. */
type Root = { readonly realm: Realm; readonly fact: FactInput };

export function startOf(text: Content | undefined, options: StartOptions): Root {
  const { nonce = randomUUID(), inline = INLINE_BYTES, secret, host } = given(options, "start");
  if (!Number.isSafeInteger(inline) || inline < 0) {
    throw new RathError("option-refused", `Cannot start a session with inline: ${inline}.`, {
      hint: "give a number of bytes, or 0 for erasable content",
    });
  }
  const key = newKey(secret);
  const fact: FactInput = {
    type: "session-start",
    nonce,
    ...(inline !== INLINE_BYTES && { inline }),
    key: key.id,
    ...defined({ text }),
    ...stampOf(options),
  };
  return { realm: Object.freeze({ inline, ...(host && { host }), key }), fact };
}

export function detachOf(session: Session, realm: Realm, options: Stamped & { readonly why?: string }): Root {
  const { why } = given(options, "detach");
  requireMerged(session);
  const { inline } = realm;
  const { placement, files } = session;
  const host = hostOf(realm);
  // In a run nothing may be random: its stamp makes this root unlike others, and its key stays.
  const fresh = host === undefined ? newKey() : realm.key;
  const fact: FactInput = {
    type: "session-detach",
    nonce: host?.nonce ?? randomUUID(),
    from: session.id,
    ...defined({ why }),
    messages: session.transcript,
    ...defined({ placement }),
    ...(files.tree !== null && { tree: files.tree }),
    ...(inline !== INLINE_BYTES && { inline }),
    ...(fresh && { key: fresh.id }),
    ...stampOf(options),
  };
  return { realm: Object.freeze({ ...realm, ...(fresh && { key: fresh }) }), fact };
}

/** A root has no past that says what its sides had in common, so they must be one before. */
function requireMerged({ id, files: { unmerged = [] } }: Session): void {
  if (unmerged.length === 0) return;
  throw new RathError(
    "files-unmerged",
    `Cannot detach ${id.slice(0, 12)}: the files of ${unmerged.length === 1 ? "a merged branch are" : `${unmerged.length} merged branches are`} not in its own yet.`,
    {
      hint: 'merge them first: session = await mergeFiles({ resolve: "ours" }).forward(session); using the session in a sandbox does it too where nothing is in conflict',
      data: { session: id, unmerged: unmerged.map(({ base, theirs }) => ({ base, theirs })) },
    },
  );
}
