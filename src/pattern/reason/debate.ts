import { agent, answerOf, stopOf } from "../../agent/index.js";
import type { LanguageModel } from "../../agent/model/index.js";
import { objectSchema } from "../../agent/tool/index.js";
import type { Module } from "../../runtime/index.js";
import type { FactOf, Json, Session } from "../../session/index.js";
import { defined, showValue } from "../../util/index.js";
import type { Parts, Rebuilds } from "../../workflow/index.js";
import {
  allOf,
  called,
  defineModule,
  enter,
  gathered,
  isModule,
  orderOf,
  partsOf,
  requireCount,
} from "../../workflow/index.js";
import { elsewhere, withDefaults } from "../options.js";
import { AnswerFormError } from "./error.js";
import { inWords } from "./found.js";

/** The winner, if any, and the reason. */
export type DebateVerdict = { readonly winner: string | null; readonly why?: string };

export type DebateOptions = {
  readonly name: string;
  /** The debaters, by the name of their side; at least two. */
  readonly sides: Parts | readonly Module[];
  /** How often each side speaks. Default 2. */
  readonly rounds?: number;
  /** Decides the debate: a model, or a module whose output is `{ winner, why }`, the name of a side or null. */
  readonly judge: LanguageModel | Module;
};

/** A module that tells how it was decided. */
export interface Debate extends Module, Rebuilds {
  verdict(session: Session): DebateVerdict | undefined;
}

const NONE = "none";

/**
 * Sides that argue, and a judge. In each round every side speaks on its own branch, knowing only earlier
 * rounds. The verdict is a `route-choose` of the judge.
 *
 * ```ts
 * const trial = debate({ name: "trial", sides: { for: advocate, against: sceptic }, rounds: 2, judge: model });
 * trial.verdict(session)?.winner;
 * ```
 */
export function debate(options: DebateOptions): Debate {
  const { name, sides, judge } = options ?? {};
  const own = partsOf(sides, called("debate", name));
  const order = orderOf(sides);
  return defineModule(
    {
      kind: "debate",
      name,
      example: 'debate({ name: "trial", sides: { for: advocate, against: sceptic }, judge: model })',
      parts: { ...own, judge: isModule(judge) ? judge : judgeOf(name, order, judge) },
      options: withDefaults(options, { rounds: 2 }),
      checks: { ...elsewhere("name", "sides", "judge"), rounds: requireCount },
      learnable: ["rounds"],
      check({ refuse }) {
        if (order.length < 2)
          throw refuse(`it has ${order.length} sides`, "at least two argue: sides: { for, against }");
        for (const taken of [NONE, "judge"])
          if (Object.hasOwn(own, taken))
            throw refuse(`a side is called "${taken}"`, "call it something else");
      },
      more: () => ({ verdict: (session: Session) => verdictIn(session, name) }),
    },
    async (entered, { parts, options: { rounds } }) => {
      let session = entered;
      for (let round = 1; round <= rounds; round++) {
        const before = session;
        const turn = `Round ${round} of ${rounds} of a debate between ${order.join(" and ")}.`;
        const ends = await allOf(
          before,
          order.map((side) => ({
            branch: `${side}, round ${round}`,
            why: `${name}: ${side} speaks`,
            run: (fork) =>
              enter(parts[side] as Module, fork.say(`${turn} You speak for: ${side}.`, { by: "runtime" })),
          })),
          undefined,
        );
        session = gathered(before, ends, `${name}: round ${round} is over`);
        // Told on behalf of who said it: the words of an agent are nobody's instructions.
        for (const [place, side] of order.entries()) {
          const module = parts[side] as Module;
          const words = inWords(answerOf(module, ends[place] as Session, before));
          session = session.say(`${side}, round ${round}: ${words}`, { by: `agent:${module.name}` });
        }
      }
      const asked = session
        .fork("judge", { why: `${name}: who is right`, by: "runtime" })
        .say(`The debate is over. Decide who made the better case: ${order.join(", ")}, or ${NONE}.`, {
          by: "runtime",
        });
      const judge = parts.judge as Module;
      const judged = await enter(judge, asked);
      // A judge that ended at a limit has decided nothing, and the record says so.
      if (stopOf(judged) !== undefined) return judged;
      const { winner, why } = decided(name, order, judge, judged, answerOf(judge, judged, asked));
      return judged.append({
        type: "route-choose",
        selector: name,
        candidates: order.map((side) => ({ name: side })),
        chosen: winner,
        ...defined({ why }),
        chooser: judge.name,
        by: `agent:${judge.name}`,
      });
    },
  );
}

function decided(
  name: string,
  order: readonly string[],
  judge: Module,
  session: Session,
  answer: Json | undefined,
): DebateVerdict {
  const { winner, why } = (answer ?? {}) as { readonly winner?: Json; readonly why?: Json };
  const chosen = winner === NONE ? null : winner;
  if (chosen === null || order.includes(chosen as string))
    return { winner: chosen as string | null, ...(typeof why === "string" && { why }) };
  throw new AnswerFormError(
    called("debate", name),
    session,
    judge.name,
    winner === undefined ? inWords(answer) : showValue(winner),
    `one of ${order.map((side) => JSON.stringify(side)).join(", ")}, or null`,
    "judge with a model, or with a module whose output is { winner, why }",
  );
}

function verdictIn(session: Session, name: string): DebateVerdict | undefined {
  const found = [...session.history()].findLast(
    ({ fact }) => fact.type === "route-choose" && fact.selector === name,
  )?.fact as FactOf<"route-choose"> | undefined;
  if (found === undefined) return undefined;
  return { winner: found.chosen, ...defined({ why: found.why }) };
}

function judgeOf(name: string, order: readonly string[], model: LanguageModel): Module {
  return agent({
    name: `judge of ${name}`,
    model,
    instructions:
      "You judge a debate. Weigh the arguments that were made, not the side you would take. You take no part in it.",
    output: objectSchema({
      winner: { type: "string", enum: [...order, NONE] },
      why: { type: "string", description: "The argument that decided it, in one or two sentences." },
    }),
  });
}
