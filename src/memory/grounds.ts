import type { Because, FactId, Principal, Session } from "../session/index.js";

/** Pieces of evidence that are named without anybody choosing them: the newest of a turn. */
const MOST = 24;
/** As far back as this is looked for the beginning of a turn. */
const FARTHEST = 5_000;

/**
 * What a turn rests on so far, as evidence for what is remembered in it: what was asked, what tools gave, what was
 * found, what was recalled, and the words of the model that wants it remembered.
 */
export function groundsOf(session: Session): Because {
  const found: FactId[] = [];
  let node: Session | undefined = session;
  for (let steps = 0; node !== undefined && steps < FARTHEST; steps++) {
    const { fact, id } = node;
    const asked = (fact.type === "message-say" && fact.role === "user") || fact.type === "session-start";
    if (asked || GROUNDS.has(fact.type)) found.push(id);
    if (asked) break;
    node = node.parents[0];
  }
  const newest = found.slice(0, MOST);
  const first = found.at(-1);
  if (first !== undefined && !newest.includes(first)) newest[newest.length - 1] = first;
  return becauseOf(newest.length === 0 ? [session.id] : newest.reverse());
}

/** Evidence as it is recorded: at least one fact, and each once. */
export function becauseOf(ids: Iterable<FactId>): Because {
  const [first, ...others] = new Set(ids);
  if (first === undefined) throw new RangeError("evidence must name at least one fact");
  return [first, ...others];
}

const GROUNDS: ReadonlySet<string> = new Set([
  "tool-result",
  "tool-failure",
  "step-result",
  "step-failure",
  "command-run",
  "validation-report",
  "memory-read",
  "model-reply",
  "approval-give",
  "signal-give",
  "record-import",
]);

/** The agent that spoke last in a session, or the program itself. */
export function agentOf(session: Session): Principal {
  for (let node: Session | undefined = session; node !== undefined; node = node.parents[0]) {
    const { fact } = node;
    if (fact.type === "model-reply") return fact.agent === undefined ? "agent" : `agent:${fact.agent}`;
    if (fact.type === "run-start") break;
  }
  return "runtime";
}
