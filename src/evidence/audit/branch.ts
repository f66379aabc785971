import type { Adopt, FactId, FactOf, Session } from "../../session/index.js";
import { adoptedSide, BeyondHorizonError, diff, goesOnFrom } from "../../session/index.js";
import { NotFoundError, type Store } from "../../store/index.js";
import { optionNames } from "../../util/index.js";
import { type Answer, Telling } from "./answer.js";
import { AuditError, requireOptions } from "./error.js";
import { forkOf, lastWords, mergesBefore, type Passed, reachable, wayTo } from "./way.js";
import { many, row, short } from "./words.js";

export type WhichBranchOptions = {
  /** The id of a message, or the beginning of one. Default: the last words of the conversation. */
  readonly message?: string;
  /** How many facts are loaded at most. Default: as many as `store.load` does. */
  readonly horizon?: number;
};

const KNOWN = optionNames<WhichBranchOptions>()("message horizon");

/** The branch that produced an answer: model call, fork, adopting merges, and rejected siblings. */
export async function whichBranch(
  store: Store,
  ref: string,
  options: WhichBranchOptions = {},
): Promise<Answer> {
  requireOptions(options, KNOWN, "ask which branch produced an answer");
  const { message, horizon } = options;
  const head = await store.load(ref, { ...(horizon !== undefined && { horizon }) });
  const telling = await Telling.open(
    store,
    message === undefined
      ? `Which branch produced the answer of ${ref}?`
      : `Which branch produced the message ${message.slice(0, 64)} of ${ref}?`,
  );
  let said: Session | undefined;
  try {
    said = message === undefined ? lastWords(head) : await messageAt(store, head, message);
    if (said !== undefined) await tellBranch(telling, head, said);
    else {
      const gatherings = gatheringsOf(head);
      if (gatherings.length === 0)
        telling.claim`${[head.id]} Nobody has answered anything in ${short(head.id)}: no model replied there.`;
      else
        telling.claim`${[head.id]} The session ${short(head.id)} has no single answer: its branches answered, and none was preferred.`;
      for (const gathering of gatherings) await tellGathered(telling, gathering);
    }
  } catch (error) {
    if (!(error instanceof BeyondHorizonError)) throw error;
    telling.gap`The past before ${short(String(error.data.horizon))} was not loaded, so what lies before it was not looked at.`;
  }
  return telling.done(said && { message: said.id, branch: said.branch });
}

async function tellBranch(telling: Telling, head: Session, said: Session): Promise<void> {
  const { reader } = telling;
  const words = telling.quoted(contentOf(said), 160);
  const { branch, fact } = said;
  const of = fact.type === "model-reply" ? fact.of : undefined;
  const call = of === undefined ? undefined : await reader.fact(of);
  if (call?.fact.type === "model-call")
    telling.claim`${[said.id, call.id]} The answer ${words} was given on the branch ${branch} by the model ${call.fact.model}, asked by ${call.fact.by} at ${call.fact.at}.`;
  else
    telling.claim`${[said.id]} The words ${words} were said on the branch ${branch} by ${fact.by} at ${fact.at}.`;
  const taken = fact.type === "model-reply" ? fact.from : undefined;
  if (taken !== undefined)
    telling.claim`${[said.id, taken]} The reply was taken over from another run, where it is ${short(taken)}.`;
  const forked = forkOf(said);
  const fork = forked === undefined ? undefined : await reader.fact(forked);
  if (fork?.fact.type !== "branch-fork")
    telling.claim`${[said.id]} No fork lies before it: it is on the main line.`;
  else {
    const { by, why, at } = fork.fact;
    const [from] = fork.parents;
    telling.claim`${[fork.id]} The branch ${branch} was begun by ${by} at ${at}${from === undefined ? "" : ` from ${short(from)}`}${telling.because(why)}.`;
  }
  const earlier = mergesBefore(
    said,
    ({ id }) =>
      telling.gap`Merges before ${short(id)} were not looked at: the past before it was not loaded.`,
  );
  for (const merge of earlier.slice(0, MERGES))
    await tellMerge(telling, merge, adoptedSide(merge.fact, merge.parents.length), "Before it, the");
  if (earlier.length > MERGES)
    telling.gap`${many(earlier.length - MERGES, "older merge")} before it ${earlier.length - MERGES === 1 ? "is" : "are"} not told here.`;
  const way = wayTo(head, said);
  if (way === undefined) {
    telling.claim`${[said.id, head.id]} It is not in the past of ${short(head.id)}: it is on a line that this session does not go on from.`;
    return;
  }
  const merges = way.filter(({ node }) => node.fact.type === "branch-merge");
  for (const { node, side } of merges.toReversed()) await tellMerge(telling, node, side, "After it, the");
  if (merges.length === 0)
    telling.claim`${[said.id, head.id]} No merge lies between it and the end: it went on as it was said.`;
  await tellLeft(telling, head, way);
}

