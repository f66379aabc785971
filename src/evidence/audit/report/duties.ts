import { defined } from "../../../util/index.js";
import { row as listed, many } from "../words.js";
import type { Evidence, Material, Row, Standing } from "./report.js";
import type { Count } from "./tally.js";

/** The duties of the EU AI Act that a record can answer. */
export function aiActRows(material: Material): readonly Row[] {
  const { tally } = material;
  const imported = tally.of("record-import");
  const decided = tally.of("policy-decide");
  const checks = tally.of("validation-report");
  const watched = decided.count + checks.count > 0;
  const logs = retentionRow(material, SIX_MONTHS, "six months");
  return [
    {
      duty: "Article 12(1)",
      asked: "The system can record events by itself, for as long as it lives.",
      standing: grade(tally.automatic.count > 0, imported.count === 0),
      evidence: evidenceOf({
        "facts of all kinds": tally.all,
        "facts that the runtime stamped as they happened": tally.automatic,
        runs: tally.of("run-start"),
        "records taken in from other systems": imported,
      }),
      explanation:
        tally.automatic.count === 0
          ? "No fact of these sessions was recorded by a runtime while it ran: they were written by hand or by another program."
          : `Each fact is written before the next one can follow from it, and names the one before.${imported.count > 0 ? " Some sessions come from other systems: what those did not record is not here." : ""} What happened outside of these sessions is not here.`,
    },
    {
      duty: "Article 12(2)(a), risks",
      asked: "Events are recorded by which situations can be found in which the system may be a risk.",
      standing: grade(tally.of("run-start").count > 0, watched),
      evidence: evidenceOf({
        "failures of models, tools and steps": tally.of(
          "model-failure",
          "tool-failure",
          "step-failure",
          "effect-fail",
        ),
        "effects of which nobody knew how they ended": tally.of("effect-doubt"),
        "deeds that a policy denied": tally.denied,
        "validations that did not pass": tally.failedChecks,
        "deeds that a person rejected": tally.rejected,
        "questions that nobody answered in time": tally.expired,
        "limits that were reached": tally.of("budget-stop"),
        "runs that ended with an error or were cancelled": sum(tally.failedRuns, tally.of("run-cancel")),
        "memories that were revoked": tally.of("memory-revoke", "memory-rollback"),
      }),
      explanation: watched
        ? `Failures are recorded without anybody's doing; ${many(decided.count, "decision")} of policies and ${many(checks.count, "validation")} say what else was watched for.`
        : "Failures are recorded without anybody's doing, but no policy and no validation was in force: a risk without a failure would not stand out. Set a policy, or validate results.",
    },
    {
      duty: "Article 12(2)(a), modifications",
      asked: "Events are recorded by which a substantial modification of the system can be found.",
      standing: tally.subjects === 0 ? "gap" : "met",
      evidence: evidenceOf({
        "configurations of agents": tally.of("agent-configure"),
        "policies put in force": tally.of("policy-set"),
        "programs, models, configurations and policies that were told apart by digest": {
          count: tally.subjects,
        },
        "changes of one of them": {
          count: tally.modifications,
          ...defined({ first: tally.changes[0]?.fact, last: tally.changes.at(-1)?.fact }),
        },
      }),
      explanation:
        tally.subjects === 0
          ? "No run says which program, model, tools or policies it was made with."
          : `Each run names the digest of its program, each agent its model, instructions and tools, each decision the version of its policy.${tally.modifications === 0 ? " None of them changed." : " The changes are listed below; which of them is substantial is for people to say."} A provider that changes a model under the same name cannot be seen from here.`,
    },
    {
      duty: "Article 12(2)(b)",
      asked: "The logs help to watch the system after it was put on the market (Article 72).",
      standing: grade(tally.automatic.count > 0, checks.count > 0),
      evidence: evidenceOf({
        "calls of models": tally.of("model-call"),
        "replies, with tokens and cost": tally.of("model-reply"),
        "calls of tools and steps": tally.of("tool-call", "step-call"),
        validations: checks,
        "validations that did not pass": tally.failedChecks,
      }),
      explanation:
        checks.count > 0
          ? "How often it was used, what it cost and how often its results passed can be counted from the record."
          : "How often it was used and what it cost can be counted; how good its results were nobody has recorded. Add validations.",
    },
    {
      duty: "Article 12(2)(c) and 26(5)",
      asked: "The logs let deployers watch how the system works while it is used.",
      standing: tally.runs === 0 ? "gap" : "met",
      evidence: evidenceOf({
        "runs begun": tally.of("run-start"),
        "runs ended": tally.of("run-end"),
        "runs that waited for somebody": tally.of("run-suspend"),
        "questions to people": tally.of("approval-ask"),
        "commands in sandboxes": tally.of("command-run"),
        "changes to files": tally.of("workspace-change"),
      }),
      explanation:
        tally.runs === 0
          ? "There is no run in these sessions."
          : `Every run, call, change and question can be followed as it happens.${still(tally.openRuns.length, "not ended")}`,
    },
    ...usesOfBiometrics(material),
    {
      ...logs,
      duty: "Article 19(1)",
      asked:
        "Providers keep the logs that a system made by itself, as far as they are in their hands, for as long as its purpose needs and for six months at least, unless other law says otherwise.",
    },
    {
      ...logs,
      duty: "Article 26(6)",
      asked: "Deployers keep those logs, as far as they are in their hands, for six months at least.",
    },
  ];
}

