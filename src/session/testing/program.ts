import * as fc from "fast-check";
import { type FactId, type FactInput, PlacementMismatchError, Session } from "../index.js";
import { sampleFacts } from "./facts.js";

/** One step of a random program; the numbers choose among the sessions made so far. */
export type Step = { readonly act: Act; readonly on: number; readonly and: number; readonly how: number };
const acts = [
  "say",
  "reply",
  "fact",
  "fork",
  "merge",
  "merge-many",
  "cross",
  "ahead",
  "detach",
  "to",
  "call",
  "outcome",
  "compress",
] as const;
type Act = (typeof acts)[number];

export function programs(maxLength = 60): fc.Arbitrary<readonly Step[]> {
  const step = fc.record({
    // Merges of every kind are what laws break on, detached roots are a spice.
    act: fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom(...acts) },
      { weight: 6, arbitrary: fc.constantFrom<Act>("fork", "say", "merge", "reply") },
    ),
    on: fc.nat(),
    and: fc.nat(),
    how: fc.nat(),
  });
  return fc.array(step, { maxLength, size: "max" });
}

const AT = "2026-01-01T00:00:00.000Z";
const facts = Object.values(sampleFacts("words", "0".repeat(64)));

/** Every session that a program makes, in the order it was made. */
export function run(
  program: readonly Step[],
  start = Session.start("task", { nonce: "n", at: AT }),
): Session[] {
  const made = [start];
  const pick = (number: number): Session =>
    // Half of the time one of the newest, so that graphs grow deep and wide.
    (number % 2 === 0
      ? made[made.length - 1 - ((number >> 1) % Math.min(4, made.length))]
      : made[(number >> 1) % made.length]) as Session;
  program.forEach((step, index) => {
    const next = perform(step, pick, index);
    if (next !== undefined) made.push(...next);
  });
  return made;
}

function perform(
  { act, on, and, how }: Step,
  pick: (number: number) => Session,
  index: number,
): Session[] | undefined {
  const session = pick(on);
  const other = pick(and);
  switch (act) {
    case "say":
      return [session.say(`words ${index}`, { at: AT })];
    case "reply":
      return [session.append(reply(how % 100, session.id))];
    case "fact":
      return [session.append({ ...(facts[how % facts.length] as FactInput), at: AT })];
    case "fork":
      return [session.fork(`b${index}`, { at: AT, why: `w${index}` })];
    case "merge":
      return merge([session, other], how);
    case "merge-many":
      return merge([session, other, pick(how), pick(how >> 3), pick(how >> 5)], how);
    case "cross": {
      const left = merge([session, other], how);
      const right = merge([other, session], how);
      return left && right && [...left, ...right, ...(merge([...left, ...right], how + 1) ?? [])];
    }
    case "ahead":
      return (
        session.parents[0] &&
        merge(how % 2 === 0 ? [session, session.parents[0]] : [session.parents[0], session], how)
      );
    case "detach":
      // With files of a merge that are not in its own yet it refuses.
      return how % 4 === 0 && session.files.unmerged === undefined ? [session.detach({ at: AT })] : undefined;
    case "call":
      return [session.append({ type: "tool-call", name: `t${index}`, input: null, at: AT })];
    case "outcome": {
      // Of a call that waits here, or of one on any branch.
      const of = how % 3 === 0 ? other.id : session.pending[and % Math.max(1, session.pending.length)]?.id;
      return of === undefined
        ? undefined
        : [session.append({ type: "tool-result", of, output: index, at: AT })];
    }
    case "compress": {
      const past = [...session.history()];
      const from = (past[how % past.length] as Session).id;
      return [
        session.append({
          type: "context-compress",
          from,
          to: pick(and).id,
          summary: `s${index}`,
          ...(index % 3 === 0 && { policy: "drop-outputs" }),
          at: AT,
        }),
      ];
    }
    case "to":
      return [session.to(how % 2 === 0 ? "local" : "cube", undefined, { at: AT })];
  }
}

function merge(sides: readonly Session[], how: number): Session[] | undefined {
  const [ours, ...others] = [...new Map(sides.map((side) => [side.id, side])).values()] as [
    Session,
    ...Session[],
  ];
  if (others.length === 0) return undefined;
  const adopt = how % 3 === 0 ? how % (others.length + 1) : "both";
  try {
    return [ours.merge(others, { adopt, at: AT })];
  } catch (error) {
    if (!(error instanceof PlacementMismatchError)) throw error;
    return [ours.merge(others, { adopt: "ours", at: AT })];
  }
}

export function reply(tokens: number, of: FactId = "0".repeat(64)): FactInput {
  const usage = { input: tokens, output: 1, cached: tokens % 3, reasoning: tokens % 5 };
  return { type: "model-reply", of, content: `r${tokens}`, finish: "stop", usage, at: AT };
}

/** The ids of a session's past and its own, the naive way: a set and a queue. */
export function pastOf(session: Session): Set<FactId> {
  const past = new Set([session.id]);
  const open = [session];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const parent of node.parents) {
      if (past.has(parent.id)) continue;
      past.add(parent.id);
      open.push(parent);
    }
  }
  return past;
}
