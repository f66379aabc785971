import { backFrom, canonical, type Fact, type FactOf, type Session } from "../session/index.js";
import { refusing, requireCount, requireName } from "../workflow/index.js";

/** The state of an agent after a step: the number of model replies, and the tools that the last one called. */
export type StepInfo = { readonly step: number; readonly calls: readonly string[] };

/** Decides whether an agent stops, after each reply whose tool calls are done. Must depend on the session alone. */
export type Stop = (session: Session, info: StepInfo) => boolean;

/**
 * Stops after this number of model replies. Unlike `maxSteps`, it leaves no `budget-stop` on the record.
 *
 * ```ts
 * agent({ name: "coder", model, tools, stop: [stopAfter(10), stopWhenCalled("submit")] });
 * ```
 */
export function stopAfter(steps: number): Stop {
  requireCount(steps, "steps", refusing("a stop condition"), 1, "stopAfter(5)");
  return (_session, { step }) => step >= steps;
}

/** Stops when the model has called this tool, after it has run. */
export function stopWhenCalled(tool: string): Stop {
  requireName(tool, "stop condition", 'stopWhenCalled("submit")');
  return (_session, { calls }) => calls.includes(tool);
}

/** The call that failed last, and how often in a row it was made with the same input and failed. */
export type Repeats = { readonly key: string; readonly name: string; readonly count: number };

/** So many identical failing calls in a row are pointed out to the model; twice as many end its work. */
export const POINT_OUT = 3;
export const GIVE_UP = 2 * POINT_OUT;

export const NONE: Repeats = Object.freeze({ key: "", name: "", count: 0 });

/** Counts on over the tool calls between two sessions, in the order in which they were asked for. */
export function counted(repeats: Repeats, before: Session, after: Session): Repeats {
  const calls: { readonly id: string; readonly fact: FactOf<"tool-call"> }[] = [];
  const failed = new Set<string>();
  for (const { id, fact } of backFrom(after, before)) {
    if (fact.type === "tool-call") calls.unshift({ id, fact });
    else if (fact.type === "tool-failure") failed.add(fact.of);
  }
  let latest = repeats;
  for (const { id, fact } of calls) {
    if (!failed.has(id)) {
      latest = NONE;
      continue;
    }
    const key = `${fact.name}\n${canonical(fact.input)}`;
    latest = { key, name: fact.name, count: latest.key === key ? latest.count + 1 : 1 };
  }
  return latest;
}

export function isNew(repeats: Repeats, before: Repeats): boolean {
  return repeats.count >= POINT_OUT && (before.key !== repeats.key || before.count < POINT_OUT);
}

/** The session with the limit that ended the work on it. */
export function stopAt(
  session: Session,
  limit: string,
  allowed: number,
  spent = allowed,
  asked = 1,
): Session {
  return session.append({ type: "budget-stop", limit, allowed, spent, asked });
}

export function endOf(session: Session): Fact {
  let end = session;
  while (end.fact.type === "module-exit" && end.soleParent !== undefined) end = end.soleParent;
  return end.fact;
}

/** The limit that ended the work on a session, in words, if one did. */
export function stopOf(session: Session): string | undefined {
  const end = endOf(session);
  return end.type === "budget-stop" ? `its limit of ${end.allowed} ${end.limit} is reached` : undefined;
}
