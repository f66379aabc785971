/** What a serializer made of a value: its word for the kind, and the bytes: as text, or in base64 where they are none. */
export type Dumped = { readonly type: string; readonly text: string; readonly binary?: true };

/** What a serializer wrote, as text where it is that. */
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

/**
 * A serialised value, kept as what it adds to another one. A channel that grows by a message at each step is held once,
 * whatever the number of its versions.
 */
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
