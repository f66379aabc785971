import type { FactId } from "../../session/index.js";

/** A list of numbers that grows, held without a box around each number: a session may have a million facts. */
export class Numbers {
  #values: Int32Array | Float64Array;
  length = 0;

  constructor(type: "integers" | "numbers" = "integers") {
    this.#values = type === "integers" ? new Int32Array(1024) : new Float64Array(1024);
  }

  push(value: number): void {
    if (this.length >= this.#values.length) {
      const isWhole = this.#values instanceof Int32Array;
      const wider = isWhole ? new Int32Array(2 * this.length) : new Float64Array(2 * this.length);
      wider.set(this.#values);
      this.#values = wider;
    }
    this.#values[this.length++] = value;
  }

  at(place: number): number {
    return this.#values[place] as number;
  }

  /** The numbers as they are kept in a file. */
  saved(): Int32Array | Float64Array {
    return this.#values.slice(0, this.length);
  }

  load(values: Int32Array | Float64Array): void {
    this.length = values.length;
    if (values.length > 0) this.#values = values;
  }

  set(place: number, value: number): void {
    this.#values[place] = value;
  }

  /** Where a value stands in a list that rises; -1 where it does not. */
  find(value: number): number {
    const place = this.from(value);
    return place < this.length && this.at(place) === value ? place : -1;
  }

  /** Where the values of a list that rises are at least so large. */
  from(value: number): number {
    let [from, end] = [0, this.length];
    while (from < end) {
      const middle = (from + end) >> 1;
      if (this.at(middle) < value) from = middle + 1;
      else end = middle;
    }
    return from;
  }
}

const BYTES = 32;

/** The ids of facts by place, and the place of an id: 40 bytes for each. */
export class Ids {
  #bytes = Buffer.alloc(1024 * BYTES);
  /** Open addressing by the first bytes of an id, which are as good as random; a place is kept plus one. */
  #table = new Int32Array(4096);
  length = 0;

  push(id: FactId): void {
    const place = this.length;
    if ((place + 1) * BYTES > this.#bytes.length)
      this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length)]);
    if (2 * place > this.#table.length) {
      this.#table = new Int32Array(2 * this.#table.length);
      for (let one = 0; one < place; one++) this.#enter(one);
    }
    this.#bytes.write(id, place * BYTES, BYTES, "hex");
    this.length += 1;
    this.#enter(place);
  }

  at(place: number): FactId {
    return this.#bytes.toString("hex", place * BYTES, (place + 1) * BYTES);
  }

  saved(): Uint8Array {
    return this.#bytes.subarray(0, this.length * BYTES);
  }

  load(bytes: Uint8Array): void {
    this.length = bytes.length / BYTES;
    this.#bytes = Buffer.alloc(Math.max(1024 * BYTES, bytes.length));
    this.#bytes.set(bytes);
    let size = 4096;
    while (size < 4 * this.length) size *= 2;
    this.#table = new Int32Array(size);
    for (let place = 0; place < this.length; place++) this.#enter(place);
  }

  /** -1 for an id that is not here. */
  placeOf(id: FactId): number {
    if (this.length === 0) return -1;
    const wanted = Buffer.from(id, "hex");
    if (wanted.length !== BYTES) return -1;
    const mask = this.#table.length - 1;
    for (let slot = wanted.readUInt32LE(0) & mask; ; slot = (slot + 1) & mask) {
      const place = (this.#table[slot] as number) - 1;
      if (place === -1) return -1;
      if (wanted.compare(this.#bytes, place * BYTES, (place + 1) * BYTES) === 0) return place;
    }
  }

  #enter(place: number): void {
    const mask = this.#table.length - 1;
    let slot = this.#bytes.readUInt32LE(place * BYTES) & mask;
    while (this.#table[slot] !== 0) slot = (slot + 1) & mask;
    this.#table[slot] = place + 1;
  }
}
