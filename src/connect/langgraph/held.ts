import type { Json } from "../../session/index.js";
import { hideSaid, type Pool, showSaid } from "./spot.js";

/** A serialised value: its type, and its bytes as text, or in base64 when they are not text. */
export type Dumped = { readonly type: string; readonly text: string; readonly binary?: true };

/** The output of a serializer, as text where possible. */
export function dumpedOf(type: string, bytes: Uint8Array): Dumped {
  try {
    if (type === "json")
      return { type, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    // It is not text after all.
  }
  return { type, text: Buffer.from(bytes).toString("base64"), binary: true };
}

/** Where a text differs from another: what is kept of its beginning and of its end, and what stands between. */
export type Splice = { readonly start: number; readonly tail: number; readonly text: string };

/** A serialised value kept as what it adds to another: a growing channel is held once. */
export class Held {
  readonly type: string;
  readonly binary: boolean;
  readonly length: number;
  /** Characters that must be read to have the text. */
  readonly weight: number;
  readonly #base: Held | undefined;
  readonly #splice: Splice;
  #text: string | undefined;

  private constructor(type: string, binary: boolean, base: Held | undefined, splice: Splice) {
    this.type = type;
    this.binary = binary;
    this.#base = base;
    this.#splice = splice;
    this.length = base === undefined ? splice.text.length : splice.start + splice.text.length + splice.tail;
    this.weight = (base?.weight ?? 0) + splice.text.length;
  }

  static whole({ type, text, binary = undefined }: Dumped): Held {
    return new Held(type, binary ?? false, undefined, { start: 0, tail: 0, text });
  }

  static spliced(base: Held, splice: Splice): Held {
    return new Held(base.type, base.binary, base, splice);
  }

  get text(): string {
    if (this.#base === undefined) return this.#splice.text;
    this.#text ??= assembled(this.#chain());
    return this.#text;
  }

  /** Keeps the text at hand for the next version, which is made from it; the version before is seldom asked for. */
  warm(text: string): void {
    if (this.#base === undefined) return;
    this.#text = text;
    this.#base.forget();
  }

  /** Gives up what can be put together again. */
  forget(): void {
    this.#text = undefined;
  }

  same(dumped: Dumped): boolean {
    return (
      this.type === dumped.type &&
      this.binary === (dumped.binary ?? false) &&
      this.length === dumped.text.length &&
      this.text === dumped.text
    );
  }

  /** From the nearest text that is whole to this one. */
  #chain(): readonly Splice[] {
    const chain: Splice[] = [];
    for (let held: Held | undefined = this; held !== undefined; held = held.#base) {
      if (held.#text !== undefined) {
        chain.push({ start: 0, tail: 0, text: held.#text });
        break;
      }
      chain.push(held.#splice);
    }
    return chain.reverse();
  }
}

/** Applies splices one after the other, without copying the whole for each of those that only add at the end. */
function assembled([first, ...splices]: readonly Splice[]): string {
  let left: string[] = [];
  let length = 0;
  let right = first?.text ?? "";
  for (const { start, tail, text } of splices) {
    if (start < length || tail > right.length) {
      right = left.join("") + right;
      left = [];
      length = 0;
    }
    const kept = right.slice(0, start - length);
    left.push(kept, text);
    length += kept.length + text.length;
    right = tail === 0 ? "" : right.slice(-tail);
  }
  return left.join("") + right;
}

const STRIDE = 4_096;

/** Where `text` differs from `base`. Characters of two halves are never parted. */
export function spliceOf(base: string, text: string): Splice {
  const most = Math.min(base.length, text.length);
  let start = 0;
  while (start + STRIDE <= most && base.slice(start, start + STRIDE) === text.slice(start, start + STRIDE))
    start += STRIDE;
  while (start < most && base.charCodeAt(start) === text.charCodeAt(start)) start++;
  if (isHigh(text.charCodeAt(start - 1))) start--;
  const room = most - start;
  let tail = 0;
  while (
    tail + STRIDE <= room &&
    base.slice(base.length - tail - STRIDE, base.length - tail) ===
      text.slice(text.length - tail - STRIDE, text.length - tail)
  )
    tail += STRIDE;
  while (tail < room && base.charCodeAt(base.length - tail - 1) === text.charCodeAt(text.length - tail - 1))
    tail++;
  if (tail > 0 && isLow(text.charCodeAt(text.length - tail))) tail--;
  return { start, tail, text: text.slice(start, text.length - tail) };
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

/** A serialised value in a note, in the first lossless form: JSON, an addition to the last, text, bytes. */
export type Entry = {
  /** The serializer's word for it; "json" when it is not said. */
  readonly type?: string;
  readonly json?: Json;
  /** The items that a list got. */
  readonly append?: readonly Json[];
  readonly text?: string;
  /** With `text`: what is kept of the beginning and of the end of the value before. */
  readonly start?: number;
  readonly tail?: number;
  readonly base64?: string;
  /** The checkpoint that has the same value. */
  readonly like?: string;
  /** Texts that were said just before are pointed at. */
  readonly said?: true;
};

/** The pieces of a value together may be so many times as long as the value. */
const MOST_WEIGHT = 4;
const ROOM = 65_536;
/** So many characters must be saved by saying only what differs. */
const WORTH = 64;
/** Deeper values would not fit into a note as JSON. */
const DEEPEST = 400;

/** The entry of a value; with what is new in it as JSON, where it is that. */
export function entryOf(dumped: Dumped, base?: Held): { readonly entry: Entry; readonly fresh?: Json } {
  const typed = dumped.type === "json" ? {} : { type: dumped.type };
  if (dumped.binary) return { entry: { ...typed, base64: dumped.text } };
  if (base !== undefined && !base.binary && base.type === dumped.type) {
    const splice = spliceOf(base.text, dumped.text);
    const light = base.weight + splice.text.length <= MOST_WEIGHT * dumped.text.length + ROOM;
    if (light && splice.text.length + WORTH < dumped.text.length) {
      const append = dumped.type === "json" ? appended(base.length, splice) : undefined;
      return append === undefined ? { entry: { ...typed, ...splice } } : { entry: { append }, fresh: append };
    }
  }
  const json = dumped.type === "json" ? jsonOf(dumped.text) : undefined;
  if (json === undefined) return { entry: { ...typed, text: dumped.text } };
  return { entry: { json: json.value }, fresh: json.value };
}

/** The same entry with texts that were said just before pointed at. */
export function hiding(entry: Entry, pool: Pool): Entry {
  const { json, append } = entry;
  const hidden =
    json === undefined && append === undefined ? undefined : hideSaid((json ?? append) as Json, pool);
  if (hidden === undefined) return entry;
  return append === undefined
    ? { json: hidden, said: true }
    : { append: hidden as readonly Json[], said: true };
}

/** The value of an entry; undefined where it needs one that is not here. */
export function heldOf(entry: Entry, base: Held | undefined, pool: Pool): Held | undefined {
  const type = entry.type ?? "json";
  if (entry.base64 !== undefined) return Held.whole({ type, text: entry.base64, binary: true });
  if (entry.append !== undefined) {
    if (base === undefined) return undefined;
    const items = (entry.said ? showSaid(entry.append, pool) : entry.append) as readonly Json[];
    const text = JSON.stringify(items).slice(1, -1);
    return Held.spliced(base, {
      start: base.length - 1,
      tail: 1,
      text: base.length === 2 ? text : `,${text}`,
    });
  }
  if (entry.start !== undefined && entry.tail !== undefined && entry.text !== undefined)
    return base && Held.spliced(base, { start: entry.start, tail: entry.tail, text: entry.text });
  if (entry.text !== undefined) return Held.whole({ type, text: entry.text });
  if (entry.json === undefined) return undefined;
  return Held.whole({ type, text: JSON.stringify(entry.said ? showSaid(entry.json, pool) : entry.json) });
}

/** The items that a splice adds to the end of a list, if that is what it does. */
function appended(length: number, { start, tail, text }: Splice): readonly Json[] | undefined {
  // The end of the old list and of the new one may have more in common than the bracket.
  if (tail === 0 || start + tail < length) return undefined;
  const whole = start === length - 1 && tail === 1 ? text : undefined;
  if (whole === undefined) return undefined;
  const items = length === 2 ? whole : whole.startsWith(",") ? whole.slice(1) : undefined;
  return items === undefined || items === ""
    ? undefined
    : (jsonOf(`[${items}]`)?.value as readonly Json[] | undefined);
}

/** The JSON of a text, if the record gives back the same text from it. */
export function jsonOf(text: string): { readonly value: Json } | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return JSON.stringify(value) === text && depthOf(text) < DEEPEST ? { value } : undefined;
  } catch {
    return undefined;
  }
}

/** How deep brackets are nested at most; those in strings only make it cautious. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x5b || code === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (code === 0x5d || code === 0x7d) depth--;
  }
  return deepest;
}
