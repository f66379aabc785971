import type { KeyObject } from "node:crypto";
import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, sign, verify } from "node:crypto";
import { keyRefused } from "./error.js";

/** The algorithm byte before a public key, in its text and in its id: Ed25519. */
const ED25519 = 1;
const KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;

/** A key that recognises signatures. Its text is that of C2SP's signed notes: `name+id+base64`. */
export class PublicKey {
  readonly name: string;
  /** The first four bytes of SHA-256(name ‖ 0A ‖ 01 ‖ key), in hex. */
  readonly id: string;
  readonly #bytes: Buffer;
  #object: KeyObject | undefined;

  constructor(name: string, bytes: Uint8Array) {
    checkName(name);
    if (bytes.length !== KEY_BYTES)
      throw keyRefused(`A public key has 32 bytes, not ${bytes.length}.`, SHAPE);
    this.name = name;
    this.#bytes = Buffer.from(bytes);
    this.id = hash("sha256", Buffer.concat([Buffer.from(`${name}\n`), this.#marked]), "hex").slice(0, 8);
  }

  /** Its name in facts and notes. */
  get label(): string {
    return `${this.name}+${this.id}`;
  }

  get text(): string {
    return `${this.label}+${this.#marked.toString("base64")}`;
  }

  get #marked(): Buffer {
    return Buffer.concat([Buffer.of(ED25519), this.#bytes]);
  }

  /** Whether a signature over some bytes is by this key. */
  signed(bytes: Uint8Array, signature: Uint8Array): boolean {
    if (signature.length !== SIGNATURE_BYTES) return false;
    try {
      this.#object ??= createPublicKey({
        key: { kty: "OKP", crv: "Ed25519", x: this.#bytes.toString("base64url") },
        format: "jwk",
      });
      return verify(null, bytes, this.#object, signature);
    } catch {
      // Not every 32 bytes are a point that a key can be.
      return false;
    }
  }

  toJSON(): string {
    return this.text;
  }
}

/** A key that signs. The secret stays inside: it is in no text, no JSON and no listing of its properties. */
export class SigningKey extends PublicKey {
  readonly #secret: KeyObject;

  private constructor(name: string, bytes: Uint8Array, secret: KeyObject) {
    super(name, bytes);
    this.#secret = secret;
  }

  static make(name: string): SigningKey {
    return SigningKey.#of(name, generateKeyPairSync("ed25519").privateKey);
  }

  /** From the text of a private key, as `pem` gives it. */
  static read(name: string, pem: string): SigningKey {
    let secret: KeyObject;
    try {
      secret = createPrivateKey(pem);
    } catch {
      // The reason may quote the text.
      throw keyRefused(`The private key ${shown(name)} cannot be read.`, "rath key new NAME makes a new one");
    }
    if (secret.asymmetricKeyType !== "ed25519")
      throw keyRefused(
        `The private key ${shown(name)} is not an Ed25519 key.`,
        "rath key new NAME makes one",
      );
    return SigningKey.#of(name, secret);
  }

  static #of(name: string, secret: KeyObject): SigningKey {
    const { x } = createPublicKey(secret).export({ format: "jwk" });
    return new SigningKey(name, Buffer.from(x as string, "base64url"), secret);
  }

  sign(bytes: Uint8Array): Buffer {
    return sign(null, bytes, this.#secret);
  }

  /** PKCS #8, for a file that nobody else may read. */
  pem(): string {
    return this.#secret.export({ type: "pkcs8", format: "pem" }) as string;
  }
}

const SHAPE = "a public key is one line: NAME+ID+BASE64, as `rath key show` prints it";

/** Reads the text of a public key. */
export function readPublicKey(text: unknown): PublicKey {
  if (typeof text !== "string") throw keyRefused("A public key is a text.", SHAPE);
  const [, name = "", id = "", data = ""] =
    /^([^+]*)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]{44,64})\n?$/.exec(text) ?? [];
  const bytes = bytesOf(data, 1 + KEY_BYTES);
  if (bytes === undefined || bytes[0] !== ED25519)
    throw keyRefused(`This is not a public key: ${shown(text)}.`, SHAPE);
  const key = new PublicKey(name, bytes.subarray(1));
  if (key.id !== id)
    throw keyRefused(
      `The public key of ${shown(name)} has the id ${key.id}, and its text says ${id}.`,
      "the text was altered: ask for it again, and compare the id on another way",
    );
  return key;
}

/** Names stand in notes, whose lines are split at blanks, and in labels, which are split at plus signs. */
function checkName(name: string): void {
  if (typeof name === "string" && name.length <= 100 && /^[^\s+\p{C}]+$/u.test(name)) return;
  throw keyRefused(
    `A key cannot be called ${shown(name)}.`,
    "a name has no blanks, no plus signs and no control characters, as: ada, build.example.org",
  );
}

function shown(value: unknown): string {
  const text = JSON.stringify(typeof value === "string" ? value : String(value));
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** The bytes of canonical base64, or undefined: unused bits could be changed unnoticed. */
export function bytesOf(text: string, length?: number): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") !== text) return undefined;
  return length === undefined || bytes.length === length ? bytes : undefined;
}
