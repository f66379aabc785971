import { canonical, type Module, perform, type Request, waitFor } from "../runtime/index.js";
import { digestOf, type FactOf, type Json, type Session, type Terms } from "../session/index.js";
import { defined, showValue } from "../util/index.js";
import { createModule } from "./define.js";
import { RejectedError } from "./error.js";
import { runtimeStep, type StepResult } from "./host.js";
import { called, recordable, refusing, requireJson, requireName, requireTerms } from "./options.js";

/** When a sleep ends: after so many milliseconds, or at a time. */
export type Wake = number | { readonly until: string | Date };

/**
 * Waits for a time. The run is suspended meanwhile: it survives a restart, and nothing stays in memory.
 *
 * ```ts
 * const reminder = sequence([ask, sleep(24 * 3_600_000), ask]); // or sleep({ until: "2030-01-01T09:00:00Z" })
 * ```
 */
export function sleep(wake: Wake): Module {
  const timer = Object.freeze(timerOf(wake));
  return createModule({ name: "sleep", kind: "sleep", state: timer }, (session) =>
    waitFor(session, { type: "timer-set", ...timer }),
  );
}

/** A module that waits for a signal from outside. */
export interface Signal extends Module {
  /** Waits for the signal and returns its value. */
  call(session: Session): Promise<StepResult<Json>>;
}

/**
 * Waits until somebody answers the signal with this name. `what` describes the request.
 *
 * ```ts
 * const paid = signal("paid", { order: 7 });
 * const { session: next, value } = await paid.call(session); // rath.signal(run, "paid", { amount: 130 }, "service:bank")
 * ```
 */
export function signal(name: string, what?: Json): Signal {
  requireName(name, "signal", 'signal("paid")');
  const asked =
    what === undefined ? {} : { what: requireJson(what, "`what`", refusing(called("signal", name))) };
  const call = async (session: Session): Promise<StepResult<Json>> => {
    const taken = await waitFor(session, { type: "signal-await", name, ...asked });
    return { session: taken, value: answerIn<"signal-give">(taken).value };
  };
  const state = what === undefined ? {} : { state: Object.freeze(asked) };
  return createModule(
    { name, kind: "signal", ...state, call },
    async (session) => (await call(session)).session,
  );
}

/** The answer to a question. */
export type Verdict = {
  readonly session: Session;
  /** Whether it was agreed to exactly what was shown. */
  readonly approved: boolean;
  readonly why?: string;
  /** Another content that was approved in place of the one shown, which was not. */
  readonly edit?: Json;
};

/** A module that asks people for approval. */
export interface Approve extends Module {
  /** Waits for the answer and returns it, also when it is a rejection. */
  call(session: Session): Promise<Verdict>;
}

/**
 * Waits until a person approves exactly the content shown. The record has its digest, and the approval covers nothing else.
 * `forward` throws a `RejectedError` at a no, and where something else was agreed to; `call` gives both back. With terms it
 * takes the agreement of certain people, of more than one, or within a time.
 *
 * ```ts
 * const consent = approve("consent", (session) => ({ pay: totalOf(session) }), { from: ["user:ada", "user:bob"], need: 2 });
 * const { session: next, approved, why } = await consent.call(session);
 * ```
 */
export function approve(name: string, what: Json | ((session: Session) => Json), terms?: Terms): Approve {
  requireName(name, "question", 'approve("consent", { pay: 130 })');
  const where = called("question", name);
  if (terms !== undefined) requireTerms(terms, refusing(where));
  const fixed = typeof what === "function" ? undefined : requireJson(what, "`what`", refusing(where));
  const call = async (session: Session): Promise<Verdict> => {
    const question = typeof what === "function" ? recordable(what(session), "what", where) : (fixed as Json);
    if (terms === undefined) return askAnybody(session, name, question);
    const done = await perform(session, consentTo(name, question, terms));
    const { fact } = done;
    if (fact.type === "step-failure") return { session: done, approved: false, why: fact.error.message };
    const { edit } = fact.value as { readonly edit?: Json };
    return { session: done, approved: edit === undefined, ...defined({ edit }) };
  };
  const state = Object.freeze(defined({ what: fixed, terms: terms as Json | undefined }));
  const known = Object.keys(state).length > 0 ? { state } : {};
  return createModule({ name, kind: "approve", ...known, call }, async (session) => {
    const { approved, session: ended, edit, why } = await call(session);
    if (approved) return ended;
    const reason = edit === undefined ? why : `somebody agreed to ${JSON.stringify(edit)} in its place`;
    throw new RejectedError(name, ended, reason);
  });
}

/** One question, that anybody may answer. */
async function askAnybody(session: Session, name: string, question: Json): Promise<Verdict> {
  const digest = digestOf(canonical(question));
  const taken = await waitFor(session, { type: "approval-ask", what: question, digest, name });
  const { decision, why, digest: covered, edit } = answerIn<"approval-give">(taken);
  const agreed = decision === "approve" && covered === digest;
  return {
    session: taken,
    approved: agreed && edit === undefined,
    ...defined({ why, edit: agreed ? edit : undefined }),
  };
}

/** A step that does nothing but need the agreement. */
function consentTo(name: string, question: Json, terms: Terms, edit?: Json): Request<"step-call"> {
  // An edit is the word of the person who agreed to it.
  return {
    ...runtimeStep({ name, input: question, effect: "pure" }, "trusted", () => defined({ edit })),
    asks: true,
    name,
    approval: { what: edit ?? question, terms },
    edit: async (changed) => consentTo(name, question, terms, changed),
  };
}

function timerOf(wake: Wake): { readonly milliseconds: number } | { readonly until: string } {
  if (typeof wake === "number" && wake >= 0 && Number.isFinite(wake)) return { milliseconds: wake };
  const { until } = (typeof wake === "object" && wake !== null ? wake : {}) as { readonly until?: unknown };
  const time = typeof until === "string" || until instanceof Date ? new Date(until) : undefined;
  if (time !== undefined && !Number.isNaN(time.getTime())) return { until: time.toISOString() };
  throw refusing("a sleep")(
    `${showValue(until ?? wake)} is neither milliseconds nor a time`,
    'sleep(60_000), or sleep({ until: "2030-01-01T09:00:00Z" })',
  );
}

/** An answer hangs from its request, so the session that takes it in has it as its second parent. */
function answerIn<Type extends "signal-give" | "approval-give">(taken: Session): FactOf<Type> {
  return taken.parents[1]?.fact as FactOf<Type>;
}
