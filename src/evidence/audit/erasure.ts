import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { derivedFolderOf } from "../../memory/index.js";
import { type FactId, isPrincipal, type Principal, RathError, type Session } from "../../session/index.js";
import { type Checked, isKeptByRuntime, type Store } from "../../store/index.js";
import { firstLine, optionNames } from "../../util/index.js";
import { AuditError, requireOptions } from "./error.js";
import type { Erasable, Found } from "./find.js";
import { heldUntil, type Retention, readRetention, retentionFolder } from "./retention.js";
import { Needle } from "./search.js";
import { many } from "./words.js";

export type EraseContentOptions = {
  readonly why: string;
  readonly by: Principal;
  /** On which basis content goes that a retention floor still holds. It goes on the record with the reason. */
  readonly basis?: string;
  /** The words of the search, so that the reason does not put them on the record again. */
  readonly about?: string;
  /** The floor. Default: what stands in the folder of the store. */
  readonly retention?: Retention;
  readonly now?: number;
};

/** The erased content, and the rest. */
export type Erased = {
  readonly erased: readonly (Pick<Erasable, "digest" | "size" | "salted" | "where" | "sessions"> & {
    /** The session that the record of it stands in; `sessions` are all that lost it. */
    readonly session: string;
    /** The `content-erase` that says so. */
    readonly fact: FactId;
  })[];
  /** Content that was erased although a floor held it, until when, and on which basis. */
  readonly overridden?: { readonly until: string; readonly basis: string };
  readonly left: Pick<Found, "fixed" | "more" | "names" | "files" | "unsearched">;
  /** Runs that built on it. */
  readonly runs: Found["runs"];
  /** Sessions that nothing could be erased from now, and why. */
  readonly refusals: readonly { readonly session: string; readonly why: string }[];
  /** Sessions that lost it and whose own record could not say so now, since somebody is at work on them. */
  readonly unsaid: readonly string[];
  /** The folder of search indexes that were removed, since memories were among it; they are made again when they are needed. */
  readonly indexes?: string;
  readonly check: Checked;
};

/** Whether content that was to be erased is there still, or in blobs that were not searched, or somebody at work keeps it for now. */
export function remainsOf({ left, refusals }: Pick<Erased, "left" | "refusals">): boolean {
  const { fixed, more, names, files, unsearched } = left;
  // A run that waited leaves a fact that no name leads to; words of people are in blobs.
  const counts = [fixed.length, more, names.length, files.length, refusals.length, unsearched.blobs];
  return counts.some((count) => count > 0);
}

/** Copies that no store can reach. */
export const UNREACHABLE: readonly string[] = [
  "exports, bundles and dossiers that were handed out before",
  "backups, and other stores that this one was synchronised with",
  "what model providers and tools were sent, and keep themselves",
];

/** Until when a floor holds some of what was found; undefined when all of it may go. */
export async function floorOf(
  store: Store,
  erasable: readonly Erasable[],
  { retention, now = Date.now() }: Pick<EraseContentOptions, "retention" | "now"> = {},
): Promise<{ readonly until: string; readonly held: number; readonly retention: Retention } | undefined> {
  const folder = retentionFolder(store);
  const floor = retention ?? (folder === undefined ? undefined : await readRetention(folder));
  const ends = erasable.flatMap(({ newest }) => heldUntil(floor, newest, now) ?? []).sort();
  const until = ends.at(-1);
  return floor === undefined || until === undefined
    ? undefined
    : { until, held: ends.length, retention: floor };
}

const KNOWN = optionNames<EraseContentOptions>()("why by basis about retention now");

