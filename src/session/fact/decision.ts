import type { Json } from "../json.js";
import { fact } from "./family.js";
import { typed } from "./field.js";
import type { FactId, Principal } from "./value.js";
import type { Writer } from "./writer.js";

/** Decisions and findings, with the principal who made them. */
export const decision = {
  /** People are asked whether something may be done. */
  "approval-ask": fact({
    by: "runtime",
    fields: {
      what: "content json",
      digest: "digest",
      of: "id?",
      expires: "text?",
      /** The principals who may answer; anybody when it is absent. */
      to: typed<readonly Principal[]>()("json?"),
      /** How the question is called, where it is not about a call. */
      name: "text?",
      /** The rule that wants it, why, and how often others were asked for it before. */
      rule: "text?",
      why: "content text?",
      level: "number?",
      /** The person who replaced the arguments, and the original arguments. */
      edited: typed<{ readonly by: Principal; readonly was: Json }>()("personal json?"),
      /** No other arguments can be put in place of these. */
      fixed: typed<true>()("flag?"),
      /** It is a question, to be answered with something that fits this JSON schema. */
      answer: "content json?",
      /** Why it is asked once more: what was answered cannot be used. */
      problem: "content text?",
      /** The number of the execution, if the call was started before and may have happened. */
      execution: "number?",
    },
    say: ({ what, name, to, execution }, { words, quote }) =>
      `asked ${to === undefined ? "anybody" : words(listText(to))} to approve ${execution === undefined ? "" : `execution ${execution} of `}${name === undefined ? "" : `${words(name)} `}${quote(what)}`,
    trace: ["name", "rule", "level", "expires"],
  }),
  /** A person answers. */
  "approval-give": fact({
    by: "must say",
    fields: {
      of: "id",
      decision: "decision",
      digest: "digest",
      why: "personal text?",
      /** Approves this in place of the arguments that were shown. */
      edit: "personal json?",
      /** The outcome given by the person who took over. */
      value: "personal json?",
      /**
       * A standing approval: it also covers later calls of the same session, "arguments" the same call, "tool" every call of the
       * tool.
       */
      always: typed<"arguments" | "tool">()("text?"),
    },
    say: ({ of, decision, edit, value, always, why: reason }, { named, words, why }) =>
      `${DECIDED[decision] ?? words(decision)} ${named(of)}${edit === undefined ? "" : `, but with ${words(edit)}`}${value === undefined ? "" : ` and returned ${words(value)}`}${always === undefined ? "" : `, always for this ${always === "arguments" ? "call" : words(always)} in this session`}${why(reason)}`,
    tone: ({ decision }) => (decision === "reject" ? "bad" : "good"),
    trace: ["decision", "always"],
  }),
  /** A call relies on a standing approval. */
  "approval-use": fact({
    by: "runtime",
    fields: {
      of: "id",
      /** The `approval-give` that gave it, and the person who did. */
      approval: "id",
      from: "principal",
      /** The digest of the call as it would have been shown, the rule that it satisfies, and the principals who would have been asked. */
      digest: "digest",
      rule: "text?",
      to: typed<readonly Principal[]>()("json?"),
    },
    say: ({ of, approval, from }, { named, words }) =>
      `relied on the standing approval ${named(approval)} of ${words(from)} for ${named(of)}`,
    tone: () => "good",
    trace: ["rule"],
  }),
  /** A module is under a policy. */
  "policy-set": fact({
    by: "runtime",
    fields: { module: "text", policy: "text", version: "digest" },
    say: ({ module, policy }, { words }) => `put ${words(module)} under the policy ${words(policy)}`,
    quiet: true,
  }),
  /** The decision of the policies about a call. */
  "policy-decide": fact({
    by: "runtime",
    fields: {
      of: "id",
      verdict: "verdict",
      policies: "json",
      rules: typed<readonly string[]>()("json"),
      /** On whose behalf it would be done. */
      for: typed<readonly Principal[]>()("json?"),
      /** On whose approval it may be done. */
      approvals: "json?",
      labels: "json?",
      why: "content text?",
    },
    say: ({ of, verdict, rules, why: reason }, writer) =>
      `${RULED[verdict] ?? writer.words(verdict)} ${writer.named(of)}${rulesText(rules, writer)}${writer.why(reason)}`,
    tone: ({ verdict }) => (verdict === "deny" ? "bad" : "plain"),
    trace: ["verdict", "rules"],
  }),
  /** The result of a check. */
  "validation-report": fact({
    by: "tool",
    fields: { name: "text", passed: "flag", score: "number?", detail: "content json?", of: "id?" },
    say: ({ name, passed, score, detail }, { words }) =>
      `checked ${words(name)}: ${passed ? "passed" : "failed"}${score === undefined ? "" : `, score ${roundedText(score)}`}${detail === undefined ? "" : ` (${words(detail)})`}`,
    tone: ({ passed }) => (passed ? "good" : "bad"),
  }),
  /** A gate looks for the validations that it needs. */
  "gate-check": fact({
    by: "workflow",
    fields: {
      gate: "text",
      passed: "flag",
      /** The validations that it needs, and the report that it found of each. */
      needs: typed<readonly GateNeed[]>()("json"),
    },
    say: ({ gate, passed, needs }, { words }) =>
      `${passed ? "opened" : "did not open"} the gate ${words(gate)} (${words(needsText(needs))})`,
    tone: ({ passed }) => (passed ? "good" : "bad"),
    trace: ["gate", "passed"],
  }),
};

/** A validation that a gate needs: how the newest report came out, or whether a report is missing or older than the files. */
export type GateNeed = {
  readonly name: string;
  readonly state: "passed" | "failed" | "outdated" | "missing";
  readonly of?: FactId;
};

function needsText(needs: unknown): string {
  return Array.isArray(needs) ? needs.map(({ name, state }: GateNeed) => `${name}: ${state}`).join(", ") : "";
}

const DECIDED: { readonly [decision: string]: string } = {
  approve: "approved",
  reject: "rejected",
  "take-over": "took over",
};

const RULED: { readonly [verdict: string]: string } = {
  allow: "allowed",
  ask: "required approval of",
  deny: "denied",
};

function rulesText(rules: unknown, { words }: Writer): string {
  if (!Array.isArray(rules) || rules.length === 0) return "";
  return ` by the rule${rules.length > 1 ? "s" : ""} ${words(rules.join(", "))}`;
}

/** Names in a row: "a", "a and b", "a, b and c". */
function listText(names: unknown): unknown {
  if (!Array.isArray(names) || names.length < 2) return Array.isArray(names) ? names.join("") : names;
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** A number as people read it. */
function roundedText(number: number): string {
  return String(Number.isInteger(number) ? number : Number(number.toPrecision(3)));
}
