import { statusOf } from "../../runtime/index.js";
import type { FactId, Principal, Session } from "../../session/index.js";
import { parentsOf, readFact, requireSession } from "../../session/index.js";
import { optionNames } from "../../util/index.js";
import { ProofError, requireOptions } from "./error.js";
import { bytesOf, type PublicKey, SIGNATURE_BYTES, type SigningKey } from "./key.js";

export type SignOptions = {
  /** The signer: the person or service that the key belongs to. */
  readonly by: Principal;
  /** When. Default: now. */
  readonly at?: string;
};
const OPTIONS = optionNames<SignOptions>()("by at");

/**
 * Signs a session and its whole history with a `head-sign` fact. The signature covers that fact's line
 * without the signature: id, key, signer and time.
 */
export function signHead(session: Session, key: SigningKey, options: SignOptions): Session {
  requireSession(session, "sign");
  requireOptions(options, OPTIONS, "signHead");
  const status = statusOf(session);
  if (status === "waiting" || session.pending.length > 0)
    throw new ProofError(
      "sign-refused",
      `Cannot sign ${session.id.slice(0, 12)}: it is in the middle of a run.`,
      "let it end first: rath resume SESSION; rath pending shows what it waits for",
      { data: { id: session.id, status, pending: session.pending.length } },
    );
  const fact = { type: "head-sign", of: session.id, key: key.label, ...options } as const;
  const draft = session.append({ ...fact, signature: "" });
  const signature = key.sign(signedBytes(draft.line, "")).toString("base64");
  return session.append({ ...fact, at: draft.fact.at, signature });
}

/** The verdict on a `head-sign` fact. */
export type HeadSignature = {
  readonly fact: FactId;
  readonly of: FactId;
  readonly key: string;
  readonly by: string;
  readonly at: string;
  /** "unknown": nobody here has the key. */
  readonly verdict: "good" | "bad" | "unknown";
  /** The key that a good one is by: others may have the same label. */
  readonly publicKey?: PublicKey;
  /** The fault of a bad one. */
  readonly problem?: string;
};

/** Judges a line if it signs a head, by the keys that are known. */
export function headSignatureOf(
  id: FactId,
  line: string,
  keys: readonly PublicKey[],
): HeadSignature | undefined {
  // Few lines are signatures: the others need not be read.
  if (!line.includes('"head-sign"')) return undefined;
  const fact = readFact(line, undefined);
  if (fact.type !== "head-sign") return undefined;
  const { of, key, by, at, signature } = fact;
  const told = { fact: id, of, key, by, at };
  const parents = parentsOf(line);
  if (parents.length !== 1 || parents[0] !== of)
    return { ...told, verdict: "bad", problem: `it signs ${of}, and that is not what it follows` };
  const bytes = bytesOf(signature, SIGNATURE_BYTES);
  if (bytes === undefined || line.split(quoted(signature)).length !== 2)
    return { ...told, verdict: "bad", problem: "its signature is not 64 bytes in base64" };
  const candidates = keys.filter(({ label }) => label === key);
  if (candidates.length === 0) return { ...told, verdict: "unknown" };
  const signed = signedBytes(line, signature);
  const publicKey = candidates.find((candidate) => candidate.signed(signed, bytes));
  if (publicKey !== undefined) return { ...told, verdict: "good", publicKey };
  return {
    ...told,
    verdict: "bad",
    problem: `its signature is not by the key ${key}, or something in it was altered`,
  };
}

/** No other text that our keys sign begins so. */
const PURPOSE = "openrath head-sign\n";

function signedBytes(line: string, signature: string): Buffer {
  return Buffer.from(`${PURPOSE}${line.replace(quoted(signature), quoted(""))}`);
}

function quoted(signature: string): string {
  return `"signature":"${signature}"`;
}