/** Erases blobs session by session, each with a fact (who, when, why), then checks the whole store. */
export async function eraseContent(
  store: Store,
  found: Found,
  options: EraseContentOptions,
): Promise<Erased> {
  requireOptions(options, KNOWN, "erase content");
  const { by, basis } = options;
  const why = reasonOf(options);
  if (!isPrincipal(by)) throw refused("nobody says who erases it", "say who: --as user:ada");
  const nameless = found.erasable.filter(({ sessions }) => sessions.length === 0);
  if (nameless.length > 0)
    throw refused(
      `no name leads to ${many(nameless.length, "piece")} of it, and the record of the erasure would be lost with them`,
      "remove what no name leads to: rath gc; or give it a name first: store.point(name, id)",
    );
  const held = await floorOf(store, found.erasable, options);
  if (held !== undefined && (basis === undefined || basis.trim() === "")) throw tooEarly(held);
  const reason =
    held === undefined
      ? why
      : `${why} (before ${held.until}, until when the retention floor of ${held.retention.days} days holds it; basis: ${basis})`;
  const erased: Erased["erased"][number][] = [];
  const refusals: { readonly session: string; readonly why: string }[] = [];
  // Through the first of its sessions alone: one that refuses must not lose it by way of another.
  for (const session of new Set(found.erasable.flatMap(({ sessions }) => sessions.slice(0, 1)))) {
    const mine = found.erasable.filter(({ sessions }) => sessions[0] === session);
    let told: Session;
    try {
      told = await store.erase(session, { digests: mine.map(({ digest }) => digest), why: reason, by });
    } catch (error) {
      // Somebody may be at work on one of them: the others are erased, and it is said.
      if (!(error instanceof RathError)) throw error;
      refusals.push({ session, why: firstLine(error.message) });
      continue;
    }
    for (const { digest, size, salted, where, sessions } of mine)
      erased.push({ digest, size, salted, where, sessions, session, fact: told.id });
  }
  const unsaid = await tellOthers(store, erased, { why: reason, by });
  const remembered = found.erasable.some(({ types }) => types.some((type) => type.startsWith("memory-")));
  const indexes = erased.length > 0 && remembered ? await withoutIndexes(store) : undefined;
  const { fixed, more, names, files, unsearched, runs } = found;
  return {
    erased,
    ...(held !== undefined && basis !== undefined && { overridden: { until: held.until, basis } }),
    left: { fixed, more, names, files, unsearched },
    runs,
    refusals,
    unsaid,
    ...(indexes !== undefined && { indexes }),
    check: await store.check(),
  };
}

/** Puts the erasure on the record of every other session that lost it: the export of one must prove it without the others. */
async function tellOthers(
  store: Store,
  erased: Erased["erased"],
  said: { readonly why: string; readonly by: Principal },
): Promise<readonly string[]> {
  const unsaid: string[] = [];
  const others = erased.flatMap(({ session, sessions }) => sessions.filter((one) => one !== session));
  for (const other of new Set(others.filter((name) => !isKeptByRuntime(name)))) {
    const lost = erased.filter(({ session, sessions }) => session !== other && sessions.includes(other));
    try {
      await store.erase(other, { digests: lost.map(({ digest }) => digest), ...said });
    } catch (error) {
      if (!(error instanceof RathError)) throw error;
      unsaid.push(other);
    }
  }
  return unsaid;
}

/** Removes what was derived from memories: the texts are in it, too. */
async function withoutIndexes(store: Store): Promise<string | undefined> {
  const folder = derivedFolderOf(store);
  if (folder === undefined || !existsSync(folder)) return undefined;
  // Indexes bring a good deal along, and are seldom open here.
  const { closeIndexes } = await import("../../memory/index.js");
  await closeIndexes(store);
  await rm(folder, { recursive: true, force: true });
  return folder;
}

function reasonOf({ why, basis, about }: EraseContentOptions): string {
  if (typeof why !== "string" || why.trim() === "")
    throw refused("nobody says why", 'say why: --why "request of 3 May, reference 41"');
  if (about !== undefined && new Needle(about).isIn(`${why} ${basis ?? ""}`))
    throw refused(
      "the reason says what is to be erased, and reasons stay on the record",
      'give a reference instead: --why "request of 3 May, reference 41"',
    );
  return why;
}

function tooEarly({
  until,
  held,
  retention,
}: {
  until: string;
  held: number;
  retention: Retention;
}): AuditError {
  return new AuditError(
    "retention-floor",
    `Cannot erase it: ${many(held, "piece")} of content must stay, the last until ${until} (${retention.days} days, basis: ${retention.basis}).`,
    'wait until then, or give the basis that goes before: --basis "GDPR, Article 17(1)(d), reference 41"; it goes on the record',
    { until, held, days: retention.days },
  );
}

function refused(reason: string, hint: string): AuditError {
  return new AuditError("erase-refused", `Cannot erase anything: ${reason}.`, hint);
}
