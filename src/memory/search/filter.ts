import type { Principal } from "../../session/index.js";
import { holdsIn, type Scope } from "../scope.js";
import type { Source } from "../source.js";

/** Which memories are meant. */
export type Filter = {
  /** Where the reader is: what is kept for there, or for more than that, is meant. */
  readonly scope?: Scope;
  /** Whether what is kept for less than that is meant too. */
  readonly within?: boolean;
  readonly sources?: readonly Source[];
  readonly trust?: "trusted";
  /** Written or last revised in this time. */
  readonly since?: string;
  readonly until?: string;
  readonly by?: Principal;
  readonly subject?: string;
  /** What its subject begins with. */
  readonly under?: string;
};

/** What many memories have in common. */
export type Kind = {
  readonly scope: Scope;
  readonly source: string;
  readonly trust: string;
  readonly by: string;
};

/** Whether memories of a kind are meant, as far as that depends on their kind. */
export function isKind({ scope, within, sources, trust, by }: Filter, kind: Kind): boolean {
  if (scope !== undefined && !holdsIn(kind.scope, scope) && !(within === true && holdsIn(scope, kind.scope)))
    return false;
  if (sources !== undefined && !sources.includes(kind.source as Source)) return false;
  if (trust !== undefined && kind.trust !== trust) return false;
  return by === undefined || kind.by === by;
}

/** From when to when, as numbers; a bound that is no time leaves nothing. */
export function timesOf({ since, until }: Filter): readonly [number, number] {
  return [
    since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since),
    until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until),
  ];
}

/** When something ends, as a number. What has no end, or one that is no time, does not. */
export function endOf(expires: string | null): number {
  const end = expires === null ? Number.NaN : Date.parse(expires);
  return Number.isNaN(end) ? Number.POSITIVE_INFINITY : end;
}
