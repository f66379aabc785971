import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

type Needle = { readonly name: string; readonly form: string; readonly bytes: Buffer };

/** Looks for many secrets at once, in every form in which they could stand somewhere, in any bytes. */
export class Search {
  /** By their first four bytes: thousands of them cost no more than one. */
  readonly #needles = new Map<number, Needle[]>();

  constructor(secrets: { readonly [name: string]: string }) {
    for (const [name, value] of Object.entries(secrets))
      for (const [form, bytes] of Object.entries(formsOf(value))) {
        const key = bytes.readUInt32BE(0);
        const same = this.#needles.get(key) ?? [];
        if (!same.some((one) => one.bytes.equals(bytes))) same.push({ name, form, bytes });
        this.#needles.set(key, same);
      }
  }

  /** What was found: the name of the secret and how it was written. */
  in(haystack: Buffer): readonly string[] {
    const found = new Set<string>();
    let key = 0;
    for (let end = 0; end < haystack.length; end++) {
      key = ((key << 8) | (haystack[end] as number)) >>> 0;
      const needles = end < 3 ? undefined : this.#needles.get(key);
      if (needles === undefined) continue;
      for (const { name, form, bytes } of needles)
        if (haystack.subarray(end - 3, end - 3 + bytes.length).equals(bytes)) found.add(`${name} (${form})`);
    }
    return [...found];
  }

  /** What was found in all files below a folder, by file. */
  below(folder: string): { readonly [file: string]: readonly string[] } {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    const found = files.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [
        path.slice(folder.length),
        this.in(Buffer.concat([Buffer.from(`${entry.name}\n`), readFileSync(path)])),
      ] as const;
    });
    return Object.fromEntries(found.filter(([, names]) => names.length > 0));
  }
}

/** A value and both of its halves, since half a secret is no secret any more. */
function formsOf(value: string): { readonly [form: string]: Buffer } {
  const bytes = Buffer.from(value, "utf8");
  const half = Math.floor(bytes.length / 2);
  const text = (one: string): Buffer => Buffer.from(one, "latin1");
  const shifted = [0, 1, 2].map((shift) => {
    const code = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    return code.slice(shift === 0 ? 0 : shift + 1, -1);
  });
  return {
    clear: bytes,
    "first half": bytes.subarray(0, half),
    "second half": bytes.subarray(half),
    json: Buffer.from(JSON.stringify(value).slice(1, -1), "utf8"),
    "json in json": Buffer.from(JSON.stringify(JSON.stringify(value)).slice(3, -3), "utf8"),
    percent: text(encodeURIComponent(value)),
    hex: text(bytes.toString("hex")),
    HEX: text(bytes.toString("hex").toUpperCase()),
    "UTF-16 little": Buffer.from(value, "utf16le"),
    "UTF-16 big": Buffer.from(value, "utf16le").swap16(),
    ...Object.fromEntries(shifted.map((code, place) => [`base64 at ${place}`, text(code)])),
    ...Object.fromEntries(
      shifted.map((code, place) => [
        `base64url at ${place}`,
        text(code.replaceAll("+", "-").replaceAll("/", "_")),
      ]),
    ),
  };
}
