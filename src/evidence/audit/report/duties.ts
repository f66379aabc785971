import { defined } from "../../../util/index.js";
import { row as listed, many } from "../words.js";
import type { Evidence, Material, Row, Standing } from "./report.js";
import type { Count, Tally } from "./tally.js";

/** The duties of the EU AI Act that a record can answer. */
export function aiActRows(material: Material): readonly Row[] {
  const { tally } = material;
  return [
    automatic(tally),
    risks(tally),
    modifications(tally),
    market(tally),
    operation(tally),
    ...usesOfBiometrics(material),
    {
      ...retentionRow(material, SIX_MONTHS, "six months"),
      duty: "Article 19(1)",
      asked:
        "Providers keep the logs that a system made by itself, as far as they are in their hands, for as long as its purpose needs and for six months at least, unless other law says otherwise.",
    },
    {
      ...retentionRow(material, SIX_MONTHS, "six months"),
      duty: "Article 26(6)",
      asked: "Deployers keep those logs, as far as they are in their hands, for six months at least.",
    },
  ];
}

function automatic(tally: Tally): Row {
  const imported = tally.of("record-import");
  const standing: Standing = tally.automatic.count === 0 ? "gap" : imported.count > 0 ? "partly" : "met";
  return {
    duty: "Article 12(1)",
    asked: "The system can record events by itself, for as long as it lives.",
    standing,
    evidence: [
      evidence("facts of all kinds", tally.all),
      evidence("facts that the runtime stamped as they happened", tally.automatic),
      evidence("runs", tally.of("run-start")),
      evidence("records taken in from other systems", imported),
    ],
    explanation:
      standing === "gap"
        ? "No fact of these sessions was recorded by a runtime while it ran: they were written by hand or by another program."
        : `Each fact is written before the next one can follow from it, and names the one before.${
            imported.count > 0
              ? " Some sessions come from other systems: what those did not record is not here."
              : ""
          } What happened outside of these sessions is not here.`,
  };
}

function risks(tally: Tally): Row {
  const failures = tally.of("model-failure", "tool-failure", "step-failure", "effect-fail");
  const decided = tally.of("policy-decide");
  const checks = tally.of("validation-report");
  const watched = decided.count + checks.count > 0;
  const standing: Standing = tally.of("run-start").count === 0 ? "gap" : watched ? "met" : "partly";
  return {
    duty: "Article 12(2)(a), risks",
    asked: "Events are recorded by which situations can be found in which the system may be a risk.",
    standing,
    evidence: [
      evidence("failures of models, tools and steps", failures),
      evidence("effects of which nobody knew how they ended", tally.of("effect-doubt")),
      evidence("deeds that a policy denied", tally.denied),
      evidence("validations that did not pass", tally.failedChecks),
      evidence("deeds that a person rejected", tally.rejected),
      evidence("questions that nobody answered in time", tally.expired),
      evidence("limits that were reached", tally.of("budget-stop")),
      evidence(
        "runs that ended with an error or were cancelled",
        sum(tally.failedRuns, tally.of("run-cancel")),
      ),
      evidence("memories that were revoked", tally.of("memory-revoke", "memory-rollback")),
    ],
    explanation: watched
      ? `Failures are recorded without anybody's doing; ${many(decided.count, "decision")} of policies and ${many(checks.count, "validation")} say what else was watched for.`
      : "Failures are recorded without anybody's doing, but no policy and no validation was in force: a risk without a failure would not stand out. Set a policy, or validate results.",
  };
}

function modifications(tally: Tally): Row {
  const standing: Standing = tally.subjects === 0 ? "gap" : "met";
  return {
    duty: "Article 12(2)(a), modifications",
    asked: "Events are recorded by which a substantial modification of the system can be found.",
    standing,
    evidence: [
      evidence("configurations of agents", tally.of("agent-configure")),
      evidence("policies put in force", tally.of("policy-set")),
      {
        what: "programs, models, configurations and policies that were told apart by digest",
        count: tally.subjects,
      },
      {
        what: "changes of one of them",
        count: tally.modifications,
        ...(tally.changes[0] && { first: tally.changes[0].fact }),
        ...(tally.changes.at(-1) && { last: tally.changes.at(-1)?.fact as string }),
      },
    ],
    explanation:
      standing === "gap"
        ? "No run says which program, model, tools or policies it was made with."
        : `Each run names the digest of its program, each agent its model, instructions and tools, each decision the version of its policy.${
            tally.modifications === 0
              ? " None of them changed."
              : " The changes are listed below; which of them is substantial is for people to say."
          } A provider that changes a model under the same name cannot be seen from here.`,
  };
}