/** Article 12(3) binds one kind of system. The evidence of the record is given in any case. */
function usesOfBiometrics({ tally, biometric }: Material): readonly Row[] {
  const open = tally.openRuns.length;
  const readings = tally.againstHead.count + tally.againstNothing.count;
  const people = [...tally.persons.keys()];
  const approved = tally.agreed.size;
  const relied = tally.relied.size;
  const rows: readonly Row[] = [
    {
      duty: "Article 12(3)(a)",
      asked: "The period of each use: the date and time at which it begins and ends.",
      standing: grade(tally.runs > 0, open === 0),
      evidence: evidenceOf({
        "beginnings of runs": tally.of("run-start"),
        "ends of runs": tally.of("run-end"),
      }),
      explanation: `The uses are the runs; they are listed below with both times.${still(open, "no end yet")}`,
    },
    {
      duty: "Article 12(3)(b)",
      asked: "The reference database against which input was checked.",
      standing: grade(readings > 0, tally.againstNothing.count === 0),
      evidence: evidenceOf({
        "readings that name the state of the memory they were made against": tally.againstHead,
        "readings that name none": tally.againstNothing,
        "files and records taken in, by digest": tally.of("workspace-import", "record-import"),
      }),
      explanation: `A reading of a memory names the space and the id at which it stood, and that id covers all that was in it. A database behind a tool is known only by what the tool says.`,
    },
    {
      duty: "Article 12(3)(c)",
      asked: "The input for which the search led to a match.",
      standing: grade(tally.inputs.count > 0, !tally.types.has("content-erase")),
      evidence: evidenceOf({
        "inputs: words, files, results of tools": tally.inputs,
        "readings of memories, with the question and what was found": tally.of("memory-read"),
        "erasures of content": tally.of("content-erase"),
      }),
      explanation: `Inputs are on the record as they were given, with digests.${tally.types.get("content-erase") === undefined ? "" : " Some content was erased since; the record says by which person and why."}`,
    },
    {
      duty: "Article 12(3)(d)",
      asked: "Who, as natural persons, took part in verifying the results (Article 14(5)).",
      standing: grade(people.length > 0, tally.unnamed.count === 0),
      evidence: evidenceOf({
        "decisions and validations of people by name": tally.named,
        "decisions of somebody without a name": tally.unnamed,
        ...Object.fromEntries(
          people.slice(0, 20).map((one) => [`of ${one}`, tally.persons.get(one) as Count]),
        ),
      }),
      explanation: `${people.length === 0 ? "No person decided about anything in these sessions." : `The people are ${listed(people.slice(0, 20))}${people.length > 20 ? ` and ${people.length - 20} more` : ""}. The record has the content that each was shown, with its digest.`}${tally.unnamed.count > 0 ? ' Some answered without a name: give one (by: "user:ada").' : ""} That a name is a person, and which one, is for the operator to ensure.`,
    },
    {
      duty: "Article 14(5)",
      asked: "Nothing is done on an identification before two people have verified it, each for themselves.",
      standing: grade(tally.twice > 0, tally.twice === approved && relied === 0),
      evidence: evidenceOf({
        "calls or questions that somebody agreed to": { count: approved },
        "those to which at least two different people agreed": { count: tally.twice },
        "uses of standing approvals, in calls that nobody was asked about": tally.uses,
        "answers that name other bytes than the question, and count for nothing": tally.astray,
      }),
      explanation: `${approved === 0 ? "Nobody agreed to anything in a way that counts." : `${tally.twice} of ${approved} have two people behind them.`}${relied === 0 ? "" : ` ${many(relied, "call")} relied on a standing approval, so nobody verified ${relied === 1 ? "it" : "them"} one by one.`} A rule can want it: approval: { from: ["user:ada", "user:bob"], need: 2 }.`,
    },
  ];
  const why =
    " It binds systems that identify people from a distance by their bodies (Annex III, 1(a)); if this is one, ask again with --biometric.";
  if (biometric) return rows;
  return rows.map((row) => ({ ...row, standing: "not applicable", explanation: row.explanation + why }));
}

