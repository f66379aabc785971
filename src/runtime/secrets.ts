import { type Json, RathError } from "../session/index.js";

/** What is shorter is no secret, and would be found in every other word. */
const SHORTEST = 6;
const KEY = 4;

/**
 * The secrets of a runtime: handed out by name, and kept off the record. Where the value of one would be recorded, in clear or
 * in one of the forms in which programs pass such things on, its name stands instead.
 */
export class Secrets {
  readonly #values: ReadonlyMap<string, string>;
  /** The forms by their first characters: thousands of them cost no more than one. */
  readonly #forms = new Map<string, Form[]>();
  /** All that forms begin with, the whole of them left out; made when something is first told in pieces. */
  #beginnings: { readonly texts: ReadonlySet<string>; readonly longest: number } | undefined;

  constructor(values: { readonly [name: string]: string | undefined }) {
    const known = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined);
    this.#values = new Map(known);
    for (const [name, value] of known)
      if (value.length >= SHORTEST)
        for (const text of formsOf(value)) {
          const key = text.slice(0, KEY);
          this.#forms.set(key, [...(this.#forms.get(key) ?? []), { name, text }]);
        }
    // What a longer secret begins with must not hide the rest of it.
    for (const forms of this.#forms.values()) forms.sort((one, other) => other.text.length - one.text.length);
  }

  /** undefined when nobody knows it. */
  find(name: string): string | undefined {
    return this.#values.get(name);
  }

  /** The value, or a `MissingSecretError`. */
  get(name: string): string {
    const value = this.find(name);
    if (value === undefined) throw new MissingSecretError(name);
    return value;
  }

  /** The same without the values of secrets, and the names of those that were in it. */
  conceal<Value>(value: Value): { readonly value: Value; readonly names: readonly string[] } {
    if (this.#forms.size === 0) return { value, names: [] };
    const names = new Set<string>();
    const concealed = this.#without(value, names);
    return names.size === 0 ? { value, names: [] } : { value: concealed as Value, names: [...names].sort() };
  }

  /** How many of the last characters of a text may be the beginning of a secret. */
  begunIn(text: string): number {
    if (this.#forms.size === 0) return 0;
    const all = this.#beginnings ?? this.#allBeginnings();
    this.#beginnings = all;
    for (let count = Math.min(text.length, all.longest); count > 0; count--)
      if (all.texts.has(text.slice(text.length - count))) return count;
    return 0;
  }

  #allBeginnings(): { readonly texts: ReadonlySet<string>; readonly longest: number } {
    const texts = new Set<string>();
    let longest = 0;
    for (const { text } of [...this.#forms.values()].flat()) {
      for (let end = 1; end < text.length; end++) texts.add(text.slice(0, end));
      longest = Math.max(longest, text.length - 1);
    }
    return { texts, longest };
  }

  #without(value: unknown, names: Set<string>): unknown {
    if (typeof value === "string") return this.#text(value, names);
    if (Array.isArray(value)) return value.map((one) => this.#without(one, names));
    if (!isPlain(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [this.#text(key, names), this.#without(one, names)]),
    );
  }

  #text(text: string, names: Set<string>): string {
    let told = "";
    let from = 0;
    for (let at = 0; at + KEY <= text.length; at++) {
      const first = this.#formAt(text, at);
      if (first === undefined) continue;
      const found = new Set([first.name]);
      let end = at + first.text.length;
      // Another may begin before this one ends: what is left of it would still tell.
      for (let inner = at + 1; inner < end; inner++) {
        const other = this.#formAt(text, inner);
        if (other === undefined || inner + other.text.length <= end) continue;
        found.add(other.name);
        end = inner + other.text.length;
      }
      for (const name of found) names.add(name);
      told += `${text.slice(from, at)}[secret ${[...found].join(", ")}]`;
      from = end;
      at = end - 1;
    }
    return from === 0 ? text : told + text.slice(from);
  }

  /** The longest form that begins here. */
  #formAt(text: string, at: number): Form | undefined {
    return this.#forms.get(text.slice(at, at + KEY))?.find((one) => text.startsWith(one.text, at));
  }
}

type Form = { readonly name: string; readonly text: string };

/** How a value may be written: as it is, escaped, or encoded. Of base64 the part that is the same wherever it stands. */
function formsOf(value: string): ReadonlySet<string> {
  const bytes = Buffer.from(value, "utf8");
  const forms = new Set([
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value.toWellFormed()),
    new URLSearchParams({ value }).toString().slice("value=".length),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
  ]);
  for (const form of [...forms]) forms.add(form.replace(/%[0-9A-F]{2}/g, (escaped) => escaped.toLowerCase()));
  for (const shift of [0, 1, 2]) {
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    // The first and the last character may also tell of what stands before and after.
    const [begin, end] = [shift === 0 ? 0 : shift + 1, (bytes.length + shift) % 3 === 0 ? undefined : -1];
    const core = shifted.slice(begin, end);
    if (core.length >= SHORTEST) {
      forms.add(core);
      forms.add(core.replaceAll("+", "-").replaceAll("/", "_"));
    }
  }
  return forms;
}

function isPlain(value: unknown): value is { readonly [key: string]: Json } {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Something needs a secret that the runtime was not given. */
export class MissingSecretError extends RathError {
  constructor(name: string) {
    super("secret-missing", `Cannot go on: nobody knows the secret ${JSON.stringify(name)}.`, {
      hint: `tell the runtime: openRath({ secrets: { ${name}: process.env.${name} } }); values are never recorded`,
      data: { name },
    });
  }
}
