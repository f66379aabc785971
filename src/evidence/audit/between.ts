import { type FactId, factTypes, typeOf } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { optionNames } from "../../util/index.js";
import { type Answer, Telling } from "./answer.js";
import { AuditError, requireOptions } from "./error.js";
import { Earliest, timeOf } from "./time.js";
import { many, short } from "./words.js";

export type BetweenOptions = {
  /** ISO times, days, "now", or how long ago ("2h"). Left out, there is no end on that side. */
  readonly from?: string;
  readonly to?: string;
  /** How many facts are told, earliest first. Default 100. */
  readonly limit?: number;
  /** Also the bookkeeping of the runtime. */
  readonly all?: boolean;
  /** The current time. Default: the clock. */
  readonly now?: number;
};

/** Facts of bookkeeping that are rarely of interest. */
const DULL: ReadonlySet<string> = factTypes(
  "module-enter module-exit agent-configure effect-start workspace-read answer-take sandbox-suspend",
  "sandbox-resume",
);

const KNOWN = optionNames<BetweenOptions>()("from to limit all now");

/** The facts between two times, both included, in the order of the clock. The record is read as a stream, however long it is. */
export async function whatHappened(
  store: Store,
  ref: string,
  options: BetweenOptions = {},
  stretch?: string,
): Promise<Answer> {
  requireOptions(options, KNOWN, "ask what happened");
  const { from, to, limit = 100, all = false, now = Date.now() } = options;
  const first = from === undefined ? Number.NEGATIVE_INFINITY : timeOf(from, "that it begins at", now);
  const last = to === undefined ? Number.POSITIVE_INFINITY : dayEnd(to, timeOf(to, "that it ends at", now));
  if (first > last)
    throw new AuditError(
      "question-refused",
      `The time ends before it begins: ${from} to ${to}.`,
      "turn them round",
      { from: from ?? null, to: to ?? null },
    );
  const telling = await Telling.open(
    store,
    `What happened in ${ref}${from === undefined ? "" : ` from ${from}`}${to === undefined ? "" : ` to ${to}`}?`,
  );
  const head = await store.resolve(ref);
  const kept = new Earliest<{ readonly time: number; readonly id: FactId; readonly line: string }>(limit);
  const counts: { [type: string]: number } = {};
  let dull = 0;
  let timeless = 0;
  for await (const lines of store.lines(head))
    for (const { id, line } of lines) {
      const time = Date.parse(atOf(line));
      if (Number.isNaN(time)) timeless += 1;
      if (!(time >= first && time <= last)) continue;
      const type = typeOf(line);
      counts[type] = (counts[type] ?? 0) + 1;
      if (!all && DULL.has(type)) dull += 1;
      else kept.add({ time, id, line });
    }
  const total = kept.count + dull;
  if (stretch !== undefined)
    telling.claim`${[head]} ${many(total, "fact")} of ${stretch} of ${short(head)} ${total === 1 ? "is" : "are"} from that time.`;
  else if (total === 0) telling.claim`${[head]} Nothing that ${short(head)} knows of happened in that time.`;
  else
    telling.claim`${[head]} ${many(total, "fact")} of ${short(head)} ${total === 1 ? "is" : "are"} from that time.`;
  for (const { id, line } of kept.values) {
    const { fact } = await telling.reader.read(id, line);
    telling.claim`${[id]} At ${fact.at}, ${fact.by} ${telling.deed(fact)}.`;
  }
  telling.left(kept.more, "more fact", `of that time ${kept.more === 1 ? "is" : "are"} not told here.`);
  telling.left(dull, "fact", `of bookkeeping ${dull === 1 ? "is" : "are"} counted and not told.`);
  telling.left(timeless, "fact", `${timeless === 1 ? "tells" : "tell"} no time that can be read.`);
  telling.gap`Times are what the writers' clocks said; ids prove the order of facts, not the hour.`;
  return telling.done({ counts, total });
}

/** A day is meant with all its hours. */
function dayEnd(given: string, time: number): number {
  return /^\d{4}-\d\d-\d\d$/.test(given.trim()) ? time + 86_400_000 - 1 : time;
}

const AT = /"fact":\{"type":"[^"\\]*","at":"([^"\\]*)"/;

/** When a line's fact happened, as it says. */
function atOf(line: string): string {
  const [, at] = AT.exec(line) ?? [];
  // Content may look like the beginning of a fact, but not before the fact itself.
  return at ?? (JSON.parse(line) as { readonly fact: { readonly at: string } }).fact.at;
}
