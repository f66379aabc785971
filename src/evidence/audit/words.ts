import { brief, isId } from "../../memory/answer/index.js";
import { type Content, type Digest, type Fact, type FactId, Withheld } from "../../session/index.js";
import type { Erasure } from "../../store/index.js";

/** Who erased what: content that is gone is told with it. */
export type Erasures = ReadonlyMap<Digest, Erasure>;

/** An id as far as people need it. */
export function short(id: FactId): string {
  return id.slice(0, 12);
}

/** A number of things, in words. */
export function many(count: number, one: string, several = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : several}`;
}

/** Names in a row: "a", "a and b", "a, b and c". */
export function row(names: readonly string[]): string {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** Some words of somebody else, on one line, without what a terminal would obey, in quotes. */
export function quoted(value: unknown, erasures: Erasures, most = 120): string {
  const words = plainWords(value, erasures, most);
  return words.startsWith("[") && value instanceof Withheld ? words : `"${words}"`;
}

/** The same without quotes. */
export function plainWords(value: unknown, erasures: Erasures, most = 120): string {
  if (value instanceof Withheld) return goneWords(value, erasures);
  if (!Array.isArray(value)) return brief(value, most);
  const parts = value as readonly { readonly type?: unknown; readonly text?: unknown }[];
  const isContent = parts.length > 0 && parts.every((part) => typeof part?.type === "string");
  return isContent ? contentWords(value as Exclude<Content, string>, erasures, most) : brief(value, most);
}

/** Why content is not here. */
function goneWords({ reason, digest }: Pick<Withheld, "reason" | "digest">, erasures: Erasures): string {
  const erasure = erasures.get(digest);
  if (erasure !== undefined)
    return `[erased by ${brief(erasure.by)} at ${brief(erasure.at)}: ${brief(erasure.why)}]`;
  return reason === "unfit" ? "[content that is not what its line says]" : "[content that is not here]";
}

function contentWords(content: Exclude<Content, string>, erasures: Erasures, most: number): string {
  const words = content.map((part) => {
    if (part.type === "text" || part.type === "reasoning") return part.text;
    if (part.type === "tool-call") return `[calls ${part.name} with ${JSON.stringify(part.input)}]`;
    if (part.type === "withheld") return goneWords(part, erasures);
    return `[${part.type}]`;
  });
  return brief(words.join(" "), most);
}

/** What a fact says happened, as the rest of a sentence that begins with who did it. */
export function deedOf(fact: Fact, erasures: Erasures, most = 120): string {
  try {
    return toldOf(fact, erasures, most);
  } catch {
    // A list that is gone, or a fact of another version, has another shape.
    return restOf(fact, (value) => plainWords(value, erasures, most));
  }
}

function toldOf(fact: Fact, erasures: Erasures, most: number): string {
  const say = (value: unknown): string => quoted(value, erasures, most);
  const plain = (value: unknown): string => plainWords(value, erasures, most);
  const why = (reason: unknown): string => (reason === undefined ? "" : `, because: ${plain(reason)}`);
  switch (fact.type) {
    case "session-start":
      return fact.text === undefined ? "began a session" : `began a session with ${say(fact.text)}`;
    case "session-detach":
      return `began a session from ${short(fact.from)}${why(fact.why)}`;
    case "message-say":
      return `said as ${plain(fact.role)} ${say(fact.content)}`;
    case "agent-configure":
      return `configured the agent ${plain(fact.agent)}`;
    case "model-call":
      return `asked the model ${plain(fact.model)}`;
    case "model-reply":
      return `replied ${say(fact.content)}`;
    case "tool-call":
    case "step-call":
      return `called ${plain(fact.name)}${fact.input === undefined ? "" : ` with ${plain(fact.input)}`}`;
    case "tool-result":
      return `gave the result ${say(fact.output)}`;
    case "step-result":
      return `gave the result ${say(fact.value)}`;
    case "model-failure":
    case "tool-failure":
    case "step-failure":
      return `failed: ${plain(failureIn(fact.error))}`;
    case "memory-read":
      return `looked in the memory ${plain(fact.space)} for ${say(fact.query)} and found ${Array.isArray(fact.hits) ? many(fact.hits.length, "memory", "memories") : plain(fact.hits)}`;
    case "memory-write":
      return `wrote to the memory ${plain(fact.space)}: ${say(fact.text)}`;
    case "memory-revise":
      return `revised the memory ${short(fact.of)} to ${say(fact.text)}`;
    case "memory-revoke":
    case "memory-expire":
    case "memory-promote":
      return `${VERBS[fact.type]} the memory ${short(fact.of)}${why(fact.why)}`;
    case "workspace-change":
    case "workspace-merge":
    case "workspace-resolve":
      return `${VERBS[fact.type]} files: ${Array.isArray(fact.paths) ? brief(fact.paths.map(({ path, change }) => `${change} ${path}`).join(", "), most) : plain(fact.paths)}`;
    case "workspace-import":
      return `took in ${many(fact.files, "file")} from ${plain(fact.source)}`;
    case "command-run":
      return `ran ${say(fact.command)}: ${plain(fact.outcome)}${fact.code === null ? "" : ` ${fact.code}`}`;
    case "branch-fork":
      return `began the branch ${plain(fact.name)}${why(fact.why)}`;
    case "branch-merge":
      if (fact.adopt === "none") return `gathered branches and preferred none${why(fact.why)}`;
      return `merged branches and adopted ${typeof fact.adopt === "number" ? `side ${fact.adopt + 1}` : plain(fact.adopt)}${why(fact.why)}`;
    case "run-start":
      return `began a run of ${plain(fact.module)}${fact.for === undefined ? "" : ` for ${plain(fact.for)}`}`;
    case "run-end":
      return fact.error === undefined ? "ended the run" : `ended the run: ${plain(failureIn(fact.error))}`;
    case "run-suspend":
      return `suspended the run until ${many(fact.waiting.length, "answer")} ${fact.waiting.length === 1 ? "is" : "are"} there`;
    case "run-cancel":
      return `cancelled the run${why(fact.why)}`;
    case "route-choose":
      return `chose ${plain(fact.chosen ?? "none")} for ${plain(fact.selector)}${why(fact.why)}`;
    case "approval-ask":
      return `asked ${fact.to === undefined ? "anybody" : plain(row(fact.to))} to agree to ${fact.execution === undefined ? "" : `execution ${fact.execution} of `}${say(fact.what)}`;
    case "effect-settle":
      return `${SETTLEMENTS[fact.decision] ?? plain(fact.decision)} ${short(fact.of)}${fact.digest === undefined ? "" : ", which had been approved"}${why(fact.why)}`;
    case "approval-give":
      return `${DECISIONS[fact.decision] ?? plain(fact.decision)} ${short(fact.of)}${fact.edit === undefined ? "" : `, with ${plain(fact.edit)} instead`}${why(fact.why)}`;
    case "policy-set":
      return `put ${plain(fact.module)} under the policy ${plain(fact.policy)}`;
    case "policy-decide":
      return `decided about ${short(fact.of)}: ${plain(fact.verdict)}${why(fact.why)}`;
    case "validation-report":
      return `reported on ${plain(fact.name)}: ${fact.passed ? "passed" : "did not pass"}${fact.detail === undefined ? "" : ` (${plain(fact.detail)})`}`;
    case "placement-change":
      return `moved the session to ${plain(fact.sandbox)}`;
    case "content-erase":
      return `erased ${Array.isArray(fact.digests) ? many(fact.digests.length, "piece") : "pieces"} of content, because: ${plain(fact.why)}`;
    case "record-import":
      return `imported it from ${plain(fact.source)} (${plain(fact.format)})`;
    default:
      return restOf(fact, plain);
  }
}

const VERBS = {
  "memory-revoke": "revoked",
  "memory-expire": "ended",
  "memory-promote": "promoted",
  "workspace-change": "changed",
  "workspace-merge": "merged",
  "workspace-resolve": "resolved",
} as const;

const DECISIONS: { readonly [decision: string]: string } = {
  approve: "agreed to",
  reject: "rejected",
  "take-over": "took over",
};

const SETTLEMENTS: { readonly [decision: string]: string } = {
  done: "said that it happened:",
  failed: "said that it did not happen:",
  again: "wanted a second execution of",
};

const STAMPS: ReadonlySet<string> = new Set(["type", "at", "by", "run", "seq"]);

/** Facts of users' own, of newer versions, and those that say little: the type, and what stands in it. */
function restOf(fact: Fact, plain: (value: unknown) => string): string {
  const said = Object.entries(fact)
    .filter(([field]) => !STAMPS.has(field))
    .map(([field, value]) => `${field}: ${isId(value) ? short(value) : plain(value)}`);
  return `recorded a ${brief(fact.type)}${said.length === 0 ? "" : ` (${brief(said.join(", "))})`}`;
}

function failureIn(error: unknown): unknown {
  if (error instanceof Withheld || typeof error !== "object" || error === null) return error;
  const { name, message } = error as { readonly name?: unknown; readonly message?: unknown };
  return message === undefined || message === "" ? name : message;
}
