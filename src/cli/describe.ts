import type { Fact, FactOf } from "../session/index.js";
import { brief, count } from "./text.js";

/** A fact in a few words, for a row of the log. */
export function describe(fact: Fact, most = 80): string {
  const words = wordsOf(fact, most);
  return words === "" ? fact.type : `${fact.type} · ${words}`;
}

/** Bookkeeping of the runtime: true and proved, and seldom what somebody looks for. */
export function isDull({ type }: Fact): boolean {
  return DULL.has(type);
}

const DULL: ReadonlySet<string> = new Set([
  "agent-configure",
  "module-enter",
  "module-exit",
  "effect-start",
  "policy-set",
  "workspace-read",
  "sandbox-open",
  "sandbox-close",
  "sandbox-suspend",
  "sandbox-resume",
  "answer-take",
  "budget-set",
  "timer-set",
  "timer-fire",
]);

/** How a fact came out, where it says so: what failed is what people look for. */
export function toneOf(fact: Fact): "bad" | "good" | "plain" {
  if (/-(failure|fail|doubt|lose|stop)$/.test(fact.type)) return "bad";
  if (fact.type === "run-end" || fact.type === "module-exit")
    return fact.error === undefined ? "plain" : "bad";
  if (fact.type === "validation-report") return fact.passed ? "good" : "bad";
  if (fact.type === "command-run") return fact.code === 0 ? "plain" : "bad";
  if (fact.type === "approval-give") return fact.decision === "reject" ? "bad" : "good";
  if (fact.type === "policy-decide") return fact.verdict === "deny" ? "bad" : "plain";
  return "plain";
}

