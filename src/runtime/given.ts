import { isPrincipal, RathError } from "../session/index.js";
import { nameFlaw, type Store } from "../store/index.js";
import { isObject, showValue, unknownOption } from "../util/index.js";
import type { Module } from "./module.js";
import type { Budget } from "./request/request.js";

/** The arguments of a runtime's method make no sense. Nothing was recorded. */
export class RefusedError extends RathError {
  constructor(what: string, reason: string, hint: string) {
    super("run-refused", `Cannot ${what}: ${reason}.`, { hint, data: { reason } });
  }
}

const MODULE = 'make one: workflow("name", async (session) => session), or agent({ name, model })';

export function requireModule(module: unknown, use: string): asserts module is Module {
  const { name, forward } = (module ?? {}) as { readonly [field in keyof Module]?: unknown };
  if (typeof forward !== "function")
    throw new RefusedError(use, `a module must have forward(session); got ${showValue(module)}`, MODULE);
  if (typeof name !== "string" || name === "")
    throw new RefusedError(use, "the module must have a name", "give it a name: { name, forward }");
}

/** Refuses unknown options: a misspelt one would otherwise be ignored without a word. */
export function requireKnown(options: unknown, known: readonly string[], use: string): void {
  if (typeof options !== "object" || options === null)
    throw new RefusedError(
      use,
      `its options are ${showValue(options)}, not an object`,
      "leave them out, or pass an object",
    );
  const { signal } = options as { readonly signal?: unknown };
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw new RefusedError(
      use,
      `its \`signal\` is ${showValue(signal)}`,
      "pass new AbortController().signal",
    );
  const unknown = unknownOption(options, known);
  if (unknown !== undefined)
    throw new RefusedError(use, `it has no option ${JSON.stringify(unknown.name)}`, unknown.hint);
}

const MODES: readonly string[] = ["replay", "verify", "resume", "what-if"];

export function requireMode(mode: string): void {
  if (!MODES.includes(mode))
    throw new RefusedError(
      "replay",
      `${showValue(mode)} is not a mode`,
      `mode: ${MODES.map(showValue).join(", ")}`,
    );
}

/** Refuses a name that no new session can have. A session that is there already can go on under a name like `NAME~3`. */
export async function requireNewName(
  name: string | undefined,
  use: string,
  open: () => Promise<Store>,
): Promise<void> {
  const flaw = typeof name === "string" ? nameFlaw(name) : undefined;
  if (flaw === undefined) return;
  if (!flaw.own && (await (await open()).head(name as string)) !== undefined) return;
  throw new RefusedError(use, flaw.reason, flaw.hint);
}

/** Policies decide by the principal: a name that nobody can have would match no rule. */
export function requirePrincipal(by: unknown, use: string): void {
  if (by !== undefined && !isPrincipal(by))
    throw new RefusedError(use, `${showValue(by)} is not a principal`, 'say who begins it: by: "user:ada"');
}

export function requireBudget(budget: unknown, use: string): void {
  const fault = budgetFault(budget);
  if (fault !== undefined) throw new RefusedError(use, fault.reason, fault.hint);
}

const BUDGET = "budget: { steps: 20, tokens: 100_000, money: 0.5, milliseconds: 60_000 }, or some of them";
const LIMITS: readonly string[] = ["steps", "tokens", "money", "milliseconds"] satisfies (keyof Budget)[];

/** The fault of a budget, if it has one. A misspelt limit, or one that is not a number, would limit nothing. */
export function budgetFault(budget: unknown): { readonly reason: string; readonly hint: string } | undefined {
  if (budget === undefined) return undefined;
  if (!isObject(budget)) return { reason: `its budget is ${showValue(budget)}, not an object`, hint: BUDGET };
  for (const [limit, allowed] of Object.entries(budget)) {
    if (!LIMITS.includes(limit)) return { reason: `a budget has no limit "${limit}"`, hint: BUDGET };
    if (allowed !== undefined && !(Number.isFinite(allowed) && Number(allowed) >= 0))
      return {
        reason: `its budget of ${limit} is ${showValue(allowed)}, not a number from 0 up`,
        hint: `${BUDGET}; leave out what has no limit`,
      };
  }
  return undefined;
}