/** The effect of a merge on the side that the answer came by. */
async function tellMerge(telling: Telling, merge: Session, side: number, begin: string): Promise<void> {
  const { adopt, by, at, why } = merge.fact as FactOf<"branch-merge">;
  const mine = merge.parents[side] as Session;
  const reason = why === undefined ? ", and the record does not say why" : `, because: ${telling.plain(why)}`;
  if (adopt === "none") {
    telling.claim`${[merge.id, mine.id]} ${begin} merge ${short(merge.id)} by ${by} at ${at} gathered ${many(merge.parents.length, "branch", "branches")} and preferred none${reason}.`;
    return;
  }
  const goesOn = isAdopted(adopt, side, merge.parents.length);
  const winner = goesOn ? mine : (merge.parents[adoptedSide(merge.fact, merge.parents.length)] as Session);
  const deed =
    adopt === "both"
      ? `went on with all sides, the branch ${mine.branch} among them`
      : goesOn
        ? `adopted the branch ${mine.branch}`
        : `adopted the branch ${winner.branch} instead, and the words of ${mine.branch} did not go on`;
  telling.claim`${[merge.id, mine.id, winner.id]} ${begin} merge ${short(merge.id)} by ${by} at ${at} ${deed}${reason}.`;
  if (adopt === "both") return;
  for (const other of merge.parents)
    if (other !== winner && other !== mine) await tellRejected(telling, other, merge, winner);
  if (!goesOn) tellFound(telling, mine, winner);
}

/** The merges without a preference that a session stands at, newest first. */
function gatheringsOf(head: Session): readonly Session[] {
  return mergesBefore(head, () => {}).filter(({ fact }) => (fact as FactOf<"branch-merge">).adopt === "none");
}

/** The last words of each gathered branch, and the validations on it. */
async function tellGathered(telling: Telling, gathering: Session): Promise<void> {
  const shared = goesOnFrom(gathering);
  telling.claim`${[gathering.id]} The merge ${short(gathering.id)} gathered ${many(gathering.parents.length, "branch", "branches")} and preferred none.`;
  for (const side of gathering.parents) {
    const words = lastWords(side);
    const own = words !== undefined && shared?.descendsFrom(words) !== true ? words : undefined;
    telling.claim`${[gathering.id, (own ?? side).id]} The branch ${side.branch} ${own === undefined ? "said nothing of its own" : `ended with ${telling.quoted(contentOf(own))}`}.`;
    if (shared !== undefined) tellFound(telling, side, shared);
  }
}

/** A side beside the adopted one: its last words, and the validations on it. */
async function tellRejected(telling: Telling, other: Session, merge: Session, ours: Session): Promise<void> {
  const words = lastWords(other);
  const own = words !== undefined && !ours.descendsFrom(words) ? words : undefined;
  telling.claim`${[merge.id, (own ?? other).id]} The branch ${other.branch} was rejected there${own === undefined ? "; it said nothing of its own" : `; its last words were ${telling.quoted(contentOf(own))}`}.`;
  tellFound(telling, other, ours);
}

/** The validations on a side that lost. */
function tellFound(telling: Telling, lost: Session, won: Session): void {
  for (const { id, fact } of diff(lost, won).ours)
    if (fact.type === "validation-report") telling.claim`${[id]} On it, ${fact.by} ${telling.deed(fact)}.`;
}

/** Branches of the same run that were never merged: its end names them. */
async function tellLeft(telling: Telling, head: Session, way: readonly Passed[]): Promise<void> {
  const ends = way.filter(({ node }) => node.fact.type === "run-end" && node.parents.length > 1);
  for (const { node, side } of ends) {
    const others = node.parents.filter((_, place) => place !== side);
    const named = others.map((other) => `${other.branch} (${telling.deed(lastOf(other).fact, 60)})`);
    telling.claim`${[node.id, ...others.map(({ id }) => id)]} ${many(others.length, "other line")} of that run ${others.length === 1 ? "was" : "were"} left where ${others.length === 1 ? "it" : "they"} stood: ${row(named)}.`;
  }
  if (head.fact.type === "run-end" && head.fact.error !== undefined)
    telling.claim`${[head.id]} The run ended with an error after that.`;
}

function lastOf(session: Session): Session {
  return lastWords(session) ?? session;
}

/** So many merges before an answer are told. */
const MERGES = 10;

function isAdopted(adopt: Exclude<Adopt, "none">, side: number, sides: number): boolean {
  return (
    adopt === "both" || side === (adopt === "theirs" ? 1 : adopt === "ours" ? 0 : Math.min(adopt, sides - 1))
  );
}

function contentOf({ fact }: Session): unknown {
  if (fact.type === "model-reply" || fact.type === "message-say") return fact.content;
  return fact.type === "session-start" ? fact.text : undefined;
}

async function messageAt(store: Store, head: Session, message: string): Promise<Session> {
  const text = message.trim();
  const unknown = (reason: string): AuditError =>
    new AuditError(
      "message-unknown",
      `${JSON.stringify(text.slice(0, 80))} is not a message of this session: ${reason}.`,
      "give the id of a model-reply or of what somebody said; `rath log` shows them",
      { message: text.slice(0, 80) },
    );
  if (!/^[0-9a-f]{6,64}$/.test(text)) throw unknown("it is not an id");
  let id: FactId;
  try {
    id = await store.resolve(text);
  } catch (error) {
    if (error instanceof NotFoundError) throw unknown("nothing here has that id");
    throw error;
  }
  // The same object as in the loaded past, where it is in it: then ways are found.
  for (const node of reachable(head)) if (node.id === id) return requireWords(node, unknown);
  return requireWords(await store.load(id), unknown);
}

function requireWords(node: Session, unknown: (reason: string) => AuditError): Session {
  const { type } = node.fact;
  if (type === "model-reply" || type === "message-say" || type === "session-start") return node;
  throw unknown(`it is a ${type}`);
}
