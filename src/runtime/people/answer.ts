import {
  type Fact,
  type FactId,
  type FactInput,
  type FactOf,
  type Failure,
  type Json,
  mayAgree,
  maySettle,
  type Pending,
  type Principal,
  parentsOf,
  readFact,
  Session,
  type Settlement,
  typeOf,
} from "../../session/index.js";
import {
  ConflictError,
  FencedError,
  identityOf,
  isDead,
  type Store,
  thisProcess,
} from "../../store/index.js";
import { AnswerError } from "../error.js";
import { answerName } from "../run/writer.js";
import { nameOf, type Recorded, recordedRun } from "../tape/recorded.js";
import { type Doubt, doubtAbout } from "./doubt.js";

/** A person's word on something that was shown. */
export type Decision = {
  readonly by: Principal;
  /** Which question, by its id; may be left out when there is only one. */
  readonly ask?: FactId;
  /** The digest of what the person saw: refused unless it is what was asked. */
  readonly digest?: string;
  readonly why?: string;
};

/** A person's agreement. */
export type Approval = Decision & {
  /** Agrees to these arguments in place of those that were shown. Both are kept. */
  readonly edit?: Json;
};

/** A person's word that they did it themselves. */
export type TakeOver = Decision & {
  /** The value that the caller gets in place of an outcome. */
  readonly value: Json;
};

/** The outcome of a write in doubt, as a person knows it. */
export type Settle = {
  readonly by: Principal;
  /** Which request; may be left out when there is only one in doubt. */
  readonly of?: FactId;
  readonly decision: Settlement;
  /** The result, if the write was done. */
  readonly value?: Json;
  readonly error?: Failure;
  readonly why?: string;
  /** The digest that `pending` showed. The answer is refused if the call in doubt has another one. */
  readonly digest?: string;
};

/**
 * Hangs an answer from the request it answers, under a name that can be made only once: so there is one answer per
 * request, whoever else is answering. The run joins it to its chain later.
 */
export async function giveAnswer(
  store: Store,
  nameOrId: string,
  ask: FactId | { readonly signal: string } | undefined,
  kind: "approval-ask" | "signal-await" | "doubt",
  make: (asked: Fact, doubt?: Doubt) => Made,
  given: { readonly now: number; readonly by?: Principal; readonly digest?: string | undefined },
): Promise<FactId> {
  const { digest } = given;
  // The name of an older session of a run means the run: everything that it waits for now.
  const recorded = await recordedRun(store, nameOrId);
  const pending = recorded === undefined ? new Map<FactId, Pending>() : await awaited(store, recorded);
  const waiting = [...pending.values()].filter((one) =>
    kind === "doubt" ? one.doubt === true : one.type === kind,
  );
  const named = waiting.filter(
    (one) =>
      ask === undefined ||
      (typeof ask === "string" ? one.id === ask || one.id.startsWith(ask) : one.what === ask.signal),
  );
  // Several questions go to several people: a person answers their own.
  const fitting =
    named.length > 1 && kind === "approval-ask" ? await addressed(store, named, given.by) : named;
  const [found] = fitting;
  if (recorded === undefined || found === undefined || fitting.length > 1)
    throw new AnswerError(
      found === undefined
        ? `${JSON.stringify(nameOrId)} does not wait for that`
        : `${fitting.length} requests wait for that`,
      waiting.length === 0
        ? "see what is awaited: await rath.pending(name)"
        : `say which: ${(await labels(store, waiting)).join(", ")}`,
      { kind, waiting: waiting.map(({ id, type, what }) => ({ id, type, what })) },
    );
  if (kind === "doubt") await requireNobodyAtIt(store, recorded, found.id);
  const begun = kind === "doubt" ? await doubtAbout(store, recorded.leaves, found.id) : undefined;
  const line = (await store.line(found.id)) as string;
  const asked = await store.load(found.id);
  const fact = readFact(line, Session.realmOf(asked).blobs);
  const { digest: asking } = begun?.doubt ?? (fact as { readonly digest?: string });
  if (digest !== undefined && asking !== digest)
    throw new AnswerError(
      "what is asked is not what was shown",
      "look at it again: await rath.pending(name)",
      { shown: digest, asked: asking ?? null },
    );
  const made = make(fact, begun?.doubt);
  requireAnswer(made, nameOrId);
  if (begun !== undefined) requireSettler(begun, made.by as Principal);
  if (fact.type === "approval-ask")
    await requireMayAnswer(store, fact, made as Made & { type: "approval-give" }, {
      now: given.now,
      name: nameOrId,
      id: found.id,
    });
  const at = new Date(given.now).toISOString();
  const answer = asked.append({ ...made, of: found.id, at });
  const name = answerName(recorded.nonce, found.id);
  const refused = (): AnswerError =>
    new AnswerError(
      "it was answered already",
      `resume the run: await rath.resume(name, module)${fact.type === "approval-ask" ? "; an approval that no run has used can be revoked: await rath.revoke(name, { by })" : ""}`,
      { request: found.id },
    );
  try {
    await store.save(answer, { name, expect: null });
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    throw refused();
  }
  // The name is free again as soon as an answer was taken in, which may have happened since we looked.
  if (await isTooLate(store, recorded, found.id, answer.id)) {
    if ((await store.head(name)) === answer.id) await store.forget(name);
    throw refused();
  }
  return answer.id;
}

