import type { Sandbox, Trees } from "../../sandbox/index.js";
import type { Effect, FactInput, FactOf, Failure, Json, Session, Terms } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { failureOf } from "../error.js";
import type { Touches } from "../policy/index.js";

/** How each kind of request can come out. */
type Outcomes = {
  "model-call": "model-reply" | "model-failure";
  "tool-call": "tool-result" | "tool-failure";
  "step-call": "step-result" | "step-failure";
};
export type RequestType = keyof Outcomes;

/** The fact of an outcome, without the request that it answers. */
export type Outcome<Type extends RequestType = RequestType> = {
  readonly type: Outcomes[Type];
  readonly [field: string]: unknown;
};

/** A session that ends in the outcome of a request. */
export type Performed<Type extends RequestType> = Session & { readonly fact: FactOf<Outcomes[Type]> };

/** One try at an effect. */
export interface Attempt {
  /** Which attempt it is; counts from 1. */
  readonly attempt: number;
  /** The same as `attempt`: its name in version 0.1. */
  readonly number: number;
  /** Aborted when the effect must stop: cancelled, out of time, or the run gave up. */
  readonly signal: AbortSignal;
  /** The same at every attempt, also after a crash: send it along, and the other side can tell a repetition. */
  readonly key: string;
  /** The request as it was recorded. */
  readonly request: Session;
  /** Tells observers about something on the way; it is not recorded. */
  emit(delta: Json): void;
  /**
   * The sandbox that the session is placed on, opened at first use. The commands that run in it, and the changes of
   * its files when the attempt is over, go on the record before the outcome.
   */
  sandbox(): Promise<Sandbox>;
  /** The value of a secret that the runtime was given. It is never recorded. */
  secret(name: string): string;
  /** The value without secrets. Recorded values pass through it anyway; use it before you cut a text. */
  redact<Value extends Json>(value: Value): Value;
  /** Where the files of sessions are kept. */
  trees(): Promise<Trees>;
  /** Where sessions are kept: for what is remembered beyond this one. */
  store(): Promise<Store>;
  /** Puts evidence on the record before the outcome, such as a `validation-report`. */
  record(fact: FactInput): void;
}

/** Something to be done that is not a pure function of the session. */
export type Request<Type extends RequestType = RequestType> = {
  /** The request as it is recorded. */
  readonly fact: FactInput & { readonly type: Type };
  readonly effect: Effect;
  /** Performs the effect and returns its outcome. An error is recorded as `failed` says. */
  readonly act: (attempt: Attempt) => Promise<Outcome<Type>>;
  readonly failed: (error: Failure, thrown: unknown) => Outcome<Type>;
  /** A module instead of an effect: it runs on a fork of the request and is entered again after a crash. */
  readonly inside?: {
    readonly branch: string;
    readonly body: (session: Session) => Promise<Session>;
    readonly outcome: (session: Session) => Outcome<Type>;
  };
  /** Of two requests with a key in common, the later one starts when the earlier one is done. */
  readonly conflicts?: readonly string[];
  /** The effect that policies assume, where the declared one is not trusted. */
  readonly presumed?: Effect;
  /** The JSON Schema of its input, where there is one, for policies to tell arguments by. */
  readonly schema?: Json;
  /** The resources it touches, and whether it can be undone, for policies. */
  readonly touches?: Touches;
  readonly reversible?: boolean;
  /** A person must see exactly this, and agree, before it starts; anybody, unless the terms say who. */
  readonly approval?: { readonly what: Json; readonly terms?: Terms };
  /** The content that a person sees when a policy asks for approval. Default: its name and input. */
  readonly shown?: Json;
  /** How the question is called, where it is about no call; and what its answer must be, where only an answer will do. */
  readonly name?: string;
  readonly answer?: Json;
  /** The result that answers it comes from a client, once policies let it pass; and where such results come from. */
  readonly client?: { readonly origin: string };
  /** It does nothing but ask a person: no policy decides about that. */
  readonly asks?: true;
  /** The request with other arguments, as a person would have them; or why they will not do. */
  readonly edit?: (input: Json) => Promise<Request<Type> | Failure>;
  readonly retry?: Retry;
  /** The time limit of one attempt, in milliseconds. */
  readonly timeout?: number;
  /** The minimum cost, known before it starts. */
  readonly spend?: Spend;
  /**
   * Finds out what became of a `write` that was started and has no outcome: the outcome, "again" when it certainly
   * did not happen, or "unknown", which leaves it to a person.
   */
  readonly reconcile?: (attempt: Attempt) => Promise<Outcome<Type> | "again" | "unknown">;
};

/** How often and how patiently an effect is tried again. */
export type Retry = {
  /** The number of attempts, including the first. Default 3. */
  readonly attempts?: number;
  /** Milliseconds before the second attempt (default 500), then twice as long each time up to `most` (default 30,000). */
  readonly wait?: number;
  readonly most?: number;
  /** Whether this failure may pass. Default: what says so itself (`isRetryable`), timeouts, and broken connections. */
  readonly when?: (error: unknown) => boolean;
};

/** The cost of a call. Money is in US dollars. */
export type Spend = { readonly steps?: number; readonly tokens?: number; readonly money?: number };

/** The limits of a run, a module or an agent. */
export type Budget = Spend & { readonly milliseconds?: number };

/** The outcome of a request that failed, as the request describes it; where that throws, without the error. */
export function failedAs(request: Request, error: unknown): Outcome {
  const failure = failureOf(error);
  try {
    return request.failed(failure, error);
  } catch {
    return request.failed(failure, undefined);
  }
}
