import type { Json } from "../session/index.js";
import { refusing } from "./error.js";

/** One step of a scope: one of these kinds, or a kind of your own. */
export type ScopeStep = `${"user" | "agent" | "project" | "workflow"}:${string}` | `${string}:${string}`;

/** Where a memory holds: a step, or a path from widest to narrowest, as `["project:rath", "user:ada"]`. */
export type ScopeGiven = ScopeStep | readonly [ScopeStep, ...ScopeStep[]];
export type Scope = readonly [ScopeStep, ...ScopeStep[]];

const STEP = /^[a-z][a-z0-9-]*:[^\s/][^/\p{Cc}]*$/u;
const EXAMPLE = 'scope: "user:ada", or scope: ["project:rath", "user:ada"]';
/** More would be a mistake, and a way to make a fact of any size. */
const DEEPEST = 16;
const LONGEST = 200;

export function scopeOf(given: unknown, use: string): Scope {
  const steps: readonly unknown[] = typeof given === "string" ? [given] : Array.isArray(given) ? given : [];
  const refuse = refusing(use, "scope");
  if (steps.length === 0) throw refuse("it does not say its scope", EXAMPLE);
  if (steps.length > DEEPEST) throw refuse(`its scope has more than ${DEEPEST} steps`, EXAMPLE);
  for (const step of steps)
    if (typeof step !== "string" || step.length > LONGEST || !STEP.test(step))
      throw refuse(
        `${JSON.stringify(step)?.slice(0, 80)} is not a step of a scope`,
        `a kind and a name, without a slash: ${EXAMPLE}`,
      );
  return Object.freeze([...steps]) as Scope;
}

/** As it is written in the record, read without trust. */
export function scopeIn(json: Json): Scope {
  const steps = (Array.isArray(json) ? json : [json]).filter((step) => typeof step === "string");
  return Object.freeze(steps.length === 0 ? ["unknown:"] : steps) as Scope;
}

/** Whether a memory of the scope `one` holds in `other`: the same scope or a narrower one. */
export function holdsIn(one: Scope, other: Scope): boolean {
  return one.length <= other.length && one.every((step, place) => step === other[place]);
}

/** As one text: equal texts are equal scopes, and the text of a wider scope is a beginning of the narrower one's. */
export function scopeText(scope: Scope): string {
  return `${scope.join("/")}/`;
}
