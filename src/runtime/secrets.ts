import { type Json, RathError } from "../session/index.js";
import { readingsOf } from "./unescape.js";

/** A shorter text is not treated as a secret: it would be found in every other word. */
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
  /** The beginnings of forms that are shorter than that. */
  readonly #starts = new Set<string>();
  readonly #longest: number;

  constructor(values: { readonly [name: string]: string | undefined }) {
    const known = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined);
    this.#values = new Map(known);
    let longest = 0;
    for (const [name, value] of known)
      if (value.length >= SHORTEST)
        for (const text of formsOf(value)) {
          const key = text.slice(0, KEY);
          for (let count = 1; count < KEY; count++) this.#starts.add(text.slice(0, count));
          longest = Math.max(longest, text.length);
          this.#forms.set(key, [...(this.#forms.get(key) ?? []), { name, text }]);
        }
    this.#longest = longest;
    // A shorter secret must not hide the rest of a longer one that begins with it.
    for (const forms of this.#forms.values()) forms.sort((one, other) => other.text.length - one.text.length);
  }

  /** The value, or a `MissingSecretError`. */
  get(name: string): string {
    const value = this.#values.get(name);
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

  /**
   * The place where a text that goes on can be cut: the text before it tells nothing of a secret, whatever comes. A possible
   * beginning of a secret comes after it, and so does all of a secret that such a beginning overlaps.
   */
  cutIn(text: string): number {
    if (this.#forms.size === 0) return text.length;
    let cut = text.length;
    for (const { text: read, from, open } of readingsOf(text, true)) {
      const sure = open === read.length ? read : read.slice(0, open);
      // An incomplete escape may continue earlier text, or stand for itself.
      for (const part of new Set([read, sure]))
        cut = Math.min(cut, from(Math.min(open, part.length - this.#begunIn(part))));
    }
    for (const { from, to } of this.#spansIn(text)) if (from < cut && cut < to) cut = from;
    return cut;
  }

  /** How many of the last characters of a text may be the beginning of a secret. */
  #begunIn(text: string): number {
    for (let count = Math.min(text.length, this.#longest - 1); count >= KEY; count--) {
      const at = text.length - count;
      const forms = this.#forms.get(text.slice(at, at + KEY));
      if (forms?.some((form) => form.text.length > count && text.endsWith(form.text.slice(0, count))))
        return count;
    }
    for (let count = Math.min(text.length, KEY - 1); count > 0; count--)
      if (this.#starts.has(text.slice(-count))) return count;
    return 0;
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
    let end = 0;
    for (const { from, to, found } of this.#spansIn(text)) {
      for (const name of found) names.add(name);
      told += `${text.slice(end, from)}[secret ${found.join(", ")}]`;
      end = to;
    }
    return end === 0 ? text : told + text.slice(end);
  }

  /** Where secrets stand in a text, as it is and with its escapes resolved. */
  #spansIn(text: string): readonly Span[] {
    const all: Span[] = [];
    for (const { text: read, from } of readingsOf(text))
      for (const span of this.#plainSpansIn(read))
        all.push({ from: from(span.from), to: from(span.to), found: span.found });
    if (all.length < 2) return all;
    all.sort((one, other) => one.from - other.from);
    const joined: Span[] = [];
    for (const { from, to, found } of all) {
      const last = joined.at(-1);
      if (last === undefined || from >= last.to) joined.push({ from, to, found });
      else {
        last.to = Math.max(last.to, to);
        last.found = [...new Set([...last.found, ...found])];
      }
    }
    return joined;
  }

  *#plainSpansIn(text: string): Generator<Span, void> {
    for (let at = 0; at + KEY <= text.length; at++) {
      const first = this.#formAt(text, at);
      if (first === undefined) continue;
      const found = new Set([first.name]);
      let to = at + first.text.length;
      // Another may begin before this one ends: what is left of it would still tell.
      for (let inner = at + 1; inner < to; inner++) {
        const other = this.#formAt(text, inner);
        if (other === undefined || inner + other.text.length <= to) continue;
        found.add(other.name);
        to = inner + other.text.length;
      }
      yield { from: at, to, found: [...found] };
      at = to - 1;
    }
  }

  /** The longest form that begins here. */
  #formAt(text: string, at: number): Form | undefined {
    return this.#forms.get(text.slice(at, at + KEY))?.find((one) => text.startsWith(one.text, at));
  }
}

type Span = { readonly from: number; to: number; found: readonly string[] };
type Form = { readonly name: string; readonly text: string };

/**
 * How a value may be written where no escapes are left: as it is, with plus signs for blanks, in UTF-16, in hexadecimal, and
 * in base64 once or twice.
 */
function formsOf(value: string): ReadonlySet<string> {
  const bytes = Buffer.from(value, "utf8");
  const forms = new Set([value, value.replaceAll(" ", "+"), [...value].join("\0")]);
  const pairs = bytes.toString("hex").match(/../g) ?? [];
  for (const between of ["", ":", " ", "-"]) {
    const hex = pairs.join(between);
    forms.add(hex);
    forms.add(hex.toUpperCase());
  }
  const once = [...base64Of(bytes), ...base64Of(Buffer.from(value, "utf16le"))];
  for (const form of once) {
    forms.add(form);
    for (const twice of base64Of(Buffer.from(form, "latin1"))) forms.add(twice);
  }
  return forms;
}

/** Bytes in base64, in both alphabets: the part that is the same wherever they stand. */
function base64Of(bytes: Buffer): ReadonlySet<string> {
  const forms = new Set<string>();
  for (const shift of [0, 1, 2]) {
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    // The first and the last character may also tell of what stands before and after.
    const [begin, end] = [shift === 0 ? 0 : shift + 1, (bytes.length + shift) % 3 === 0 ? undefined : -1];
    const core = shifted.slice(begin, end);
    if (core.length < SHORTEST) continue;
    forms.add(core);
    forms.add(core.replaceAll("+", "-").replaceAll("/", "_"));
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