function evidenceOf(counts: { readonly [what: string]: Count }): readonly Evidence[] {
  return Object.entries(counts).map(([what, { count, first, last }]) => ({
    what,
    count,
    ...defined({ first, last }),
  }));
}

/** A gap where nothing is on the record, met where it is whole. */
function grade(isThere: boolean, isWhole: boolean): Standing {
  return !isThere ? "gap" : isWhole ? "met" : "partly";
}

function still(open: number, words: string): string {
  return open === 0 ? "" : ` ${many(open, "run")} ${open === 1 ? "has" : "have"} ${words}.`;
}

function sum(one: Count, other: Count): Count {
  const [first, last] = [one.first ?? other.first, other.last ?? one.last];
  return { count: one.count + other.count, ...defined({ first, last }) };
}

/** The duties of the FCA about records. */
export function syscRows(material: Material): readonly Row[] {
  const { tally } = material;
  const runs = tally.of("run-start");
  return [
    {
      duty: "SYSC 9.1.1",
      asked:
        "Orderly records are kept of the business, enough for the regulator to see whether duties were kept.",
      standing: grade(tally.all.count > 0, tally.automatic.count > 0),
      evidence: evidenceOf({ facts: tally.all, "facts stamped by the runtime": tally.automatic }),
      explanation:
        "Each fact says what happened, when and through which author, and names the facts that it follows from.",
    },
    {
      ...retentionRow(material, FIVE_YEARS, "five years"),
      duty: "SYSC 9.1.2",
      asked: "Records of MiFID business are kept for five years at least.",
    },
    {
      duty: "SYSC 9.1 (each key stage)",
      asked:
        "Each key stage of a piece of work can be followed again; corrections and what stood before them can be seen.",
      standing: runs.count === 0 ? "gap" : "met",
      evidence: evidenceOf({
        runs: runs,
        branches: tally.of("branch-fork"),
        "merges, with what was rejected": tally.of("branch-merge"),
        "memories revised or revoked": tally.of("memory-revise", "memory-revoke"),
      }),
      explanation:
        "Nothing is written over: a correction is another fact, and the one before stays. Any step can be loaded as it was.",
    },
    unaltered(material),
  ];
}

