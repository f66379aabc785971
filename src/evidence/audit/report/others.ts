import { evidence } from "./ai-act.js";
import type { Material, Row } from "./report.js";
import { FIVE_YEARS, retentionRow } from "./retention-row.js";

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
        "Each fact says what happened, when and by whom, and names the facts that it follows from.",
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
