import { AuditError } from "./error.js";

/** A time in milliseconds: ISO, a day, "now", or an age ("2h", "30m", "7d"). Without a zone it is UTC. */
export function timeOf(given: string, what: string, now: number): number {
  const text = given.trim();
  if (text === "now") return now;
  const ago = /^(\d{1,6})\s*(s|m|h|d|w)(?: ago)?$/.exec(text);
  if (ago !== null) return now - Number(ago[1]) * (UNITS[ago[2] as string] as number);
  // Other forms that Date accepts are ambiguous: 01/02/2026.
  const written = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?)?$/.exec(text);
  const [, day, hour, zone = "Z"] = written ?? [];
  const time = Date.parse(hour === undefined ? (day ?? "") : `${day}T${hour}${zone}`);
  if (Number.isFinite(time)) return time;
  throw new AuditError(
    "question-refused",
    `Cannot read ${JSON.stringify(text.slice(0, 80))} as the time ${what}.`,
    /^\d{4}(?:-\d\d)?$/.test(text)
      ? `give days: --from ${text.padEnd(7, "-01")}-01`
      : "write it as 2026-11-16, 2026-11-16T09:30:00Z, 2h (two hours ago), or now",
    { time: text.slice(0, 80) },
  );
}

/** In milliseconds. */
const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Keeps the earliest of many, however many come, and counts the others. */
export class Earliest<Value extends { readonly time: number }> {
  readonly #most: number;
  #kept: Value[] = [];
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(value: Value): void {
    this.#count += 1;
    this.#kept.push(value);
    if (this.#kept.length >= 2 * this.#most + 64) this.#trim();
  }

  /** Those that were kept, earliest first; of one time, in the order in which they came. */
  get values(): readonly Value[] {
    this.#trim();
    return this.#kept;
  }

  /** How many came that were not kept. */
  get more(): number {
    return Math.max(0, this.#count - this.#most);
  }

  get count(): number {
    return this.#count;
  }

  #trim(): void {
    this.#kept = this.#kept.sort((one, other) => one.time - other.time).slice(0, this.#most);
  }
}
