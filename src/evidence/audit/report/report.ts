import { type FactId, typeOf } from "../../../session/index.js";
import type { Store } from "../../../store/index.js";
import { defined, nearestOf, optionNames } from "../../../util/index.js";
import { AuditError, requireOptions } from "../error.js";
import { namesIn } from "../principal.js";
import { Reader } from "../reader.js";
import { type Retention, readRetention, retentionFolder } from "../retention.js";
import { aiActRows, cfrRows, syscRows } from "./duties.js";
import { type Change, type Period, Tally } from "./tally.js";

export type Standing = "met" | "partly" | "gap" | "not applicable";

/** One duty of a law or a standard, and what the record has for it. */
export type Row = {
  /** Article and paragraph. */
  readonly duty: string;
  /** The requirement, in our own words. */
  readonly asked: string;
  readonly standing: Standing;
  readonly evidence: readonly Evidence[];
  readonly explanation: string;
};

/** The number of some facts, with the first and the last of them. */
export type Evidence = {
  readonly what: string;
  readonly count: number;
  readonly first?: FactId;
  readonly last?: FactId;
};

/** A map from a record to the duties of a law or a standard. */
export type AuditReport = {
  readonly profile: Profile;
  readonly title: string;
  readonly at: string;
  readonly sessions: readonly { readonly name: string; readonly head: FactId; readonly facts: number }[];
  readonly facts: number;
  readonly oldest?: string;
  readonly newest?: string;
  readonly rows: readonly Row[];
  /** When the system was in use: the first 200. */
  readonly periods: readonly Period[];
  /** Changes of the system: the first 200. */
  readonly changes: readonly Change[];
  readonly retention?: Retention;
  /** Notices for the reader. */
  readonly notices: readonly string[];
};

export type Profile = "eu-ai-act" | "sysc-9.1" | "21-cfr-11";
export const PROFILES: readonly Profile[] = ["eu-ai-act", "sysc-9.1", "21-cfr-11"];

export type ReportOptions = {
  /** Which law or standard. Default: the EU AI Act. */
  readonly profile?: Profile;
  /** The system identifies people from a distance by their bodies (Annex III, 1(a)): then Article 12(3) holds for it. */
  readonly biometric?: boolean;
  readonly now?: number;
  readonly progress?: (facts: number) => void;
};

/** The input of the rows. */
export type Material = {
  readonly tally: Tally;
  readonly retention?: Retention;
  readonly erasures: readonly {
    readonly digest: string;
    readonly fact: FactId;
    readonly at: string;
    readonly why: string;
  }[];
  readonly biometric: boolean;
  readonly now: number;
};

const LISTED = 200;

const KNOWN = optionNames<ReportOptions>()("profile biometric now progress");

/** Maps the record of some sessions, or of a whole store, to the duties of the EU AI Act about logs, or of another profile. */
export async function actReport(
  store: Store,
  names?: readonly string[],
  options: ReportOptions = {},
): Promise<AuditReport> {
  requireOptions(options, KNOWN, "make a report");
  const { profile = "eu-ai-act", biometric = false, now = Date.now(), progress } = options;
  const titled = TITLES[profile];
  if (titled === undefined || !PROFILES.includes(profile)) throw unknownProfile(String(profile));
  const tally = new Tally();
  const reader = new Reader(store);
  const seen: FactId[] = [];
  const sessions: { name: string; head: FactId; facts: number }[] = [];
  for (const { name, id } of await namesIn(store, names)) {
    const before = tally.all.count;
    for await (const lines of store.lines(id, { without: seen })) {
      for (const { id: fact, line } of lines)
        tally.add(fact, line, tally.reads(typeOf(line)) ? (await reader.read(fact, line)).fact : undefined);
      progress?.(tally.all.count);
    }
    seen.push(id);
    sessions.push({ name, head: id, facts: tally.all.count - before });
  }
  const folder = retentionFolder(store);
  const retention = folder === undefined ? undefined : await readRetention(folder);
  const erasures = await store.erasures();
  const material: Material = { tally, erasures, biometric, now, ...defined({ retention }) };
  return {
    profile,
    title: titled.title,
    at: new Date(now).toISOString(),
    sessions,
    facts: tally.all.count,
    ...defined({ oldest: tally.oldest?.at, newest: tally.newest?.at }),
    rows: titled.rows(material),
    periods: tally.periods.slice(0, LISTED),
    changes: tally.changes,
    ...defined({ retention }),
    notices: [...titled.notices, ...NOTICES],
  };
}

const NOTICES = [
  "This is not legal advice. It says what the record holds; whether that is enough is for people who know the law and the case.",
  "Times and names are claims of the writer of a line. An id proves that they were not changed since.",
  "Sessions that were forgotten and collected leave no trace here: keep the ids of heads elsewhere, or sign them.",
];

const TITLES: {
  readonly [profile in Profile]: {
    readonly title: string;
    readonly rows: (material: Material) => readonly Row[];
    readonly notices: readonly string[];
  };
} = {
  "eu-ai-act": {
    title: "Record-keeping under Regulation (EU) 2024/1689 (AI Act)",
    rows: aiActRows,
    notices: [
      "Articles 12, 19 and 26 bind high-risk systems. As amended by Regulation (EU) 2026/1744 they apply to systems of Annex III from 2 December 2027 and to those of Annex I from 2 August 2028; the transparency duties of Article 50 have applied since 2 August 2026.",
      "Article 12 asks for logs, not for proof against changes. That lines cannot be changed unseen is more than it asks, and helps where evidence is weighed.",
    ],
  },
  "sysc-9.1": {
    title: "Record-keeping under SYSC 9.1 of the FCA Handbook",
    rows: syscRows,
    notices: ["SYSC 9.1 binds firms under the rules of the FCA; periods for other business may differ."],
  },
  "21-cfr-11": {
    title: "Audit trails under 21 CFR 11.10(e)",
    rows: cfrRows,
    notices: ["21 CFR Part 11 binds electronic records that FDA rules require."],
  },
};

function unknownProfile(given: string): AuditError {
  const near = nearestOf(given, PROFILES);
  return new AuditError(
    "question-refused",
    `There is no profile ${JSON.stringify(given.slice(0, 80))}.`,
    near === undefined ? `the profiles are ${PROFILES.join(", ")}` : `did you mean ${near}?`,
    { profile: given.slice(0, 80) },
  );
}
