import { budgetFault, LONGEST_TIMER, type Retry } from "../runtime/index.js";
import { ContentError, drafted, type Effect, type Json, type Terms, termsFault } from "../session/index.js";
import { isPromise, optionNames, showValue, unknownOption } from "../util/index.js";
import { ModuleError, RuleError } from "./error.js";

/**
 * Checks of the arguments of a module, for callers the compiler did not check. A limit of another type would limit nothing,
 * and a rule that answers with a promise would always say yes, so they are refused when the module is made.
 */
export type Refuse = (reason: string, hint: string) => Error;

/** How a module is called in the refusals of what it was given. The name may be anything. */
export function called(kind: string, name: unknown): string {
  return typeof name === "string" && name !== "" ? `${kind} "${name}"` : `a ${kind}`;
}

export function refusing(where: string): Refuse {
  return (reason, hint) => new ModuleError(where, reason, hint);
}

export function requireName(name: unknown, kind: string, example: string): void {
  if (typeof name === "string" && name.trim() !== "") return;
  throw refusing(called(kind, name))(
    typeof name === "string" ? "its name is empty" : `its name is ${showValue(name)}, not a text`,
    example,
  );
}

/** Refuses unknown options: a misspelt one would be ignored. */
export function requireOptions<Options extends object>(
  options: Options,
  refuse: Refuse,
  example: string,
  known: { readonly [option in keyof Options]-?: unknown } | readonly string[],
): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw refuse(`its options are ${showValue(options)}, not an object`, example);
  const names: readonly string[] = Array.isArray(known) ? known : Object.keys(known);
  requireKnown(options, "it has no option", refuse, names);
}

function requireKnown(options: object, reason: string, refuse: Refuse, known: readonly string[]): void {
  const unknown = unknownOption(options, known);
  if (unknown !== undefined) throw refuse(`${reason} ${showValue(unknown.name)}`, unknown.hint);
}

export function requireFunction(value: unknown, what: string, refuse: Refuse, example: string): void {
  if (typeof value !== "function")
    throw refuse(`its \`${what}\` is ${showValue(value)}, not a function`, example);
}

/** A whole number, at least so much. */
export function requireCount(
  value: unknown,
  what: string,
  refuse: Refuse,
  least = 1,
  example = `${what}: ${least + 2}`,
): void {
  if (!Number.isSafeInteger(value) || (value as number) < least)
    throw refuse(`its \`${what}\` is ${showValue(value)}, not a whole number, at least ${least}`, example);
}

export function requireMilliseconds(value: unknown, what: string, refuse: Refuse): void {
  if (typeof value !== "number" || !(value > 0 && value <= LONGEST_TIMER))
    throw refuse(
      `its \`${what}\` is ${showValue(value)}, not a number of milliseconds from 1 to ${LONGEST_TIMER}`,
      `${what}: 30_000`,
    );
}

export function requireBudget(budget: unknown, refuse: Refuse): void {
  const fault = budgetFault(budget);
  if (fault !== undefined) throw refuse(fault.reason, fault.hint);
}

const RETRIES = optionNames<Retry>()("attempts wait most when");
const RETRY = "retry: { attempts: 3, wait: 500, most: 30_000 }";

export function requireRetry(retry: unknown, refuse: Refuse): void {
  if (retry === undefined) return;
  if (typeof retry !== "object" || retry === null)
    throw refuse(`its retry is ${showValue(retry)}, not an object`, RETRY);
  requireKnown(retry, "its retry has no option", refuse, RETRIES);
  const { attempts, wait, most, when } = retry as { readonly [name in keyof Retry]: unknown };
  if (attempts !== undefined) requireCount(attempts, "attempts", refuse);
  for (const [name, value] of Object.entries({ wait, most }))
    if (value !== undefined && !(Number.isFinite(value) && (value as number) >= 0))
      throw refuse(`its retry has a \`${name}\` of ${showValue(value)}, not of milliseconds`, RETRY);
  if (when !== undefined) requireFunction(when, "retry.when", refuse, "when: (error) => true or false");
}

const EFFECTS: readonly string[] = ["pure", "read", "idempotent", "write"] satisfies Effect[];

export function requireEffect(effect: unknown, refuse: Refuse): void {
  if (!EFFECTS.includes(effect as string))
    throw refuse(
      `its effect is ${showValue(effect)}`,
      `say what it does to the world: ${EFFECTS.map((one) => `effect: "${one}"`).join(", ")}`,
    );
}

export function requireTerms(terms: unknown, refuse: Refuse): void {
  const fault = termsFault(terms);
  if (fault !== undefined) throw refuse(fault.reason, fault.hint);
}

/** A copy that nobody else can change. */
export function requireJson(value: unknown, what: string, refuse: Refuse): Json {
  try {
    return jsonOf(value);
  } catch (error) {
    if (!(error instanceof ContentError)) throw error;
    throw refuse(`its ${what} cannot be recorded: ${reasonOf(error)}`, error.hint);
  }
}

/** The value that a rule returned, as the record will hold it. */
export function recordable(answer: unknown, rule: string, where: string): Json {
  try {
    return jsonOf(answer);
  } catch (error) {
    if (!(error instanceof ContentError)) throw error;
    throw wrong(answer, rule, where, `what the record can hold (${reasonOf(error)})`);
  }
}

function jsonOf(value: unknown): Json {
  return drafted({ type: "note", value: value as Json }).value as Json;
}

function reasonOf({ data }: ContentError): string {
  const path = String(data.path).replace(/^note\.value\.?/, "");
  return path === "" ? String(data.reason) : `${path}: ${data.reason}`;
}

/** The value of a rule that says yes or no. */
export function yesOrNo(answer: unknown, rule: string, where: string): boolean {
  if (typeof answer === "boolean") return answer;
  throw wrong(answer, rule, where, "true or false");
}

/** On whose agreement, if any is wanted: anybody's when it is only said that it is. */
export function termsOrNone(answer: unknown, rule: string, where: string): Terms | undefined {
  if (typeof answer === "boolean") return answer ? {} : undefined;
  if (typeof answer === "object" && answer !== null && !isPromise(answer)) {
    const fault = termsFault(answer);
    if (fault === undefined) return answer as Terms;
    throw wrong(answer, rule, where, `terms that can be met (${fault.reason}: ${fault.hint})`);
  }
  throw wrong(answer, rule, where, "true, false or terms");
}

/** The key that a rule gave, if any. */
export function textOrNone(answer: unknown, rule: string, where: string): string | undefined {
  if (answer === undefined || typeof answer === "string") return answer;
  throw wrong(answer, rule, where, "a text");
}

/** The value of a rule that gives several texts. */
export function texts(answer: unknown, rule: string, where: string): readonly string[] {
  if (Array.isArray(answer) && answer.every((one) => typeof one === "string")) return answer;
  throw wrong(answer, rule, where, "a list of texts");
}

/** The refusal of what a rule answered. */
export function wrong(answer: unknown, rule: string, where: string, wanted: string): RuleError {
  // Nobody else will look at it: a promise that fails unseen would end the process.
  if (isPromise(answer)) answer.then(undefined, () => {});
  return new RuleError(where, rule, showValue(answer), wanted);
}
