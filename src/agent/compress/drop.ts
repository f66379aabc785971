import { DROP_OUTPUTS, type Entry, type Session, stubbed } from "../../session/index.js";
import type { Crowded, Policy } from "./policy.js";
import { idOf, stretchesOf, taken, tokensIn, tokensOf, type Unit } from "./policy.js";

/**
 * Leaves tool outputs out of view, oldest first; a line that names the fact stands for each.
 *
 * ```ts
 * agent({ name: "coder", model, tools, compress: compress({ budget: 100_000, policies: [dropOutputs()] }) });
 * ```
 */
export function dropOutputs(): Policy {
  return Object.freeze({
    name: DROP_OUTPUTS,
    state: Object.freeze({}),
    apply: async (crowded: Crowded) => {
      const session = withoutOutputs(crowded);
      return session === undefined ? undefined : { session };
    },
  });
}

const DROP_TURNS = "drop-turns";

/** Leaves the oldest messages out of view, summaries too. The last resort when no summary can be had. */
export function dropTurns(): Policy {
  return Object.freeze({
    name: DROP_TURNS,
    state: Object.freeze({}),
    apply: async ({ session, agent, units, excess }: Crowded) => {
      const runs = stretchesOf(units, () => true);
      const run = runs.find((one) => one.length > 1 || one[0]?.summary === false) ?? [];
      const chosen = taken(run, (tokens, _, count) => tokens >= excess + TURNS_LINE && count > 1);
      const before = tokensIn(chosen);
      const [first, last] = [chosen[0]?.entries[0], chosen.at(-1)?.entries.at(-1)];
      if (first === undefined || last === undefined || before <= TURNS_LINE) return undefined;
      return {
        session: session.append({
          type: "context-compress",
          from: idOf(first),
          to: idOf(last),
          summary: "Older messages are not shown here, and no summary of them is available.",
          policy: DROP_TURNS,
          tokens: { before, after: TURNS_LINE },
          by: `agent:${agent}`,
        }),
      };
    },
  });
}

/** About how many tokens the line takes that stands for messages. */
const TURNS_LINE = 96;

/** The session without as many outputs in view as it takes, or undefined where none is worth it. */
export function withoutOutputs({ session, agent, units, excess }: Crowded, note = ""): Session | undefined {
  const chosen = chosenFrom(units, excess);
  if (chosen.size === 0) return undefined;
  let next = session;
  for (const run of runsOf(units, chosen)) {
    const [first, last] = [run[0] as Entry, run.at(-1) as Entry];
    const before = run.reduce((sum, entry) => sum + tokensOf(entry.message), 0);
    const after = run.reduce((sum, entry) => sum + tokensOf(stubbed(entry).message), 0);
    next = next.append({
      type: "context-compress",
      from: idOf(first),
      to: idOf(last),
      summary: `${run.length === 1 ? "One output of a tool is" : `${run.length} outputs of tools are`} left out of view.${note}`,
      policy: DROP_OUTPUTS,
      tokens: { before, after },
      by: `agent:${agent}`,
    });
  }
  return next;
}

/** A line that stands for less than this saves next to nothing. */
const WORTH = 8;

function chosenFrom(units: readonly Unit[], excess: number): ReadonlySet<Entry> {
  const chosen = new Set<Entry>();
  let left = excess;
  for (const { entries, stays } of units) {
    if (stays !== undefined) continue;
    for (const entry of entries) {
      if (left <= 0) return chosen;
      // Of the messages of a detached root none can be named alone.
      if (entry.message.role !== "tool" || entry.id.includes("#")) continue;
      const saved = tokensOf(entry.message) - tokensOf(stubbed(entry).message);
      if (saved < WORTH) continue;
      chosen.add(entry);
      left -= saved;
    }
  }
  return chosen;
}

/** A range leaves out every output in it, so it must not reach over one that stays. */
function runsOf(units: readonly Unit[], chosen: ReadonlySet<Entry>): readonly (readonly Entry[])[] {
  const runs: Entry[][] = [];
  let run: Entry[] = [];
  const close = () => {
    if (run.length > 0) runs.push(run);
    run = [];
  };
  let next = 0;
  for (const { entries, first, last } of units) {
    // Between them lies what is not in view here: it is somebody else's.
    if (first !== next) close();
    next = last + 1;
    for (const entry of entries) {
      if (chosen.has(entry)) run.push(entry);
      else if (entry.message.role === "tool") close();
    }
  }
  close();
  return runs;
}
