import type { Json, Session } from "../../session/index.js";
import type { Unit } from "./unit.js";

/** A way to leave something out of view. The record keeps all of it. */
export interface Policy {
  readonly name: string;
  /** What tells one from another; part of the digest of the module that has it. */
  readonly state: { readonly [name: string]: Json };
  /** Leaves something out of view, oldest first; undefined where there is nothing that it could. */
  apply(crowded: Crowded): Promise<Relieved | undefined>;
}

/** A conversation that takes more room than it should. */
export type Crowded = {
  readonly session: Session;
  /** Whose prompt it is: on the record as who left something out. */
  readonly agent: string;
  /** What is in view; those with `stays` must not be touched. */
  readonly units: readonly Unit[];
  /** About how many tokens there are too many. */
  readonly excess: number;
  readonly budget: number;
};

/** `failed` says what went wrong, and that asking again would not help. */
export type Relieved = { readonly session: Session; readonly failed?: string };