/**
 * Revokes an approval that the run has not used: appends a rejection by the same person to the approval, so that the record
 * keeps both. A run takes in answers only under the lease of its name, so with that lease nobody can use the approval.
 */
export async function revokeAnswer(
  store: Store,
  nameOrId: string,
  { by, ask, why, now }: Decision & { readonly now: number },
  conceal: (fact: FactInput) => FactInput,
): Promise<FactId> {
  const recorded = await recordedRun(store, nameOrId);
  const refused = (reason: string, hint: string) => new AnswerError(reason, hint, { by });
  const gone = () =>
    refused(
      `${String(by)} has no unused approval in ${JSON.stringify(nameOrId)}`,
      "see what is awaited: await rath.pending(name)",
    );
  if (recorded === undefined || recorded.over) throw gone();
  const lease = await store.lease(nameOf(recorded)).catch((error: unknown) => {
    if (!(error instanceof FencedError)) throw error;
    throw refused(
      "the run is under way and may have used the approval",
      "wait until the run suspends or ends, or cancel it",
    );
  });
  try {
    const mine: { readonly request: FactId; readonly given: FactId }[] = [];
    for (const { id, type } of (await awaited(store, recorded)).values()) {
      const given = type === "approval-ask" ? await store.head(answerName(recorded.nonce, id)) : undefined;
      if (given === undefined || (ask !== undefined && !id.startsWith(ask))) continue;
      const fact = await factOf(store, given);
      const approves = fact.type === "approval-give" && fact.decision === "approve" && fact.of === id;
      if (approves && fact.by === by) mine.push({ request: id, given });
    }
    const [only] = mine;
    if (only === undefined) throw gone();
    if (mine.length > 1) throw refused(`${by} gave ${mine.length} approvals`, "say which: { ask: id }");
    const approval = await store.load(only.given);
    const { digest } = approval.fact as FactOf<"approval-give">;
    const made = conceal({
      type: "approval-give",
      of: only.request,
      decision: "reject",
      digest,
      by,
      why: why ?? "the approval was revoked",
      at: new Date(now).toISOString(),
    });
    const answer = approval.append(made);
    await store.save(answer, { name: answerName(recorded.nonce, only.request), expect: only.given });
    return answer.id;
  } finally {
    await lease.release();
  }
}

type AnswerType = "approval-give" | "signal-give" | "effect-settle";

/** An answer, before it is known which request it answers. */
type Made = { [Type in AnswerType]: Omit<FactInput & { readonly type: Type }, "of"> }[AnswerType];

/** The awaited requests, each with a name of its own: two rules may ask about the same call. */
async function labels(store: Store, waiting: readonly Pending[]): Promise<readonly string[]> {
  const all: string[] = [];
  for (const { id, what } of waiting) {
    const { rule } = (await factOf(store, id)) as { readonly rule?: string };
    all.push(`${id.slice(0, 12)} (${what}${rule === undefined ? "" : `, for ${rule}`})`);
  }
  return all;
}

