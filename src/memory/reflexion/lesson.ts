import { askedLast, textOf } from "../../agent/model/index.js";
import { hostServices } from "../../runtime/index.js";
import { digestOf, type FactId, type Json, type Session } from "../../session/index.js";
import { type StepContext, type StepResult, step } from "../../workflow/index.js";
import type { MemorySpace } from "../memory.js";
import { type Recollection, recollectionsIn, recordReading } from "../reading.js";
import type { Found } from "../search/space-index.js";
import { shownOf } from "../shown.js";
import type { Source } from "../source.js";
import type { Space } from "../space.js";
import { PassedTrialError } from "./trial.js";

export const LESSONS: readonly Source[] = ["failed-attempt", "reflection"];
/** As long as a subject may be, with room for what tells long ones apart. */
const LONGEST_KEY = 400;

/** The key of a task in every session: the last message of the person, or its beginning with a digest. */
export function taskIn(session: Session): string {
  const asked = askedLast(session);
  for (let node: Session | undefined = session; node !== undefined; node = node.parents[0]) {
    const { fact, id } = node;
    if (id !== asked) continue;
    const content =
      fact.type === "session-start" ? fact.text : fact.type === "message-say" ? fact.content : "";
    return typeof content === "string" || Array.isArray(content) ? keyOf(textOf(content)) : "";
  }
  return "";
}

export function keyOf(text: string): string {
  const plain = text.toWellFormed().replaceAll(/\s+/g, " ").trim();
  if (plain.length <= LONGEST_KEY) return plain;
  return `${plain.slice(0, LONGEST_KEY).toWellFormed()}… ${digestOf(plain).slice(0, 16)}`;
}

type Lessons = (
  session: Session,
  asked: { readonly task: string; readonly keep: number; readonly characters: number },
) => Promise<StepResult<readonly Recollection[]>>;

/** Recalls the newest reflections on a task, the newest last, and puts them before the model as notes. */
export function lessonsFrom(memory: MemorySpace): Lessons {
  const look = step(
    `recall lessons from ${memory.name}`,
    async (input: Json, context: StepContext) => {
      const { task, keep, characters } = input as Parameters<Lessons>[1];
      const { request } = context;
      const space = memory.open(await context.store());
      const now = hostServices(request).time();
      const { head, found } = await newestOf(space, memory, { task, keep, now });
      const settings = { subject: task, sources: LESSONS, newest: keep, now, scope: memory.scope };
      recordReading(
        context,
        { space: memory.name, head, query: task, found, settings },
        { to: request, notes: shownOf(memory.name, found, characters) },
      );
      return found.length;
    },
    { effect: "read", origin: "memory" },
  );
  return async (session, asked) => {
    const { session: told } = await look.call(session, asked);
    return { session: told, value: recollectionsIn(told) };
  };
}

async function newestOf(
  space: Space,
  { scope }: MemorySpace,
  { task, keep, now }: { readonly task: string; readonly keep: number; readonly now: string },
): Promise<{ readonly head: FactId | undefined; readonly found: readonly Found[] }> {
  const { head, memories } = await space.listed({ scope, subject: task, sources: LESSONS });
  const ids = new Set(memories.map(({ id }) => id));
  const found = memories
    .filter(({ expires }) => expires === undefined || Date.parse(expires) > Date.parse(now))
    .slice(-keep)
    .map(
      (memory): Found => ({
        // Two lessons about the same task do not contradict each other.
        memory: { ...memory, contradicts: memory.contradicts.filter((other) => !ids.has(other)) },
        score: 1,
        parts: { words: 1, meaning: 1 },
        alike: [],
      }),
    );
  return { head, found };
}

/** Throws unless a trial failed by this validation: it is in the past of the session, and nothing like it passed since. */
export function requireFailed(session: Session, of: FactId, use: string): Session {
  let found: Session | undefined;
  for (const node of session.history()) {
    const { fact, id } = node;
    if (id === of) found = node;
    if (fact.type !== "validation-report" || !fact.passed) continue;
    if (id === of) throw new PassedTrialError(use, "the trial passed", of);
    const failed = found?.fact;
    // Another trial does not come from this one, so what was found of it says nothing about this one.
    if (
      failed?.type === "validation-report" &&
      failed.name === fact.name &&
      node.descendsFrom(found as Session)
    )
      throw new PassedTrialError(use, `"${fact.name}" passed since on the same trial`, of);
  }
  if (found?.fact.type === "validation-report") return found;
  throw new PassedTrialError(
    use,
    `${String(of).slice(0, 12)} is not a validation in the past of this session`,
  );
}
