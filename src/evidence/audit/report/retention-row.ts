import { many } from "../words.js";
import type { Evidence, Material, Row, Standing } from "./report.js";

/** The longest six months of a calendar, from March to September, and the longest five years. */
export const SIX_MONTHS = 184;
export const FIVE_YEARS = 1_827;
const DAY = 86_400_000;

/** Whether logs stay for so many days: what the floor of the store says, and what was erased in spite of it. */
export function retentionRow(
  { retention, erasures, tally, now }: Material,
  days: number,
  words: string,
): Omit<Row, "duty" | "asked"> {
  const floor = retention?.days ?? 0;
  const oldest = tally.oldest;
  const age = oldest === undefined ? 0 : Math.floor((now - Date.parse(oldest.at)) / DAY);
  const recent = erasures.filter(({ at }) => now - Date.parse(at) < days * DAY);
  const early = recent.filter(({ why }) => /\(before \d{4}-.*basis: /.test(why));
  const standing: Standing = tally.all.count === 0 ? "gap" : floor >= days ? "met" : "partly";
  const [first] = erasures;
  const last = erasures.at(-1);
  const evidence: readonly Evidence[] = [
    { what: "days that content must stay in this store", count: floor },
    { what: "days since the oldest fact", count: Math.max(0, age), ...(oldest && { first: oldest.fact }) },
    {
      what: "pieces of content that were erased",
      count: erasures.length,
      ...(first && { first: first.fact }),
      ...(last && { last: last.fact }),
    },
    { what: "of those, erased before the floor, with a basis", count: early.length },
  ];
  const set =
    floor >= days
      ? `The store refuses to erase content younger than ${many(floor, "day")} (${retention?.basis ?? ""}, set by ${retention?.by ?? ""} at ${retention?.at ?? ""}) unless a basis is given, which goes on the record.`
      : `${floor === 0 ? "No floor is set" : `The floor is ${many(floor, "day")}`}: content can be erased before ${words} are over. Set one: rath retention set ${days} --basis "…".`;
  return {
    standing,
    evidence,
    explanation: `${set} Lines are never erased, only content in blobs; each erasure names who, when and why. That the disk, its backups and the names of sessions stay for as long is for whoever runs it to see to.`,
  };
}
