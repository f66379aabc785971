import {
  type Fact,
  type FactId,
  type FactInput,
  type FactOf,
  type Json,
  mayAgree,
  maySettle,
  type Pending,
  type Principal,
  parentsOf,
  readFact,
  type Session,
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
import { delegationOf, mayStand } from "../policy/index.js";
import { answerName, standingName } from "../run/names.js";
import { factAt, nameOf, type Recorded, recordedRun } from "../tape/recorded.js";
import { type BegunCall, type Doubt, doubtAbout } from "./awaited.js";
import { inputSchemaOf, misfitOf } from "./json-schema.js";
import type { Decision } from "./people.js";

type AnswerType = "approval-give" | "signal-give" | "effect-settle";

/** An answer, before it is known which request it answers. */
export type AnswerFact = {
  [Type in AnswerType]: Omit<FactInput & { readonly type: Type }, "of">;
}[AnswerType];

export type MakeAnswer = (asked: Fact, doubt?: Doubt) => AnswerFact;

export type AnswerOptions = {
  readonly kind: "approval-ask" | "signal-await" | "doubt";
  /** The id of the request or its beginning, or the name of a signal; may be left out when there is only one. */
  readonly ask?: FactId | { readonly signal: string } | undefined;
  readonly by?: Principal;
  /** The digest of what the sender saw. */
  readonly digest?: string | undefined;
  /** Whether the requester takes the request back: they need not be an approver. */
  readonly withdrawn?: boolean | undefined;
  readonly now: number;
};

/** The requests that are open in any of these sessions, but not calls that wait for their own approval. */
export async function requestsOf(
  store: Store,
  heads: readonly string[],
): Promise<ReadonlyMap<FactId, Pending>> {
  const open = new Map<FactId, Pending>();
  for (const head of heads) {
    const { fact, pending } = await store.load(head);
    const waiting = fact.type === "run-suspend" ? new Set(fact.waiting) : undefined;
    for (const one of pending) {
      if (waiting?.has(one.id) === false) continue;
      // A branch that left before a call was begun knows nothing of its doubt.
      if (open.get(one.id)?.doubt !== true) open.set(one.id, one);
    }
  }
  return open;
}

/**
 * Hangs an answer from the request it answers, under a name that can be made only once: so there is one answer per
 * request, however many people answer. The run joins it to its chain later.
 */
export async function giveAnswer(
  store: Store,
  nameOrId: string,
  options: AnswerOptions,
  make: MakeAnswer,
): Promise<FactId> {
  const { kind, digest, now, withdrawn } = options;
  // The name of an older session of a run means the run: everything that it waits for now.
  const recorded = await recordedRun(store, nameOrId);
  const open = recorded === undefined ? [] : [...(await requestsOf(store, recorded.leaves)).values()];
  const waiting = open.filter((one) => (kind === "doubt" ? one.doubt === true : one.type === kind));
  const fitting = await fittingOf(store, waiting, options);
  const [found] = fitting;
  if (recorded === undefined)
    throw new AnswerError(
      `${JSON.stringify(nameOrId)} was not made by a run: it is a fork, or no module made it`,
      'answer the run that it was forked from; or ask again in a new run: await rath.replay(NAME, module, { mode: "what-if" })',
      { kind, waiting: [] },
    );
  if (found === undefined || fitting.length > 1)
    throw new AnswerError(
      found === undefined
        ? `${JSON.stringify(nameOrId)} does not wait for this answer`
        : `${fitting.length} requests wait for this answer`,
      waiting.length === 0
        ? "see the waiting requests: await rath.pending(name)"
        : `name one: ${(await labelsOf(store, waiting)).join(", ")}`,
      { kind, waiting: waiting.map(({ id, type, what }) => ({ id, type, what })) },
    );
  const { id } = found;
  if (kind === "doubt") await requireNobodyAtIt(store, recorded, id);
  const begun = kind === "doubt" ? await doubtAbout(store, recorded.leaves, id) : undefined;
  const asked = await store.load(id);
  const { fact } = asked;
  const { digest: asking } = begun?.doubt ?? (fact as { readonly digest?: string });
  if (digest !== undefined && asking !== digest)
    throw new AnswerError(
      "the request is not what was shown",
      "read the current request: await rath.pending(name)",
      { shown: digest, asked: asking ?? null },
    );
  const made = make(fact, begun?.doubt);
  requireAnswer(made, nameOrId);
  if (begun !== undefined) requireSettler(begun, made.by);
  if (fact.type === "approval-ask" && made.type === "approval-give") {
    const call = fact.of === undefined ? undefined : await factAt(store, fact.of);
    if (withdrawn === true) requireRequester(asked, made.by);
    else await requireApprover(fact, call, made, { now, name: nameOrId, id });
    if (made.edit !== undefined && fact.of !== undefined) await requireFitting(store, fact.of, made.edit);
  }
  const answer = asked.append({ ...made, of: id, at: new Date(now).toISOString() });
  const name = answerName(recorded.nonce, id);
  const stands = made.type === "approval-give" && made.always !== undefined;
  const also = stands ? { also: { [standingName(answer.id)]: answer } } : {};
  const refused = (): AnswerError =>
    new AnswerError(
      "it was answered already",
      `resume the run: await rath.resume(name, module)${fact.type === "approval-ask" ? "; an approval that no run has used can be revoked: await rath.revoke(name, { by })" : ""}`,
      { request: id },
    );
  await store.save(answer, { name, expect: null, ...also }).catch((error: unknown) => {
    throw error instanceof ConflictError ? refused() : error;
  });
  // The name is free again as soon as an answer was taken in, which may have happened since we looked.
  if (await isTooLate(store, recorded, id, answer.id)) {
    if ((await store.head(name)) === answer.id) await store.forget(name);
    if (stands) await store.forget(standingName(answer.id));
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
  { by, ask = "", why = "the approval was revoked", now }: Decision & { readonly now: number },
  conceal: (fact: FactInput) => FactInput,
): Promise<FactId> {
  const recorded = await recordedRun(store, nameOrId);
  const refused = (reason: string, hint: string) => new AnswerError(reason, hint, { by });
  const gone = () =>
    refused(
      `${String(by)} has no unused approval in ${JSON.stringify(nameOrId)}`,
      "see the waiting requests: await rath.pending(name), and the standing approvals: await rath.approvals(name)",
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
    const mine: { readonly of: FactId; readonly given: FactId }[] = [];
    for (const { id, type } of (await requestsOf(store, recorded.leaves)).values()) {
      if (type !== "approval-ask" || !id.startsWith(ask)) continue;
      const given = await store.head(answerName(recorded.nonce, id));
      const fact = given === undefined ? undefined : await factAt(store, given);
      if (given === undefined || fact?.type !== "approval-give" || fact.of !== id) continue;
      if (fact.decision === "approve" && fact.by === by) mine.push({ of: id, given });
    }
    const [only] = mine;
    if (only === undefined) throw gone();
    if (mine.length > 1) throw refused(`${by} gave ${mine.length} approvals`, "say which: { ask: id }");
    const { of, given } = only;
    const approval = await store.load(given);
    const { digest } = approval.fact as FactOf<"approval-give">;
    const at = new Date(now).toISOString();
    const answer = approval.append(
      conceal({ type: "approval-give", of, decision: "reject", digest, by, why, at }),
    );
    const stands = (await store.head(standingName(given))) !== undefined;
    const also = stands ? { also: { [standingName(given)]: answer } } : {};
    await store.save(answer, { name: answerName(recorded.nonce, of), expect: given, ...also });
    return answer.id;
  } finally {
    await lease.release();
  }
}

/** The requests that an answer may be for. Several questions go to several people: a person answers their own. */
async function fittingOf(
  store: Store,
  waiting: readonly Pending[],
  { kind, ask, by, withdrawn }: AnswerOptions,
): Promise<readonly Pending[]> {
  const named = waiting.filter(({ id, what }) =>
    typeof ask === "object" && ask !== null ? what === ask.signal : id.startsWith(ask ?? ""),
  );
  if (named.length < 2 || kind !== "approval-ask" || by === undefined || withdrawn === true) return named;
  const asks = await Promise.all(named.map(({ id }) => factAt(store, id) as Promise<FactOf<"approval-ask">>));
  const mine = named.filter((_, place) => asks[place]?.to?.includes(by) !== false);
  if (mine.length === 0) throw notTheirs(by, [...new Set(asks.flatMap(({ to = [] }) => to))]);
  return mine;
}

/** The requests, each with a label of its own: two rules may ask about the same call. */
async function labelsOf(store: Store, waiting: readonly Pending[]): Promise<readonly string[]> {
  const facts = await Promise.all(waiting.map(({ id }) => factAt(store, id)));
  return waiting.map(({ id, what }, place) => {
    const { rule } = facts[place] as { readonly rule?: string };
    return `${id.slice(0, 12)} (${what}${rule === undefined ? "" : `, for ${rule}`})`;
  });
}

/** Refuses a settlement by somebody who may not approve the call. */
function requireSettler({ doubt, asks }: BegunCall, by: Principal): void {
  if (maySettle(asks, by)) return;
  if (doubt.to !== undefined) throw notTheirs(by, doubt.to);
  const hint = 'settle it as a person: by: "user:ada"';
  throw new AnswerError(`${by} is not a person, and may not settle it`, hint, { by });
}

/**
 * Whether the run went on without this answer: it took in another one, or has ended. An answer that nobody waits for is
 * kept where the run ends, so until then it is not too late.
 */
async function isTooLate(store: Store, run: Recorded, request: FactId, answer: FactId): Promise<boolean> {
  const now = (await recordedRun(store, run.head)) ?? run;
  if (!now.over && !(await isTaken(store, run, request, answer))) return false;
  if ((await joinedTo(store, run, answer)).length > 0) return false;
  return now.over || !(await requestsOf(store, now.leaves)).has(request);
}

/**
 * A call that a process is executing right now is not in doubt: to settle it would have it done twice. It is in doubt when
 * the record says so, or when no process executes it.
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
    `process ${holder.pid} still runs ${JSON.stringify(name)}, so no effect is in doubt`,
    "wait until the process ends, or end it first; then settle",
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

const SETTLEMENTS: { readonly [decision in Settlement]: string } = {
  done: "it happened",
  failed: "it did not happen, and must not",
  again: "do it again",
};

/** For callers the compiler did not check: an answer says who gives it, and what became of what was in doubt. */
function requireAnswer({ type, by, ...answer }: AnswerFact, nameOrId: string): void {
  const name = JSON.stringify(nameOrId);
  const { decision } = answer as { readonly decision?: string };
  const unsettled = type === "effect-settle" && !Object.hasOwn(SETTLEMENTS, String(decision));
  if (typeof by === "string" && (by as string) !== "" && !unsettled) return;
  const words = Object.entries(SETTLEMENTS).map(([word, meaning]) => `"${word}" (${meaning})`);
  const hints = {
    "effect-settle": `rath.settle(${name}, { by: "user:ada", decision: "done", value }); a decision is ${words.join(", ")}`,
    "approval-give": `say who: rath.${decision === "reject" ? "reject" : "approve"}(${name}, { by: "user:ada" })`,
    "signal-give": `say who, after what they say: rath.answer(${name}, id, value, "user:ada")`,
  };
  const reason = unsettled ? "it does not say what became of it" : "it does not say who answers";
  throw new AnswerError(reason, hints[type], { type });
}

/** Refuses an answer to an approval that its sender may not give, or not any longer, or not in this way. */
async function requireApprover(
  asking: FactOf<"approval-ask">,
  /** The call that the approval is for. */
  call: Fact | undefined,
  { by, decision, edit, value, always }: AnswerFact & { readonly type: "approval-give" },
  { now, name, id }: { readonly now: number; readonly name: string; readonly id: FactId },
): Promise<void> {
  const { to, expires, of, fixed, answer } = asking;
  if (to !== undefined && !to.includes(by)) throw notTheirs(by, to);
  const agrees = decision !== "reject";
  if (expires !== undefined && Date.parse(expires) <= now)
    throw new AnswerError(
      `the deadline for an answer was ${expires}`,
      "resume the run: it continues without an answer, or asks others",
      { expires },
    );
  if (agrees && call?.by === by)
    throw new AnswerError(
      `${by} made the request, and cannot approve it`,
      'somebody else must approve it: by: "user:ada"',
      { by },
    );
  // Anybody may say no, and a question is not an approval.
  if (agrees && answer === undefined && !mayAgree(asking, by))
    throw new AnswerError(
      `${by} is not a person, and the terms of the approval do not name it`,
      `approve as a person: by: "user:ada"; or name it in the terms: approval: { from: ${JSON.stringify(by)} }`,
      { by },
    );
  if (always !== undefined && (!mayStand(asking) || call === undefined || !isToolOrStep(call)))
    throw new AnswerError(
      "it is not a call that a standing approval can cover",
      asking.execution === undefined
        ? "leave out `always`: a question, a call of a model, and arguments that somebody replaced are asked about each time"
        : "leave out `always`: a second execution of a call is asked about each time",
      { of: of ?? id },
    );
  if (edit !== undefined && fixed === true) {
    const hint = "approve it as it is, reject it, or take it over";
    throw new AnswerError("its arguments cannot be changed", hint, { of: of ?? id });
  }
  if (decision === "take-over" && call === undefined) {
    const reason = "it is a question of a program, and has no call to take over";
    throw new AnswerError(reason, "approve it, or reject it");
  }
  if (answer === undefined || !agrees) return;
  const problem = decision === "take-over" ? await misfitOf(answer, value ?? null) : "";
  if (problem === undefined) return;
  const { enum: choices } = answer as { readonly enum?: readonly Json[] };
  const words = choices === undefined ? '"…"' : choices.map((one) => JSON.stringify(one)).join(" | ");
  throw new AnswerError(
    decision === "approve"
      ? "a question needs an answer, not an approval"
      : `${JSON.stringify(value)} does not answer the question: ${problem}`,
    `rath.answer(${JSON.stringify(name)}, "${id.slice(0, 12)}", ${words}, "user:ada")`,
    { answer },
  );
}

/** Refuses arguments that do not fit the input schema of the tool. */
async function requireFitting(store: Store, call: FactId, edit: Json): Promise<void> {
  const schema = await inputSchemaOf(store, call);
  const problem = schema === undefined ? undefined : await misfitOf(schema, edit);
  if (schema === undefined || problem === undefined) return;
  throw new AnswerError(
    `the arguments ${brief(edit)} do not fit the input schema of the tool: ${problem}`,
    `give arguments that fit ${brief(schema)}`,
    { edit, schema },
  );
}

function brief(value: Json): string {
  const text = JSON.stringify(value);
  return text.length <= 300 ? text : `${text.slice(0, 299)}…`;
}

function isToolOrStep({ type }: Fact): boolean {
  return type === "tool-call" || type === "step-call";
}

function notTheirs(by: unknown, to: readonly Principal[]): AnswerError {
  const hint = `who may answer: ${to.join(" or ")}`;
  return new AnswerError(`${String(by)} is not among those who may answer`, hint, { to: [...to] });
}

/** Refuses the withdrawal of a request by somebody who did not make it. */
function requireRequester(asked: Session, by: Principal): void {
  const requesters = delegationOf(asked);
  if (requesters.includes(by)) return;
  throw new AnswerError(
    `${by} did not make the request`,
    `only ${requesters.join(" or ")} can withdraw it; an approver rejects it: rath.reject(name, { by })`,
    { by, requesters: [...requesters] },
  );
}
