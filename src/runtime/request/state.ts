import type { Fact, FactOf } from "../../session/index.js";
import { EVIDENCE } from "./evidence.js";

type Decided = FactOf<"policy-decide">;

/** That a write was started, and by which run. Until its outcome is known it may have happened. */
export type Begun = { readonly run: string | undefined };

/** The stage of one request of a batch. */
export type Stage =
  /** Nothing was decided about it as it is now. */
  | { readonly at: "asked" }
  /** Policies have decided about it. */
  | { readonly at: "ruled" }
  | { readonly at: "asking-people" }
  /** It is made with the arguments that a person gave. */
  | { readonly at: "editing"; readonly begun: Begun | undefined }
  /** A module runs in its place. */
  | { readonly at: "inside" }
  /** `begun` for a write, which must not be repeated unseen. */
  | { readonly at: "attempting"; readonly begun: Begun | undefined }
  | { readonly at: "backing-off" }
  /** A write was started, and nobody knows what became of it. */
  | { readonly at: "in-doubt"; readonly begun: Begun }
  | { readonly at: "done" };

/** Fields of a request at every stage. */
type Known = {
  /** The attempts so far, in every process. */
  readonly attempts: number;
  /** The decision of the policies about its present arguments, and about the first ones. */
  readonly verdict: Decided | undefined;
  readonly firstVerdict: Decided | undefined;
  /** Whether it has the arguments that a person gave. */
  readonly edited: boolean;
  /** Whether this process is at it: until it lets go, nothing else begins it. */
  readonly held: boolean;
};

export type RequestState = Stage & Known;

/** A request that was asked, and nothing has happened yet. */
export const ASKED: RequestState = Object.freeze({
  at: "asked",
  attempts: 0,
  verdict: undefined,
  firstVerdict: undefined,
  edited: false,
  held: false,
});

/** The effect of an answer on a request. */
export type Said =
  /** A person gave other arguments. */
  | "edit"
  /** Somebody who may say so said what became of a write. */
  | "settle"
  | "other";

/** A fact of the chain that is about a request, recorded or made now. */
type FactEvent = {
  readonly type: "fact";
  readonly fact: Fact;
  /** The request does nothing but wait. */
  readonly waits?: boolean;
  /** Of a `policy-decide`: it is about the arguments that were asked for first. */
  readonly asAsked?: boolean;
  /** Of an `approval-ask`: it says why arguments that a person gave cannot be used. */
  readonly voidsEdit?: boolean;
  /** Of an `answer-take`. */
  readonly said?: Said;
};

export type RequestEvent =
  | FactEvent
  /** This process begins to deal with it, or lets go. */
  | { readonly type: "begin" | "let-go" }
  /** The tape has ended: an attempt that is recorded and not this process's own was cut off. */
  | { readonly type: "cut-off" }
  /** It is about to be made with other arguments. */
  | { readonly type: "edit" }
  /** It was made with them; they cannot be used; or a person gave others meanwhile. */
  | { readonly type: "edit-over"; readonly how: "made" | "refused" | "superseded" }
  /** No policy has anything to say about the arguments that it has now: what was said of the first ones holds. */
  | { readonly type: "keep-verdict" }
  /** A module begins in its place. */
  | { readonly type: "enter" }
  | { readonly type: "attempt"; readonly attempt: number }
  /** It was found out that a write did not happen. */
  | { readonly type: "not-done" };

/**
 * Where a request stands after an event. Pure: a recorded fact and what happens now go through the same table, so that a replay
 * cannot differ from the run.
 */
export function advance(state: RequestState, event: RequestEvent): RequestState {
  if (state.at === "done") return state;
  switch (event.type) {
    case "fact":
      return EVIDENCE.has(event.fact.type) ? state : afterFact(state, event);
    case "begin":
      return { ...state, held: true };
    case "let-go":
      return { ...state, held: false };
    case "cut-off":
      return state.at === "attempting" && !state.held ? resting(state, state.begun) : state;
    case "edit":
      return { at: "editing", begun: begunIn(state), ...known(state) };
    case "edit-over":
      return afterEdit(state, event.how);
    case "keep-verdict":
      return state.firstVerdict === undefined
        ? state
        : moved({ ...state, verdict: state.firstVerdict }, "ruled");
    case "enter":
      return { at: "inside", ...known(state) };
    case "attempt":
      return { at: "attempting", begun: begunIn(state), ...known(state), attempts: event.attempt };
    case "not-done":
      return resting(state, undefined);
  }
}

/** That it was begun as a write and may have happened, if so. */
export function begunIn(state: RequestState): Begun | undefined {
  return "begun" in state ? state.begun : undefined;
}

function afterFact(state: RequestState, { fact, waits, asAsked, voidsEdit, said }: FactEvent): RequestState {
  switch (fact.type) {
    case "policy-decide":
      return moved({ ...state, verdict: fact, ...(asAsked && { firstVerdict: fact }) }, "ruled");
    case "approval-ask":
      return moved(voidsEdit ? { ...state, verdict: state.firstVerdict } : state, "asking-people");
    case "effect-start":
      return { at: "attempting", begun: { run: fact.run }, ...known(state), attempts: fact.attempt };
    case "effect-fail":
      return { at: "backing-off", ...known(state), attempts: fact.attempt };
    case "effect-doubt":
      return resting(state, begunIn(state));
    case "answer-take":
      if (waits) return done(state);
      if (said === "settle") return withoutDoubt(state);
      return said === "edit" ? moved({ ...state, verdict: undefined, edited: false }, "asked") : state;
    case "wait-cancel":
      return waits ? done(state) : state;
    case "approval-use":
      return state;
    default:
      return done(state);
  }
}

function afterEdit(state: RequestState, how: "made" | "refused" | "superseded"): RequestState {
  const begun = begunIn(state);
  const free = { ...state, held: false };
  if (how === "made") return resting({ ...free, edited: true }, begun);
  // A write that was begun with these arguments stays in doubt.
  if (how === "refused" && begun === undefined)
    return resting({ ...free, verdict: state.firstVerdict }, undefined);
  return resting(free, begun);
}

/** A write is settled. A request that is being edited, or runs inside, goes on with that. */
function withoutDoubt(state: RequestState): RequestState {
  if (state.at === "editing") return { ...state, begun: undefined };
  return begunIn(state) === undefined ? state : resting(state, undefined);
}

/** The stage of a request that nothing is done about, given what is known of it. */
function resting(state: RequestState, begun: Begun | undefined): RequestState {
  if (begun !== undefined) return { at: "in-doubt", begun, ...known(state) };
  return { at: state.verdict === undefined ? "asked" : "ruled", ...known(state) };
}

/** The next stage of a request that nothing is done about yet; a request under way stays there. */
function moved(state: RequestState, at: "asked" | "ruled" | "asking-people"): RequestState {
  return UNDER_WAY.has(state.at) ? state : { at, ...known(state) };
}

const UNDER_WAY: ReadonlySet<Stage["at"]> = new Set(["editing", "inside", "attempting", "in-doubt"]);

function done(state: RequestState): RequestState {
  return { at: "done", ...known(state), held: false };
}

/** To be spread last: V8 is many times as slow when fields are added after a spread. */
function known({ attempts, verdict, firstVerdict, edited, held }: RequestState): Known {
  return { attempts, verdict, firstVerdict, edited, held };
}
