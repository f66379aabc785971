import { beginsTurn } from "../../agent/model/index.js";
import { type Fact, type FactId, factTypes, isDigest, isPerson, parentsOf } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { factOf, writerOf } from "./fact-line.js";
import type { Ground } from "./why.js";

/** How one fact rests on another. */
export type Relation =
  | "because"
  | "version"
  | "merges"
  | "of"
  | "saw"
  | "found"
  | "from"
  | "made by"
  | "answer"
  | "covers";
export type Link = { readonly to: FactId; readonly relation: Relation };

type Known = { readonly id: FactId; readonly parents: readonly FactId[]; readonly fact: Fact };

/** How many facts of a turn are looked at for what a model saw. */
const TURN = 1_000;

const CHANGE = { because: "because", of: "of" } as const;
const RESULT = { from: "from", of: "of" } as const;

/** The fields in which a fact cites others; of other types `of`. */
const LINKS: { readonly [type in Fact["type"]]?: { readonly [field: string]: Relation } } = {
  "memory-write": { because: "because", merges: "merges" },
  "memory-revise": CHANGE,
  "memory-promote": CHANGE,
  "memory-revoke": CHANGE,
  "memory-expire": CHANGE,
  "memory-link": { of: "of", to: "of" },
  "memory-read": {},
  "tool-result": RESULT,
  "step-result": RESULT,
  "tool-failure": RESULT,
  "step-failure": RESULT,
  "answer-take": { answer: "answer" },
  "session-detach": { from: "from" },
  "context-compress": { from: "covers", to: "covers" },
  "model-reply": { from: "from" },
  "workspace-resolve": { merge: "of", of: "of" },
};

/** The facts that one rests on. `more` says that a turn was too long to be looked at whole. */
export async function behind(store: Store, { parents, fact }: Known) {
  const links: Link[] = [];
  const add = (relation: Relation, ...ids: readonly unknown[]): void => {
    for (const to of ids) if (isDigest(to)) links.push({ to, relation });
  };
  // The reasons for a call are not reasons for its result.
  const fields = LINKS[fact.type] ?? (fact.type.endsWith("-call") ? {} : { of: "of" });
  for (const [field, relation] of Object.entries(fields)) {
    const value = (fact as { readonly [field: string]: unknown })[field];
    add(relation, ...(Array.isArray(value) ? value : [value]));
  }
  if (fact.type === "memory-read" && Array.isArray(fact.hits))
    for (const { version, memory } of fact.hits) add("found", version ?? memory);
  // The session of a module that worked as a tool ended there.
  if (LINKS[fact.type] === RESULT && parents.length > 1) add("made by", await concludedBy(store, parents[1]));
  if (fact.type === "session-detach") add("saw", ...(await saidBefore(store, [fact.from])).seen);
  // A session wrote it, after all that it had seen, whatever it names as evidence.
  const writer = fact.type.startsWith("memory-") ? writerOf(fact) : undefined;
  const from = isConcluded(fact) ? parents : isDigest(writer) ? [writer] : undefined;
  const concluded = from === undefined ? { seen: [], more: false } : await seenIn(store, from);
  add("saw", ...concluded.seen);
  return { links: unique(links), more: concluded.more };
}

/** The kind of evidence that a fact is; undefined of one that only rests on others. `last` says that nothing is behind it. */
export function groundOf(fact: Fact, last: boolean): Ground | undefined {
  if (fact.type.startsWith("memory-")) return last ? "missing" : undefined;
  if (fact.type === "validation-report") return "validation";
  if (fact.type === "record-import" || fact.type === "workspace-import") return "import";
  // A request is evidence only together with its outcome.
  if (/-(?:call|ask|await|take)$/.test(fact.type))
    return last && fact.type !== "model-call" ? undefined : last ? "model" : undefined;
  if (isPerson(fact.by)) return "person";
  if (isConcluded(fact)) return last ? "model" : undefined;
  return fact.type === "model-failure" || fact.type === "context-compress" ? "model" : "tool";
}

/** Whether a model or an agent concluded it: it rests on the prompt. */
function isConcluded({ type, by }: Fact): boolean {
  if (type === "model-reply" || type === "model-call") return true;
  if (type === "message-say" || type === "route-choose" || type === "note") return /^agent(:|$)/.test(by);
  return false;
}

const SEEN: ReadonlySet<string> = factTypes(
  "memory-read tool-result tool-failure step-result step-failure message-say context-compress",
  "answer-take",
);

/** The facts in the prompt: everything back to the message that began the turn, and the facts of earlier turns. */
async function seenIn(store: Store, from: readonly FactId[]): Promise<Seen> {
  const seen: FactId[] = [];
  const before: FactId[] = [];
  const met = new Set(from);
  let more = false;
  for (const id of met) {
    more = met.size > TURN;
    if (more) break;
    const line = await store.line(id);
    if (line === undefined) continue;
    const fact = await factOf(store, line, ["hits"]);
    const begins = beginsTurn(fact);
    if (begins || (SEEN.has(fact.type) && !isConcluded(fact))) seen.push(id);
    if (begins) before.push(...parentsOf(line));
    else for (const parent of parentsOf(line)) met.add(parent);
  }
  const earlier = before.length === 0 ? { seen: [], more: false } : await saidBefore(store, before);
  return { seen: [...earlier.seen, ...seen.reverse()], more: more || earlier.more };
}

/** The facts of earlier turns in the prompt: the last reply and everything since. */
async function saidBefore(store: Store, from: readonly FactId[]): Promise<Seen> {
  const seen: FactId[] = [];
  const met = new Set(from);
  for (const id of met) {
    if (met.size > TURN) return { seen: seen.reverse(), more: true };
    const line = await store.line(id);
    if (line === undefined) continue;
    const fact = await factOf(store, line, []);
    const replied = fact.type !== "model-call" && isConcluded(fact);
    if (replied || beginsTurn(fact) || (SEEN.has(fact.type) && fact.type !== "memory-read")) seen.push(id);
    if (!replied) for (const parent of parentsOf(line)) met.add(parent);
  }
  return { seen: seen.reverse(), more: false };
}

type Seen = { readonly seen: readonly FactId[]; readonly more: boolean };

/** The last thing that was concluded or found on the way to a session. */
async function concludedBy(store: Store, from: FactId | undefined): Promise<FactId | undefined> {
  let id = from;
  for (let steps = 0; steps < TURN && id !== undefined; steps++) {
    const line: string | undefined = await store.line(id);
    if (line === undefined) return undefined;
    const fact = await factOf(store, line, []);
    if (fact.type === "model-reply" || fact.type === "tool-result" || fact.type === "step-result") return id;
    if (beginsTurn(fact) || fact.type === "branch-fork") return undefined;
    [id] = parentsOf(line);
  }
  return undefined;
}

function unique(links: readonly Link[]): readonly Link[] {
  const met = new Set<string>();
  return links.filter(({ to, relation }) => {
    const key = `${relation} ${to}`;
    return !met.has(key) && met.add(key);
  });
}