function market(tally: Tally): Row {
  const checks = tally.of("validation-report");
  const standing: Standing = tally.automatic.count === 0 ? "gap" : checks.count > 0 ? "met" : "partly";
  return {
    duty: "Article 12(2)(b)",
    asked: "The logs help to watch the system after it was put on the market (Article 72).",
    standing,
    evidence: [
      evidence("calls of models", tally.of("model-call")),
      evidence("replies, with tokens and cost", tally.of("model-reply")),
      evidence("calls of tools and steps", tally.of("tool-call", "step-call")),
      evidence("validations", checks),
      evidence("validations that did not pass", tally.failedChecks),
    ],
    explanation:
      checks.count > 0
        ? "How often it was used, what it cost and how often its results passed can be counted from the record."
        : "How often it was used and what it cost can be counted; how good its results were nobody has recorded. Add validations.",
  };
}

function operation(tally: Tally): Row {
  const open = tally.openRuns.length;
  const standing: Standing = tally.runs === 0 ? "gap" : "met";
  return {
    duty: "Article 12(2)(c) and 26(5)",
    asked: "The logs let deployers watch how the system works while it is used.",
    standing,
    evidence: [
      evidence("runs begun", tally.of("run-start")),
      evidence("runs ended", tally.of("run-end")),
      evidence("runs that waited for somebody", tally.of("run-suspend")),
      evidence("questions to people", tally.of("approval-ask")),
      evidence("commands in sandboxes", tally.of("command-run")),
      evidence("changes to files", tally.of("workspace-change")),
    ],
    explanation:
      standing === "gap"
        ? "There is no run in these sessions."
        : `Every run, call, change and question can be followed as it happens.${open > 0 ? ` ${many(open, "run")} ${open === 1 ? "has" : "have"} not ended.` : ""}`,
  };
}

/** Article 12(3) binds one kind of system. What the record would have for it is told in any case. */
function usesOfBiometrics({ tally, biometric }: Material): readonly Row[] {
  const only = (standing: Standing): Standing => (biometric ? standing : "not applicable");
  const because = biometric
    ? ""
    : " It binds systems that identify people from a distance by their bodies (Annex III, 1(a)); if this is one, ask again with --biometric.";
  const open = tally.openRuns.length;
  const readings = tally.againstHead.count + tally.againstNothing.count;
  const people = [...tally.persons.keys()];
  const approved = tally.agreed.size;
  return [
    {
      duty: "Article 12(3)(a)",
      asked: "The period of each use: the date and time at which it begins and ends.",
      standing: only(tally.runs === 0 ? "gap" : open > 0 ? "partly" : "met"),
      evidence: [
        evidence("beginnings of runs", tally.of("run-start")),
        evidence("ends of runs", tally.of("run-end")),
      ],
      explanation: `The uses are the runs; they are listed below with both times.${open > 0 ? ` ${many(open, "run")} ${open === 1 ? "has" : "have"} no end yet.` : ""}${because}`,
    },
    {
      duty: "Article 12(3)(b)",
      asked: "The reference database against which input was checked.",
      standing: only(readings === 0 ? "gap" : tally.againstNothing.count > 0 ? "partly" : "met"),
      evidence: [
        evidence("readings that name the state of the memory they were made against", tally.againstHead),
        evidence("readings that name none", tally.againstNothing),
        evidence("files and records taken in, by digest", tally.of("workspace-import", "record-import")),
      ],
      explanation: `A reading of a memory names the space and the id at which it stood, and that id covers all that was in it. A database behind a tool is known only by what the tool says.${because}`,
    },
    {
      duty: "Article 12(3)(c)",
      asked: "The input for which the search led to a match.",
      standing: only(
        tally.inputs.count === 0 ? "gap" : tally.types.get("content-erase") === undefined ? "met" : "partly",
      ),
      evidence: [
        evidence("inputs: words, files, results of tools", tally.inputs),
        evidence("readings of memories, with the question and what was found", tally.of("memory-read")),
        evidence("erasures of content", tally.of("content-erase")),
      ],
      explanation: `Inputs are on the record as they were given, with digests.${tally.types.get("content-erase") === undefined ? "" : " Some content was erased since; the record says by which person and why."}${because}`,
    },
    {
      duty: "Article 12(3)(d)",
      asked: "Who, as natural persons, took part in verifying the results (Article 14(5)).",
      standing: only(people.length === 0 ? "gap" : tally.unnamed.count > 0 ? "partly" : "met"),
      evidence: [
        evidence("decisions and validations of people by name", tally.named),
        evidence("decisions of somebody without a name", tally.unnamed),
        ...people.slice(0, 20).map((one): Evidence => evidence(`of ${one}`, tally.persons.get(one) as Count)),
      ],
      explanation: `${people.length === 0 ? "No person decided about anything in these sessions." : `The people are ${listed(people.slice(0, 20))}${people.length > 20 ? ` and ${people.length - 20} more` : ""}. The record has the content that each was shown, with its digest.`}${tally.unnamed.count > 0 ? ' Some answered without a name: give one (by: "user:ada").' : ""} That a name is a person, and which one, is for the operator to ensure.${because}`,
    },
    {
      duty: "Article 14(5)",
      asked: "Nothing is done on an identification before two people have verified it, each for themselves.",
      standing: only(
        approved === 0 ? "gap" : tally.twice === approved ? "met" : tally.twice > 0 ? "partly" : "gap",
      ),
      evidence: [
        { what: "calls or questions that somebody agreed to", count: approved },
        { what: "those to which at least two different people agreed", count: tally.twice },
        evidence("answers that name other bytes than the question, and count for nothing", tally.astray),
      ],
      explanation: `${approved === 0 ? "Nobody agreed to anything in a way that counts." : `${tally.twice} of ${approved} have two people behind them.`} A rule can want it: approval: { from: ["user:ada", "user:bob"], need: 2 }.${because}`,
    },
  ];
}

