import { brief } from "../../memory/answer/index.js";
import { type Erased, remainsOf, UNREACHABLE } from "./erasure.js";
import type { Found } from "./find.js";
import type { Retention } from "./retention.js";
import { many, row, short } from "./words.js";

/** So many places of each kind are told one by one. */
const TOLD = 20;

/** The findings for people: content that can be erased, content that cannot and why, and until when a floor holds it. */
export function foundText(
  found: Found,
  floor?: { readonly until: string; readonly held: number; readonly retention: Retention },
): string {
  const { erasable, read, gone } = found;
  const bytes = erasable.reduce((sum, { size }) => sum + size, 0);
  const lines = [
    `Looked through ${many(read.facts, "fact")} of ${many(read.sessions, "session")} and ${many(read.blobs, "piece")} of content in blobs.`,
    erasable.length === 0
      ? "Nothing was found that can be erased."
      : `${many(erasable.length, "piece")} of content can be erased, ${many(bytes, "byte")}:`,
  ];
  for (const { digest, size, where, types, sessions, newest, salted } of erasable.slice(0, TOLD))
    lines.push(
      `  ${short(digest)}  ${many(size, "byte")}  ${brief(where)} of ${row(types.map((type) => brief(type)))} in ${sessions.length === 0 ? "no session that has a name" : brief(row(sessions), 300)}, last at ${brief(newest)}${salted ? "" : ", not salted"}`,
    );
  if (erasable.length > TOLD) lines.push(`  … and ${erasable.length - TOLD} more`);
  if (gone > 0) lines.push(`${many(gone, "piece")} of it ${gone === 1 ? "was" : "were"} erased before.`);
  if (erasable.some(({ salted }) => !salted))
    lines.push(
      "Content that is not salted disappears from every session with the same bytes, and a correct guess can be confirmed by its digest.",
    );
  lines.push(...runLines(found.runs, "may no longer be resumed"), ...leftLines(found));
  if (floor !== undefined)
    lines.push(
      `A retention floor of ${many(floor.retention.days, "day")} (${brief(floor.retention.basis)}) holds ${floor.held} of it, the last until ${floor.until}: it is refused without --basis.`,
    );
  return `${lines.join("\n")}\n`;
}

/** The erased content and the rest, for people. */
export function erasedText({
  erased,
  overridden,
  left,
  refusals,
  unsaid,
  indexes,
  runs,
  check,
}: Erased): string {
  const facts = [...new Set(erased.map(({ fact }) => fact))];
  const bytes = erased.reduce((sum, { size }) => sum + size, 0);
  const lines = [
    erased.length === 0
      ? "Nothing was erased."
      : `Erased ${many(erased.length, "piece")} of content, ${many(bytes, "byte")}; the record says so in ${row(facts.slice(0, TOLD).map(short))}${facts.length > TOLD ? ` and ${facts.length - TOLD} more` : ""}.`,
  ];
  if (erased.length > 0)
    lines.push(
      `Sessions that lost it: ${brief(row([...new Set(erased.flatMap(({ sessions }) => sessions))]), 400)}.`,
      ...runLines(runs, "may not be resumed now"),
    );
  for (const { session, why } of refusals)
    lines.push(`From ${brief(session)} nothing could be erased now: ${brief(why, 300)} Try again later.`);
  if (unsaid.length > 0)
    lines.push(
      `Somebody is at work on ${brief(row(unsaid), 400)}: the content is gone from there too, but an export of it alone cannot prove that it was erased.`,
    );
  if (overridden !== undefined)
    lines.push(
      `A retention floor held some of it until ${overridden.until}; the basis is on the record: ${brief(overridden.basis)}.`,
    );
  if (indexes !== undefined)
    lines.push(
      `The search indexes of memories in ${brief(indexes, 400)} were removed; they are made again when they are needed.`,
    );
  lines.push(...leftLines(left));
  if (remainsOf({ left, refusals })) lines.push("Some of it remains in this store.");
  lines.push(
    check.findings.length === 0
      ? `The store verifies: ${many(check.facts, "fact")}, ${many(check.blobs, "blob")}, ${many(check.erased, "erasure")}, nothing is broken.`
      : `The store does NOT verify: ${row(check.findings.slice(0, 5).map(({ place, problem }) => `${brief(place)}: ${brief(problem)}`))}.`,
    "Out of reach of this store, and to be seen to by hand:",
    ...UNREACHABLE.map((one) => `  ${one}`),
  );
  return `${lines.join("\n")}\n`;
}

/** Content that cannot be erased, and why. */
function leftLines({ fixed, more, names, files, unsearched }: Erased["left"]): readonly string[] {
  const content = fixed.filter(({ kind }) => kind === "content");
  const structure = fixed.filter(({ kind }) => kind === "structure");
  const lines: string[] = [];
  if (content.length > 0) {
    lines.push(
      `${many(content.length, "place")} cannot be erased: the content is short and stands in the line itself, whose hash covers it.`,
      ...placesText(content),
      "  Messages of people and memories are erasable by default (except in records of version 0.1); replies of models and outputs of tools are not.",
      "  To keep all content erasable, start sessions with inline 0: rath.start(text, { inline: 0 }).",
      "  To get rid of it, forget the sessions and collect them: rath gc. Their whole record goes then.",
    );
  }
  if (structure.length > 0)
    lines.push(
      `${many(structure.length, "place")} cannot be erased: names of people, branches, agents and tools are part of the chain.`,
      ...placesText(structure),
      "  Use names there that only you can tell whose they are: user:u-41.",
    );
  if (more > 0)
    lines.push(
      `${many(more, "more place")} of these kinds ${more === 1 ? "is" : "are"} counted and not listed.`,
    );
  if (names.length > 0) lines.push(`Names of sessions that say it: ${brief(row(names), 400)}.`);
  if (files.length > 0) lines.push(`Names of files that say it, and stay: ${brief(row(files), 400)}.`);
  if (unsearched.facts + unsearched.blobs > 0)
    lines.push(
      `${many(unsearched.facts, "fact")} and ${many(unsearched.blobs, "blob")} that no name leads to were not searched: rath gc removes them, blobs a day after they came.`,
    );
  return lines;
}

/** Runs that need it: the cost of the erasure. */
function runLines({ open, ended }: Found["runs"], fate: string): readonly string[] {
  const lines: string[] = [];
  if (open.length > 0)
    lines.push(
      `${many(open.length, "run")} that ${open.length === 1 ? "has" : "have"} not ended ${open.length === 1 ? "builds" : "build"} on it and ${fate}: ${brief(row(open), 400)}.`,
    );
  if (ended > 0)
    lines.push(
      `${many(ended, "run")} that ended ${ended === 1 ? "builds" : "build"} on it: a replay that needs it stops.`,
    );
  return lines;
}

function placesText(places: Found["fixed"]): readonly string[] {
  const lines = places.slice(0, TOLD).map(({ fact, type, field, session, at }) => {
    return `  ${short(fact)}  ${brief(field)} of ${brief(type)} in ${brief(session)} at ${brief(at)}`;
  });
  return places.length > TOLD ? [...lines, `  … and ${places.length - TOLD} more`] : lines;
}
