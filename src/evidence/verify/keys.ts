import type { HeadSignature, PublicKey, RingKey, Signer } from "../proof/index.js";
import type { Signature, Standing } from "./report.js";

/** The keys that somebody knows, and from what. */
export type Keys = {
  readonly own?: readonly PublicKey[];
  readonly trusted?: readonly PublicKey[];
  /** Given for this one time. */
  readonly given?: readonly PublicKey[];
};

export function keysOf(ring: readonly RingKey[]): Keys {
  return {
    own: ring.filter(({ own }) => own).map(({ key }) => key),
    trusted: ring.filter(({ own }) => !own).map(({ key }) => key),
  };
}

export function allOf({ own = [], trusted = [], given = [] }: Keys): readonly PublicKey[] {
  return [...own, ...trusted, ...given];
}

/** Adds to a signature of a head what its key is known from. */
export function signatureIn(keys: Keys): (signature: HeadSignature) => Signature {
  return ({ publicKey, ...told }) => ({ ...told, standing: standingOf(keys, told.key, publicKey) });
}

/** The same for one who signed a note. */
export function signerIn(keys: Keys): (signer: Signer) => Signer & { readonly standing: Standing } {
  return ({ publicKey, ...told }) => ({
    ...told,
    standing: standingOf(keys, `${told.name}+${told.id}`, publicKey),
  });
}

/** A good signature is by one whole key. Any other only claims a label, and then it is told what that claim is about. */
function standingOf(keys: Keys, label: string, key: PublicKey | undefined): Standing {
  const isIt = (one: PublicKey): boolean => (key === undefined ? one.label === label : one.text === key.text);
  return (["own", "trusted", "given"] as const).find((how) => keys[how]?.some(isIt)) ?? "unknown";
}