/** The duties of the FDA about audit trails. */
export function cfrRows(material: Material): readonly Row[] {
  const { tally } = material;
  return [
    {
      duty: "21 CFR 11.10(e), trail",
      asked:
        "A secure trail, made by the computer and stamped with the time, of what operators enter and do that makes, changes or deletes records.",
      standing: grade(tally.automatic.count > 0, tally.timeless.count === 0),
      evidence: evidenceOf({
        "facts stamped by the runtime": tally.automatic,
        "decisions of people by name": tally.named,
        "decisions of somebody without a name": tally.unnamed,
        "facts whose time cannot be read": tally.timeless,
      }),
      explanation:
        "The time is that of the machine's clock; a head that was signed or published at a known time proves that its facts are at least that old.",
    },
    {
      duty: "21 CFR 11.10(e), changes",
      asked: "A change does not hide what was recorded before.",
      standing: grade(tally.all.count > 0, !tally.types.has("content-erase")),
      evidence: evidenceOf({ facts: tally.all, "erasures of content": tally.of("content-erase") }),
      explanation:
        "Facts only follow one another. The one thing that hides content is its erasure, which leaves who, when and why, and the digest of what was there.",
    },
    {
      ...retentionRow(material, FIVE_YEARS, "the years that the record itself is kept"),
      duty: "21 CFR 11.10(e), keeping",
      asked: "The trail is kept for as long as the record it is about, and can be reviewed and copied.",
    },
    unaltered(material),
  ];
}

function unaltered({ tally }: Material): Row {
  const signed = tally.of("head-sign");
  return {
    duty: "Integrity",
    asked: "Records cannot be changed without anybody noticing.",
    standing: grade(tally.all.count > 0, signed.count > 0),
    evidence: evidenceOf({ "facts, each under the SHA-256 of its line": tally.all, "signed heads": signed }),
    explanation:
      signed.count > 0
        ? "Each id covers everything before it, and heads were signed: changes, and cuts before a signed head, are found."
        : "Each id covers everything before it, so changes are found. That the newest facts were cut off shows only against a head that was signed or kept elsewhere: sign heads.",
  };
}

/** The longest six months of a calendar, from March to September, and the longest five years. */
const SIX_MONTHS = 184;
const FIVE_YEARS = 1_827;
const DAY = 86_400_000;

/** Whether logs stay for so many days: what the floor of the store says, and what was erased in spite of it. */
function retentionRow({ retention, erasures, tally, now }: Material, days: number, words: string) {
  const floor = retention?.days ?? 0;
  const oldest = tally.oldest;
  const age = oldest === undefined ? 0 : Math.floor((now - Date.parse(oldest.at)) / DAY);
  const recent = erasures.filter(({ at }) => now - Date.parse(at) < days * DAY);
  const early = recent.filter(({ why }) => /\(before \d{4}-.*basis: /.test(why));
  const evidence = evidenceOf({
    "days that content must stay in this store": { count: floor },
    "days since the oldest fact": { count: Math.max(0, age), ...(oldest && { first: oldest.fact }) },
    "pieces of content that were erased": {
      count: erasures.length,
      ...defined({ first: erasures[0]?.fact, last: erasures.at(-1)?.fact }),
    },
    "of those, erased before the floor, with a basis": { count: early.length },
  });
  const set =
    floor >= days
      ? `The store refuses to erase content younger than ${many(floor, "day")} (${retention?.basis ?? ""}, set by ${retention?.by ?? ""} at ${retention?.at ?? ""}) unless a basis is given, which goes on the record.`
      : `${floor === 0 ? "No floor is set" : `The floor is ${many(floor, "day")}`}: content can be erased before ${words} are over. Set one: rath retention set ${days} --basis "…".`;
  return {
    standing: grade(tally.all.count > 0, floor >= days),
    evidence,
    explanation: `${set} Lines are never erased, only content in blobs; each erasure names who, when and why. That the disk, its backups and the names of sessions stay for as long is for the operator to ensure.`,
  };
}
