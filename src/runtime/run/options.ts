import type { SandboxPool } from "../../sandbox/pool/index.js";
import type { FactOf, Json, Principal, Session } from "../../session/index.js";
import type { Lease, Store } from "../../store/index.js";
import type { Module } from "../module.js";
import type { Policy } from "../policy/index.js";
import type { RateLimiter } from "../rate.js";
import type { Budget } from "../request/request.js";
import type { Secrets } from "../secrets.js";
import type { Services } from "../services.js";
import type { Entry, Tape } from "../tape/tape.js";
import type { Durability } from "./durability.js";
import type { WorkerHold } from "./lease.js";

/** Prices in US dollars per million tokens, by the id of the model. */
export type Prices = {
  readonly [model: string]: { readonly input: number; readonly output: number; readonly cached?: number };
};

/** How a replay continues where the tape ends, or says something else. */
export type Mode = "replay" | "verify" | "what-if" | "resume";

export type Limits = { readonly budget?: Budget | undefined; readonly policy?: Policy | undefined };

export type Observation =
  | { readonly kind: "fact"; readonly session: Session }
  | { readonly kind: "delta"; readonly request: Session; readonly delta: Json };

/** Shared by all runs of a runtime, and by the answers of people to them. */
export type RunServices = {
  /** Opens the store when it is first needed. */
  readonly open: () => Promise<Store>;
  /** The budget of each run, unless the run has its own. */
  readonly budget?: Budget | undefined;
  readonly services: Services;
  readonly prices: Prices;
  readonly rates: RateLimiter;
  readonly policies: readonly Policy[];
  readonly durability: Durability;
  readonly secrets: Secrets;
  readonly pool: SandboxPool;
  /** The host of the session that comes out. Without one, runs are not kept in the store. */
  readonly outer: object | undefined;
};

export type RunOptions = RunServices & {
  readonly observe: (observation: Observation) => void;
  readonly store: Store | undefined;
  readonly module: Module;
  readonly body: (session: Session) => Promise<Session>;
  readonly base: Session;
  readonly nonce: string;
  readonly name: string;
  readonly by?: Principal | undefined;
  /** On whose behalf it acts; not given for a run that version 0.1 recorded, nor for a what-if of one. */
  readonly for?: Principal | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Whether somebody reads what models answer while they write it. */
  readonly streams: boolean;
  /** Its record so far. Without one, the run begins now. */
  readonly tape?: Tape | undefined;
  readonly mode?: Mode;
  /** The recorded `run-start`; of a what-if, those of the runs it comes from, the first run's first. */
  readonly starts?: readonly Entry[];
  /** The run that a what-if comes from. */
  readonly origin?: FactOf<"run-start">["from"];
  /** The recorded `run-start` of the what-if itself. */
  readonly own?: Entry | undefined;
  /** Names that an earlier process kept this run's branches under. */
  readonly stale?: readonly string[];
  /** Taken before the tape was read, so that nobody can have gone on since. */
  readonly lease?: Lease | undefined;
  readonly hold?: Omit<WorkerHold, "lease"> | undefined;
};