/** The questions that this principal may answer. */
async function addressed(
  store: Store,
  waiting: readonly Pending[],
  by: Principal | undefined,
): Promise<readonly Pending[]> {
  const mine: Pending[] = [];
  const others = new Set<Principal>();
  for (const one of waiting) {
    const { to } = (await factOf(store, one.id)) as FactOf<"approval-ask">;
    if (to === undefined || by === undefined || to.includes(by)) mine.push(one);
    else for (const other of to) others.add(other);
  }
  if (mine.length === 0) throw notTheirs(by, [...others]);
  return mine;
}

function notTheirs(by: unknown, to: readonly Principal[]): AnswerError {
  return new AnswerError(`it is not for ${String(by)} to say`, `it is for ${to.join(" or ")}`, {
    to: [...to],
  });
}

async function factOf(store: Store, id: FactId): Promise<Fact> {
  return readFact((await store.line(id)) as string, undefined);
}

/** Refuses a settlement by somebody who may not approve the call. */
function requireSettler(
  { doubt, asks }: { readonly doubt: Doubt; readonly asks: readonly FactOf<"approval-ask">[] },
  by: Principal,
): void {
  if (maySettle(asks, by)) return;
  if (doubt.to !== undefined) throw notTheirs(by, doubt.to);
  throw new AnswerError(
    `${by} is not a person, and may not settle it`,
    'settle it as a person: by: "user:ada"',
    { by },
  );
}

/** Refuses an answer that its sender may not give, not any longer, or not in this way. */
async function requireMayAnswer(
  store: Store,
  asking: FactOf<"approval-ask">,
  { by, decision, edit, value }: Made & { readonly type: "approval-give" },
  { now, name, id }: { readonly now: number; readonly name: string; readonly id: FactId },
): Promise<void> {
  const { to, expires, of, fixed, answer } = asking;
  if (to !== undefined && !to.includes(by)) throw notTheirs(by, to);
  if (expires !== undefined && Date.parse(expires) <= now)
    throw new AnswerError(
      `the deadline for an answer was ${expires}`,
      "resume the run: it goes on without, or asks others",
      { expires },
    );
  const asked = of === undefined ? undefined : await factOf(store, of);
  if (asked !== undefined && decision !== "reject" && asked.by === by)
    throw new AnswerError(
      `${asked.by} wants to do it, and cannot agree to it`,
      'somebody else must: say who, by: "user:ada"',
      { by: asked.by },
    );
  // Anybody may say no, and a question is not an approval.
  if (decision !== "reject" && answer === undefined && !mayAgree(asking, by))
    throw new AnswerError(
      `${String(by)} is not a person, and the terms of the approval do not name it`,
      `approve as a person: by: "user:ada"; or name it in the terms: approval: { from: ${JSON.stringify(by)} }`,
      { by },
    );
  if (edit !== undefined && fixed === true)
    throw new AnswerError(
      "its arguments cannot be changed",
      "approve it as it is, reject it, or take it over",
      {
        of: of ?? id,
      },
    );
  if (decision === "take-over" && asked === undefined)
    throw new AnswerError(
      "this is a question of a program, and nothing to take over",
      "approve it, or reject it",
    );
  if (answer !== undefined) requireFit(decision, value, answer, { name, id });
}

/** Whether it answers a question: with one of the words to choose from, or in words. */
function requireFit(
  decision: unknown,
  value: Json | undefined,
  schema: Json,
  { name, id }: { readonly name: string; readonly id: FactId },
): void {
  if (decision === "reject") return;
  const { enum: choices } = schema as { readonly enum?: readonly Json[] };
  const fits = choices === undefined ? typeof value === "string" : choices.includes(value as Json);
  if (decision === "take-over" && fits) return;
  const words = choices === undefined ? '"…"' : choices.map((one) => JSON.stringify(one)).join(" | ");
  throw new AnswerError(
    decision === "approve"
      ? "a question cannot be agreed to"
      : `${JSON.stringify(value)} does not answer the question`,
    `rath.answer(${JSON.stringify(name)}, "${id.slice(0, 12)}", ${words}, "user:ada")`,
    { answer: schema },
  );
}

const SETTLEMENTS: { readonly [decision in Settlement]: string } = {
  done: "it happened",
  failed: "it did not happen, and must not",
  again: "do it again",
};