export function evidence(what: string, { count, first, last }: Count): Evidence {
  return { what, count, ...defined({ first, last }) };
}

function sum(one: Count, other: Count): Count {
  const first = one.first ?? other.first;
  const last = other.last ?? one.last;
  return {
    count: one.count + other.count,
    ...defined({ first, last }),
  };
}

/** What the FCA asks of records. */
export function syscRows(material: Material): readonly Row[] {
  const { tally } = material;
  const runs = tally.of("run-start");
  return [
    {
      duty: "SYSC 9.1.1",
      asked:
        "Orderly records are kept of the business, enough for the regulator to see whether duties were kept.",
      standing: tally.all.count === 0 ? "gap" : tally.automatic.count > 0 ? "met" : "partly",
      evidence: [evidence("facts", tally.all), evidence("facts stamped by the runtime", tally.automatic)],
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
      evidence: [
        evidence("runs", runs),
        evidence("branches", tally.of("branch-fork")),
        evidence("merges, with what was rejected", tally.of("branch-merge")),
        evidence("memories revised or revoked", tally.of("memory-revise", "memory-revoke")),
      ],
      explanation:
        "Nothing is written over: a correction is another fact, and the one before stays. Any step can be loaded as it was.",
    },
    unaltered(material),
  ];
}

/** What the FDA asks of audit trails. */
export function cfrRows(material: Material): readonly Row[] {
  const { tally } = material;
  return [
    {
      duty: "21 CFR 11.10(e), trail",
      asked:
        "A secure trail, made by the computer and stamped with the time, of what operators enter and do that makes, changes or deletes records.",
      standing: tally.automatic.count === 0 ? "gap" : tally.timeless.count > 0 ? "partly" : "met",
      evidence: [
        evidence("facts stamped by the runtime", tally.automatic),
        evidence("decisions of people by name", tally.named),
        evidence("decisions of somebody without a name", tally.unnamed),
        evidence("facts whose time cannot be read", tally.timeless),
      ],
      explanation:
        "The time is that of the machine's clock; a head that was signed or published at a known time proves that its facts are at least that old.",
    },
    {
      duty: "21 CFR 11.10(e), changes",
      asked: "A change does not hide what was recorded before.",
      standing:
        tally.all.count === 0 ? "gap" : tally.types.get("content-erase") === undefined ? "met" : "partly",
      evidence: [evidence("facts", tally.all), evidence("erasures of content", tally.of("content-erase"))],
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
    standing: tally.all.count === 0 ? "gap" : signed.count > 0 ? "met" : "partly",
    evidence: [
      evidence("facts, each under the SHA-256 of its line", tally.all),
      evidence("signed heads", signed),
    ],
    explanation:
      signed.count > 0
        ? "Each id covers everything before it, and heads were signed: changes, and cuts before a signed head, are found."
        : "Each id covers everything before it, so changes are found. That the newest facts were cut off shows only against a head that was signed or kept elsewhere: sign heads.",
  };
}

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
    explanation: `${set} Lines are never erased, only content in blobs; each erasure names who, when and why. That the disk, its backups and the names of sessions stay for as long is for the operator to ensure.`,
  };
}
