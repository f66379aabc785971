import { type Fact, Withheld } from "../../session/index.js";
import { isObject, text } from "./words.js";

/** A fact in a few words on one line, whatever it holds. */
export function saying(fact: Fact, most = 160): string {
  return brief(sayingOf(fact), most);
}

/** Some words of something, on one line. */
export function brief(value: unknown, most = 160): string {
  const whole = value instanceof Withheld ? `(${value.reason})` : plain(value);
  const line = whole
    .slice(0, 4 * most)
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= most && whole.length <= 4 * most
    ? line
    : `${line.slice(0, most - 1).toWellFormed()}…`;
}

function plain(value: unknown): string {
  if (!Array.isArray(value)) return text(value);
  const texts = value.map((part) =>
    isObject(part) && typeof part.text === "string" ? part.text : undefined,
  );
  return texts.some((one) => one !== undefined)
    ? texts.filter((one) => one !== undefined).join(" ")
    : text(value);
}

function sayingOf(fact: Fact): string {
  const say = (value: unknown): string => brief(value);
  const because = (why: unknown): string => (why === undefined ? "" : `: ${say(why)}`);
  switch (fact.type) {
    case "session-start":
      return fact.text === undefined ? "begins" : say(fact.text);
    case "session-detach":
      return `begins apart from ${short(fact.from)}${because(fact.why)}`;
    case "message-say":
      return `${text(fact.role)}: ${say(fact.content)}`;
    case "context-compress":
      return `sums up ${short(fact.from)} to ${short(fact.to)}: ${say(fact.summary)}`;
    case "agent-configure":
      return `${fact.agent} is set up${because(fact.instructions)}`;
    case "model-call":
      return `${fact.agent ?? fact.by} asks ${fact.model}`;
    case "model-reply":
      return repliesWith(fact.content, say);
    case "model-failure":
    case "tool-failure":
    case "step-failure":
      return `failed: ${failing(fact.error)}`;
    case "tool-call":
      return `calls ${fact.name} ${say(fact.input)}`;
    case "tool-result":
      return say(fact.output);
    case "step-call":
      return `${fact.name}${fact.input === undefined ? "" : ` ${say(fact.input)}`}`;
    case "step-result":
      return say(fact.value);
    case "effect-start":
      return `attempt ${fact.attempt}`;
    case "effect-fail":
      return `attempt ${fact.attempt} failed, again after ${fact.wait} ms: ${failing(fact.error)}`;
    case "effect-doubt":
      return `nobody knows how it ended: ${failing(fact.error)}`;
    case "effect-settle":
      return `settled as ${fact.decision}${fact.digest === undefined ? "" : ", a second execution of what was approved"}${because(fact.why)}`;
    case "timer-set":
      return `waits ${fact.milliseconds === undefined ? `until ${fact.until ?? "?"}` : `${fact.milliseconds} ms`}`;
    case "signal-await":
      return `waits for ${fact.name}`;
    case "signal-give":
      return `gives ${say(fact.value)}`;
    case "wait-cancel":
      return `waits no longer${because(fact.why)}`;
    case "memory-space":
      return `the memory ${fact.space}`;
    case "memory-read":
      return `reads ${fact.space} for ${say(fact.query)}: ${Array.isArray(fact.hits) ? fact.hits.length : "?"} found`;
    case "memory-write":
      return `remembers in ${fact.space}: ${say(fact.text)}`;
    case "memory-revise":
      return `revises ${short(fact.of)}: ${say(fact.text)}`;
    case "memory-revoke":
    case "memory-expire":
    case "memory-promote":
      return `${short(fact.of)}${because(fact.why)}`;
    case "memory-link":
      return `${short(fact.of)} ${fact.relation} ${short(fact.to)}`;
    case "memory-rollback":
      return `back to ${short(fact.to)}: ${say(fact.why)}`;
    case "placement-change":
      return `to ${fact.sandbox}`;
    case "sandbox-open":
      return `${fact.sandbox} (${fact.provider}, isolation ${fact.isolation})`;
    case "sandbox-suspend":
    case "sandbox-resume":
    case "sandbox-lose":
    case "sandbox-close":
      return `${fact.sandbox}${because(fact.why)}`;
    case "command-run":
      return `${say(fact.command)} → ${fact.outcome}${fact.code === null ? "" : ` ${fact.code}`}`;
    case "workspace-import":
      return `takes in ${fact.files} files from ${say(fact.source)}`;
    case "workspace-read":
      return `reads the files ${short(fact.tree ?? "")}`;
    case "workspace-change":
    case "workspace-merge":
    case "workspace-resolve":
      return pathsOf(fact.paths);
    case "branch-fork":
      return `forks ${fact.name}${because(fact.why)}`;
    case "branch-merge":
      if (fact.adopt === "none") return `gathers branches, prefers none${because(fact.why)}`;
      return `merges, adopts ${fact.adopt === "theirs" ? "theirs" : typeof fact.adopt === "number" ? `side ${fact.adopt + 1}` : fact.adopt}${because(fact.why)}`;
    case "run-start":
      return `${fact.module} begins${fact.name === undefined ? "" : ` as ${fact.name}`}${fact.for === undefined ? "" : ` for ${fact.for}`}`;
    case "run-cancel":
      return `is cancelled${because(fact.why)}`;
    case "run-suspend":
      return `waits for ${Array.isArray(fact.waiting) && fact.waiting.length === 1 ? "an answer" : `${Array.isArray(fact.waiting) ? fact.waiting.length : "?"} answers`}`;
    case "run-end":
      return fact.error === undefined ? "ends" : `ends with ${failing(fact.error)}`;
    case "module-enter":
      return `enters ${fact.module}`;
    case "module-exit":
      return fact.error === undefined ? "is left" : `is left with ${failing(fact.error)}`;
    case "route-choose":
      return `${fact.selector} chooses ${fact.chosen ?? "none"}${because(fact.why)}`;
    case "skill-activate":
      return `${fact.name} from ${fact.source}`;
    case "approval-ask":
      return `asks for ${say(fact.name ?? fact.what)}`;
    case "approval-give":
      return `${fact.decision}${because(fact.why)}`;
    case "policy-set":
      return `${fact.policy} for ${fact.module}`;
    case "policy-decide":
      return `${fact.verdict}${because(fact.why)}`;
    case "validation-report":
      return `${fact.name} ${fact.passed ? "passed" : "did not pass"}${fact.score === undefined ? "" : `, score ${rounded(fact.score)}`}`;
    case "budget-set":
      return say(fact.limits);
    case "budget-stop":
      return `${fact.limit}: ${fact.spent} of ${fact.allowed} spent, ${fact.asked} more asked for`;
    case "content-erase":
      return `erases ${Array.isArray(fact.digests) ? fact.digests.length : "?"} pieces: ${say(fact.why)}`;
    case "head-sign":
      return `signs ${short(fact.of)} with ${fact.key}`;
    case "record-import":
      return `from ${fact.format}: ${say(fact.source)}`;
    default: {
      const {
        type: _,
        at: __,
        by: ___,
        run: ____,
        seq: _____,
        ...rest
      } = fact as Fact & { readonly run?: string };
      return say(rest);
    }
  }
}

function repliesWith(content: unknown, say: (value: unknown) => string): string {
  if (!Array.isArray(content)) return say(content);
  const calls = content.flatMap((part) =>
    isObject(part) && part.type === "tool-call" ? [text(part.name)] : [],
  );
  const words = content.some((part) => isObject(part) && part.type === "text") ? say(content) : "";
  return `${words}${calls.length === 0 ? "" : `${words === "" ? "" : " — "}wants ${calls.join(", ")}`}`;
}

/** What went wrong, in words. */
export function failing(error: unknown): string {
  return isObject(error) && !(error instanceof Withheld)
    ? `${text(error.name)}: ${brief(error.message)}`
    : brief(error);
}

function pathsOf(paths: unknown): string {
  if (!Array.isArray(paths)) return "files";
  const named = paths
    .slice(0, 4)
    .map((one) => (isObject(one) ? `${text(one.path)} (${text(one.change)})` : "?"));
  return `${named.join(", ")}${paths.length > 4 ? ` and ${paths.length - 4} more` : ""}`;
}

/** A number as people read it. */
export function rounded(number: number): string {
  return String(Number.isInteger(number) ? number : Number(number.toPrecision(3)));
}

export function short(id: unknown): string {
  return text(id).slice(0, 12);
}