/** For callers the compiler did not check: an answer says who gives it, and what became of what was in doubt. */
function requireAnswer(
  { type, by, decision }: { readonly [field: string]: unknown },
  nameOrId: string,
): void {
  const name = JSON.stringify(nameOrId);
  const unsettled = type === "effect-settle" && !Object.hasOwn(SETTLEMENTS, String(decision));
  if (typeof by === "string" && by !== "" && !unsettled) return;
  const words = Object.entries(SETTLEMENTS).map(([word, meaning]) => `"${word}" (${meaning})`);
  throw new AnswerError(
    unsettled ? "it does not say what became of it" : "it does not say who answers",
    type === "effect-settle"
      ? `rath.settle(${name}, { by: "user:ada", decision: "done", value }); a decision is ${words.join(", ")}`
      : type === "approval-give"
        ? `say who: rath.${decision === "reject" ? "reject" : "approve"}(${name}, { by: "user:ada" })`
        : `say who, after what they say: rath.answer(${name}, id, value, "user:ada")`,
    { type: String(type) },
  );
}

/** Everything that a run waits for now, in all of its branches. */
async function awaited(store: Store, { leaves }: Recorded): Promise<ReadonlyMap<FactId, Pending>> {
  const pending = new Map<FactId, Pending>();
  for (const leaf of leaves) {
    const { fact, pending: all } = await store.load(leaf);
    // A call that waits for the approval of a second execution is not asked about itself.
    const waiting = fact.type === "run-suspend" ? new Set(fact.waiting) : undefined;
    for (const one of all) {
      const { doubt, ...rest } = one;
      // A branch that left before it was begun knows nothing of the doubt.
      if (pending.get(one.id)?.doubt === true) continue;
      pending.set(one.id, doubt === true && waiting?.has(one.id) === false ? rest : one);
    }
  }
  return pending;
}

/**
 * Whether the run went on without this answer: it took in another one, or has ended. What nobody waits for any more is
 * kept where the run ends, so until then it is not too late.
 */
async function isTooLate(store: Store, run: Recorded, request: FactId, answer: FactId): Promise<boolean> {
  const now = (await recordedRun(store, run.head)) ?? run;
  if (!now.over && !(await isTaken(store, run, request, answer))) return false;
  if ((await joinedTo(store, run, answer)).length > 0) return false;
  return now.over || !(await awaited(store, now)).has(request);
}

/**
 * What somebody is doing right now is in no doubt: whoever settles it would have it done twice. That it is in doubt stands on
 * the record, or follows from nobody being at it any more.
 */
async function requireNobodyAtIt(store: Store, recorded: Recorded, request: FactId): Promise<void> {
  const name = nameOf(recorded);
  const { owner } = (await store.names({ under: name })).find((one) => one.name === name) ?? {};
  const [holder, here] = [owner === undefined ? undefined : identityOf(owner), thisProcess()];
  const isHere =
    holder !== undefined &&
    holder.host === here?.host &&
    holder.boot === here?.boot &&
    holder.space === here?.space;
  if (owner === undefined || !isHere || isDead(owner)) return;
  for await (const lines of store.lines(recorded.leaves, { without: [request] }))
    for (const { line } of lines)
      if (typeOf(line) === "effect-doubt" && line.includes(`"of":"${request}"`)) return;
  throw new AnswerError(
    `process ${holder.pid} is at work on ${JSON.stringify(name)}, and nothing is in doubt`,
    "wait for its end; or end that process first, then settle",
    { request, process: holder.pid },
  );
}

/** Whether the run has taken in another answer to a request. A doubt can come up again, and is answered anew then. */
async function isTaken(store: Store, run: Recorded, request: FactId, but: FactId): Promise<boolean> {
  for (const child of await store.children(request))
    if (child !== but && (await joinedTo(store, run, child)).some((fact) => fact.type === "answer-take"))
      return true;
  return false;
}

/** The facts for which the run joined a session: it took in an answer, or kept one at its end. */
async function joinedTo(store: Store, { nonce }: Recorded, id: FactId): Promise<readonly Fact[]> {
  const joined: Fact[] = [];
  for (const child of await store.children(id)) {
    const line = await store.line(child);
    const fact = line === undefined ? undefined : readFact(line, undefined);
    if (line !== undefined && fact?.run === nonce && parentsOf(line)[0] !== id) joined.push(fact);
  }
  return joined;
}
