import { digestOf } from "../../session/index.js";
import { signedText } from "../bundle/form.js";
import { type PublicKey, readPublicKey, type Signer } from "../proof/index.js";
import { readSignature, signersOf } from "../proof/note.js";

/** The public keys of a bundle, from the text of their section. */
export function keysIn(text: string): readonly PublicKey[] {
  const keys = JSON.parse(text) as unknown;
  if (!Array.isArray(keys)) throw new Error("it is no list of keys");
  return keys.map(readPublicKey);
}

/** Who signed a bundle, from the text of the signatures and that of the seal. */
export function signersIn(text: string, sealed: string, keys: readonly PublicKey[]): readonly Signer[] {
  const lines = JSON.parse(text) as unknown;
  if (!Array.isArray(lines) || !lines.every((line) => typeof line === "string"))
    throw new Error("it is no list of signatures");
  return signersOf({ text: signedText(digestOf(sealed)), signatures: lines.map(readSignature) }, keys);
}
