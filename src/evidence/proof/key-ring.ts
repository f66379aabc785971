import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { nearestOf } from "../../util/index.js";
import { keyRefused } from "./error.js";
import { replaceFile } from "./file.js";
import { type PublicKey, readPublicKey, SigningKey } from "./key.js";

/** A key of the ring: one's own, with which one can sign, or one that somebody trusts. */
export type RingKey = { readonly key: PublicKey; readonly own: boolean; readonly file: string };

/** The keys in a folder: `NAME.pem` (private, owner-only), `NAME.pub`, and `trusted/` for others' keys. */
export class KeyRing {
  readonly folder: string;

  /** `config` is the folder of what belongs to the person; the ring is `keys` in it. */
  constructor(config: string) {
    this.folder = join(config, "keys");
  }

  /** Makes a key. A name that is taken is refused: what was signed with the other one would lose its signer. */
  make(name: string): SigningKey {
    if (typeof name !== "string" || !/^[A-Za-z0-9][A-Za-z0-9._@-]{0,31}$/.test(name))
      throw keyRefused(
        `A key cannot be called ${JSON.stringify(String(name).slice(0, 60))}.`,
        "take up to 32 letters, digits, dots, dashes and at signs, as: rath key new ada",
      );
    const file = join(this.folder, `${name}.pem`);
    if (existsSync(file))
      throw keyRefused(
        `There is a key called ${name} already.`,
        "take another name, or use it: rath key list",
      );
    const key = SigningKey.make(name);
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    chmodSync(this.folder, 0o700);
    writeFileSync(file, key.pem(), { mode: 0o600, flag: "wx", flush: true });
    replaceFile(join(this.folder, `${name}.pub`), `${key.text}\n`, 0o644);
    return key;
  }

  /** Keeps the public key of somebody else, whose signatures then count. */
  trust(text: string): PublicKey {
    const key = readPublicKey(text.trim());
    const name = encodeURIComponent(key.name).replaceAll(".", "%2E");
    replaceFile(join(this.folder, "trusted", `${name}+${key.id}.pub`), `${key.text}\n`, 0o644);
    return key;
  }

  /** The key to sign with: the one of that name, or the only one. */
  signer(name?: string): SigningKey {
    const names = this.#files("", ".pem").map((file) => file.slice(0, -".pem".length));
    if (names.length === 0) throw keyRefused("There is no key to sign with.", "make one: rath key new NAME");
    if (name === undefined && names.length > 1)
      throw keyRefused(
        `There are ${names.length} keys to sign with: ${names.slice(0, 8).join(", ")}.`,
        "say which: --sign NAME",
      );
    const wanted = name ?? (names[0] as string);
    if (!names.includes(wanted)) {
      const near = nearestOf(wanted, names);
      throw keyRefused(
        `There is no key called ${JSON.stringify(wanted.slice(0, 60))} to sign with.`,
        near === undefined ? "see which there are: rath key list" : `did you mean ${near}?`,
      );
    }
    const file = join(this.folder, `${wanted}.pem`);
    const { mode } = statSync(file);
    // A reader of the file could sign in this person's name.
    if (process.platform !== "win32" && (mode & 0o077) !== 0)
      throw keyRefused(
        `The private key ${wanted} can be read by others.`,
        `chmod 600 ${JSON.stringify(file)}`,
      );
    return SigningKey.read(wanted, readFileSync(file, "utf8"));
  }

  /** Every key that is known here, one's own first. A file that is not a key is an error that names it. */
  list(): readonly RingKey[] {
    const keys: RingKey[] = [];
    for (const [folder, own] of [
      ["", true],
      ["trusted", false],
    ] as const)
      for (const name of this.#files(folder, ".pub")) {
        const file = join(this.folder, folder, name);
        try {
          keys.push({ key: readPublicKey(readFileSync(file, "utf8")), own, file });
        } catch (error) {
          throw keyRefused(
            `The key file ${file} cannot be read.`,
            "take it out of the folder, or put the right text into it",
            error,
          );
        }
      }
    return keys;
  }

  #files(folder: string, ending: string): readonly string[] {
    const path = join(this.folder, folder);
    return existsSync(path)
      ? readdirSync(path)
          .filter((name) => name.endsWith(ending))
          .sort()
      : [];
  }
}
