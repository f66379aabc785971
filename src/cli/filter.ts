import { type FactId, parentsOf, typeOf } from "../session/index.js";
import type { Store } from "../store/index.js";
import { type Input, textOption, textsOption } from "./entry.js";
import { UsageError } from "./error.js";
import type { Shell } from "./shell.js";

/** Which facts are meant: by time, actor and type. Times are in milliseconds; `until` is not included. */
export type Filter = {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly by?: string | undefined;
  readonly types: ReadonlySet<string>;
  /** Whether every fact is meant. */
  readonly isEmpty: boolean;
};

/** The filter of `--since`, `--until`, `--by` and `--type`. */
export function filterOf(input: Input, now = Date.now()): Filter {
  const since = timeOption(input, "since", now)?.start;
  const until = timeOption(input, "until", now)?.end;
  const by = textOption(input, "by");
  const types = new Set(textsOption(input, "type").flatMap((type) => type.split(",")));
  const isEmpty = since === undefined && until === undefined && by === undefined && types.size === 0;
  return { since, until, by, types, isEmpty };
}

/** Whether the fact of a record line is meant. */
export function passes({ since, until, by, types }: Filter, line: string): boolean {
  if (types.size > 0 && !types.has(typeOf(line))) return false;
  if (since === undefined && until === undefined && by === undefined) return true;
  const stamps = stampsOf(line);
  const time = Date.parse(stamps.at);
  if (since !== undefined && !(time >= since)) return false;
  if (until !== undefined && !(time < until)) return false;
  return by === undefined || stamps.by === by || stamps.by.startsWith(`${by}:`);
}

/** Whether the newest fact of a session is from a time on. */
export async function isSince(store: Store, head: FactId, since: number): Promise<boolean> {
  return Date.parse(stampsOf((await store.line(head)) as string).at) >= since;
}

/**
 * How many facts of a history are from a time on, without those in `seen`, which it adds to. Only they are read, and those of
 * ten minutes before: clocks differ.
 */
export async function countSince(
  shell: Shell,
  store: Store,
  head: FactId,
  since: number,
  seen: Set<FactId>,
): Promise<number> {
  const open = seen.has(head) ? [] : [head];
  let count = 0;
  seen.add(head);
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const line = await store.line(id);
    const time = line === undefined ? Number.NaN : Date.parse(stampsOf(line).at);
    if (line === undefined || time < since - SLACK) continue;
    if (time >= since) count += 1;
    if (seen.size % 20_000 === 0) shell.progress(`${seen.size.toLocaleString("en")} facts …`);
    for (const parent of parentsOf(line)) {
      if (!seen.has(parent)) open.push(parent);
      seen.add(parent);
    }
  }
  return count;
}

const SLACK = 600_000;

/** The line of a fact begins with its stamps; content cannot stand before them. */
const STAMPS =
  /"fact":\{"type":"[^"\\]*","at":"([^"\\]*)"(?:,"run":"([^"\\]*)")?(?:,"seq":\d+)?,"by":"([^"\\]*)"/;

type Stamps = { readonly at: string; readonly by: string; readonly run?: string | undefined };

/** Time, actor and run of the fact of a record line. */
export function stampsOf(line: string): Stamps {
  const [, at, run, by] = STAMPS.exec(line) ?? [];
  if (at !== undefined && by !== undefined) return { at, by, run };
  return (JSON.parse(line) as { readonly fact: Stamps }).fact;
}

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/**
 * A time as people write it: an ISO time or day, "2h" (ago), "now", "today", "yesterday", or a weekday (the last one, today
 * included). Days begin at midnight UTC, as the record's times do. A day has a start and an end.
 */
export function timeOption(
  input: Input,
  name: string,
  now: number,
): { readonly start: number; readonly end: number } | undefined {
  const given = textOption(input, name);
  if (given === undefined) return undefined;
  const text = given.trim().toLowerCase();
  const today = now - (now % UNITS.d);
  const weekday = WEEKDAYS.indexOf(text);
  if (text === "now") return point(now);
  if (text === "today") return day(today);
  if (text === "yesterday") return day(today - UNITS.d);
  if (weekday >= 0) return day(today - ((new Date(today).getUTCDay() - weekday + 7) % 7) * UNITS.d);
  const ago = /^(\d{1,6}) ?([smhdw])(?: ago)?$/.exec(text);
  if (ago !== null) return point(now - Number(ago[1]) * UNITS[ago[2] as keyof typeof UNITS]);
  const [, date, hour, zone = "Z"] =
    /^(\d{4}-\d\d-\d\d)(?:[t ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(z|[+-]\d\d:?\d\d)?)?$/.exec(text) ?? [];
  const time = Date.parse(hour === undefined ? (date ?? "") : `${date}T${hour}${zone.toUpperCase()}`);
  if (Number.isFinite(time)) return hour === undefined ? day(time) : point(time);
  throw new UsageError(
    `--${name} must be a time; got ${JSON.stringify(given.slice(0, 40))}.`,
    `write it as --${name} 2026-11-16, 2026-11-16T09:30:00Z, 2h (two hours ago), 3d, yesterday or monday`,
  );
}

function day(start: number) {
  return { start, end: start + UNITS.d };
}

function point(time: number) {
  return { start: time, end: time };
}