/** What can be told of each type. A type that is not here, or of another version, is told by its name alone. */
const tellers: { readonly [Type in Fact["type"]]?: (fact: FactOf<Type>, most: number) => string } = {
  "session-start": ({ text }, most) => brief(text, most),
  "session-detach": ({ why }, most) => brief(why, most),
  "message-say": ({ role, content }, most) => `${role}: ${brief(content, most)}`,
  "context-compress": ({ summary }, most) => brief(summary, most),
  "agent-configure": ({ agent }) => brief(agent),
  "model-call": ({ agent, model }) =>
    agent === undefined ? brief(model) : `${brief(agent)} asks ${brief(model)}`,
  "model-reply": ({ content, agent, finish }, most) =>
    `${agent === undefined ? "" : `${brief(agent)}: `}${finish === "unreadable" ? "[unreadable]" : brief(content, most)}`,
  "model-failure": ({ error }, most) => brief(error?.message, most),
  "tool-call": ({ name, input }, most) => `${brief(name)} ${brief(input, most)}`,
  "tool-result": ({ output }, most) => brief(output, most),
  "tool-failure": ({ error }, most) => brief(error?.message, most),
  "step-call": ({ name }) => brief(name),
  "step-result": ({ value }, most) => brief(value, most),
  "step-failure": ({ error }, most) => brief(error?.message, most),
  "effect-fail": ({ attempt, error }, most) => `attempt ${attempt}: ${brief(error?.message, most)}`,
  "effect-doubt": ({ error }, most) => `nobody knows how it ended: ${brief(error?.message, most)}`,
  "effect-settle": ({ decision, why, digest }, most) =>
    `${brief(decision)}${digest === undefined ? "" : ", a second execution of what was approved"} ${brief(why, most)}`,
  "timer-set": ({ milliseconds, until }) => (until === undefined ? `${milliseconds} ms` : brief(until)),
  "signal-await": ({ name }) => brief(name),
  "signal-give": ({ value }, most) => brief(value, most),
  "wait-cancel": ({ why }, most) => brief(why, most),
  "memory-space": ({ space }) => brief(space),
  "memory-read": ({ space, query, hits }, most) =>
    `${count(Array.isArray(hits) ? hits.length : 0, "hit")} in ${brief(space)} for ${brief(query, most)}`,
  "memory-write": ({ space, text }, most) => `${brief(space)}: ${brief(text, most)}`,
  "memory-revise": ({ text }, most) => brief(text, most),
  "memory-revoke": ({ why }, most) => brief(why, most),
  "memory-promote": ({ why }, most) => brief(why, most),
  "memory-expire": ({ why }, most) => brief(why, most),
  "memory-link": ({ relation }) => brief(relation),
  "memory-rollback": ({ why }, most) => brief(why, most),
  "placement-change": ({ sandbox }) => brief(sandbox),
  "sandbox-open": ({ provider, isolation }) => `${brief(provider)}, isolation: ${brief(isolation)}`,
  "sandbox-lose": ({ why }, most) => brief(why, most),
  "command-run": ({ command, outcome, code }, most) =>
    `${commandText(command, most)} → ${code === null ? brief(outcome) : code}`,
  "workspace-import": ({ source, files }, most) => `${count(files, "file")} from ${brief(source, most)}`,
  "workspace-change": ({ paths }, most) => pathsText(paths, most),
  "workspace-merge": ({ paths, conflicts }, most) =>
    `${pathsText(paths, most)}${Array.isArray(conflicts) && conflicts.length > 0 ? `, ${count(conflicts.length, "conflict")}` : ""}`,
  "workspace-resolve": ({ paths }, most) => pathsText(paths, most),
  "branch-fork": ({ name, why }, most) => `${brief(name)}${why === undefined ? "" : `: ${brief(why, most)}`}`,
  "branch-merge": ({ adopt, why }, most) =>
    `adopt ${brief(adopt)}${why === undefined ? "" : `: ${brief(why, most)}`}`,
  "run-start": ({ module, name }) => `${brief(module)}${name === undefined ? "" : ` as ${brief(name)}`}`,
  "run-cancel": ({ why }, most) => brief(why, most),
  "run-suspend": ({ waiting }) => `waits for ${count(Array.isArray(waiting) ? waiting.length : 0, "answer")}`,
  "run-end": ({ error }, most) => (error === undefined ? "" : brief(error.message, most)),
  "module-enter": ({ module }) => brief(module),
  "module-exit": ({ error }, most) => brief(error?.message, most),
  "route-choose": ({ selector, chosen, why }, most) =>
    `${brief(selector)} → ${brief(chosen)} ${brief(why, most)}`,
  "skill-activate": ({ name }) => brief(name),
  "approval-ask": ({ what, to, execution }, most) =>
    `${to === undefined ? "" : `${brief(to.join(", "))}: `}${execution === undefined ? "" : `execution ${execution} of `}${brief(what, most)}`,
  "approval-give": ({ decision, why }, most) =>
    `${decision}${why === undefined ? "" : `: ${brief(why, most)}`}`,
  "policy-decide": ({ verdict, why }, most) =>
    `${verdict}${why === undefined ? "" : `: ${brief(why, most)}`}`,
  "validation-report": ({ name, passed, score, detail }, most) =>
    `${brief(name)}: ${passed ? "passed" : "failed"}${score === undefined ? "" : `, ${score}`}${detail === undefined ? "" : `, ${brief(detail, most)}`}`,
  "budget-stop": ({ limit, allowed }) => `${brief(limit)}: ${allowed}`,
  "content-erase": ({ why }, most) => brief(why, most),
  "head-sign": ({ key }) => `by the key ${brief(key)}`,
  "record-import": ({ format, source }, most) => `${brief(format)} from ${brief(source, most)}`,
  note: ({ kind }) => brief(kind),
};

function wordsOf(fact: Fact, most: number): string {
  if (!Object.hasOwn(tellers, fact.type)) return "";
  try {
    return (tellers[fact.type] as ((fact: Fact, most: number) => string) | undefined)?.(fact, most) ?? "";
  } catch {
    // A record of another version, or content that is not here any more, may have other shapes.
    return "";
  }
}

function commandText(command: unknown, most: number): string {
  return Array.isArray(command) ? brief(command.join(" "), most) : brief(command, most);
}

function pathsText(paths: unknown, most: number): string {
  if (!Array.isArray(paths)) return brief(paths, most);
  const signs: { readonly [change: string]: string } = { add: "+", modify: "±", delete: "−" };
  return brief(
    paths
      .map(({ path, change }: { path: string; change: string }) => `${signs[change] ?? "?"}${path}`)
      .join(" "),
    most,
  );
}
