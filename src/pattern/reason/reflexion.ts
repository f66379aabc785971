import { answerOf, stopAt, stopOf } from "../../agent/index.js";
import type { Module } from "../../runtime/index.js";
import type { FactId, Json, Session } from "../../session/index.js";
import { defined } from "../../util/index.js";
import {
  called,
  defineModule,
  enter,
  functionLike,
  isModule,
  joined,
  type Rebuilds,
  requireCount,
  wrong,
} from "../../workflow/index.js";
import { elsewhere, moduleOr, withDefaults } from "../options.js";
import { AnswerFormError } from "./error.js";
import { inWords, type Report, reasonOf, reportsSince, attempt as runOnFork } from "./found.js";

/** A reflection on a failed trial. It never changes; a later trial adds another. */
export type Reflection = {
  readonly trial: number;
  readonly text: string;
  /** The `validation-report` that did not pass. */
  readonly of: FactId;
  /** The note on the record that holds this. */
  readonly id: FactId;
};

export type ReflexionOptions = {
  readonly name: string;
  /** Does the task. Each trial begins where the first did. */
  readonly attempt: Module;
  /** Whether it is done: a module that leaves a `validation-report` or whose output is `{ passed, detail }`, or a rule. */
  readonly check:
    | Module
    | ((session: Session) => boolean | { readonly passed: boolean; readonly detail?: Json });
  /** Looks back on a failed trial, on its branch, and says what to do differently. */
  readonly reflect: Module;
  /** Maximum number of trials. Default 3. */
  readonly trials?: number;
  /** How many of the newest reflections the next trial sees. Default 3. */
  readonly shown?: number;
};

/**
 * Reflexion: a trial, a check, and after a failed one a reflection for the next trial on a fresh fork. It
 * ends at the first pass, or after the last trial with a `budget-stop`.
 *
 * ```ts
 * const learner = reflexion({ name: "learner", attempt: coder, check: tests, reflect: critic, trials: 3 });
 * reflectionsOf(session, "learner");
 * ```
 */
export function reflexion(options: ReflexionOptions): Module & Rebuilds {
  const { name, attempt, check, reflect } = options ?? {};
  return defineModule(
    {
      kind: "reflexion",
      name,
      example: 'reflexion({ name: "learner", attempt: coder, check: tests, reflect: critic })',
      parts: { attempt, reflect, ...(isModule(check) && { check }) },
      options: withDefaults(options, { trials: 3, shown: 3 }),
      checks: {
        ...elsewhere("name", "attempt", "reflect"),
        check: moduleOr(functionLike("check: a module, or (session) => true or false")),
        trials: requireCount,
        shown: requireCount,
      },
      learnable: ["trials", "shown"],
    },
    async (entered, made) => {
      const given = { ...made.options, ...(made.parts as Pick<ReflexionOptions, "attempt" | "reflect">) };
      const { name, reflect, trials } = given;
      const learned: Reflection[] = [];
      const failed: Session[] = [];
      for (let trial = 1; ; trial++) {
        const fork = entered.fork(`trial ${trial}`, {
          why: `${name}: trial ${trial} of ${trials}`,
          by: "runtime",
        });
        const { session, problem, stop } = await tried(offered(fork, given, learned), given);
        const end = (last: Session, why: string) =>
          joined([last, ...failed], { adopt: "ours", why: `${name}: ${why}` });
        // The budget is spent for the next module as well.
        if (stop !== undefined) return end(session, stop);
        if (problem === undefined) return end(session, `trial ${trial} passed`);
        if (trial >= trials) return stopAt(end(session, "no trial passed"), "trials", trials);
        const asked = session.say(
          `This trial failed: ${reasonOf(problem)}\nSay in a few sentences what went wrong and what to do differently next time.`,
          { by: "runtime" },
        );
        const thought = await enter(reflect, asked);
        const limit = stopOf(thought);
        if (limit !== undefined) return end(thought, limit);
        const text = inWords(answerOf(reflect, thought, asked));
        const noted = thought.append({
          type: "note",
          kind: "reflection",
          reflexion: name,
          trial,
          text,
          of: problem.id,
          by: `agent:${reflect.name}`,
        });
        learned.push({ trial, text, of: problem.id, id: noted.id });
        failed.push(noted);
      }
    },
  );
}

/** The reflections on failed trials, oldest first, on all branches. */
export function reflectionsOf(session: Session, name?: string): readonly Reflection[] {
  const found: Reflection[] = [];
  for (const { id, fact } of session.history()) {
    if (fact.type !== "note" || fact.kind !== "reflection") continue;
    const { of, text, trial } = fact;
    if (name === undefined || fact.reflexion === name)
      found.push({ trial: trial as number, text: text as string, of: of as FactId, id });
  }
  return found;
}

/** The start of a trial, with what was learned so far. Which of it was shown is on the record too. */
function offered(
  fork: Session,
  { name, reflect, shown }: Required<ReflexionOptions>,
  learned: Reflection[],
): Session {
  const some = learned.slice(-shown);
  if (some.length === 0) return fork;
  const lines = some.map(({ trial, text }) => `From trial ${trial}, which failed: ${text}`);
  return fork
    .append({
      type: "note",
      kind: "reflection-offer",
      reflexion: name,
      of: some.map(({ id }) => id),
      by: "runtime",
    })
    .say(lines.join("\n"), { by: `agent:${reflect.name}` });
}

type Tried = {
  readonly session: Session;
  readonly problem?: Report;
  /** Why nothing could be found, where a limit ended the check. */
  readonly stop?: string;
};

/** One trial and what was found of it. An attempt that throws is one that failed. */
async function tried(fork: Session, given: Required<ReflexionOptions>): Promise<Tried> {
  const { name, attempt, check } = given;
  const { session: done, failure } = await runOnFork(attempt, fork);
  if (failure !== undefined)
    return concluded(done, name, { passed: false, detail: `${failure.name}: ${failure.message}` });
  if (isModule(check)) return checkedBy(check, done, name);
  const said: unknown = check(done);
  const verdict = typeof said === "boolean" ? { passed: said } : said;
  if (isVerdict(verdict)) return concluded(done, name, verdict);
  throw wrong(said, "check", called("reflexion", name), "true, false or { passed, detail }");
}

/** The findings of a module: its output, or its reports. That an output fits its schema does not count. */
async function checkedBy(check: Module, done: Session, name: string): Promise<Tried> {
  const session = await enter(check, done);
  const stop = stopOf(session);
  if (stop !== undefined) return { session, stop };
  const said = answerOf(check, session, done);
  if (isVerdict(said)) return concluded(session, name, said);
  const reports = reportsSince(session, done).filter(
    ({ fact }) => fact.name !== "output" || !fact.by.startsWith("agent:"),
  );
  if (reports.length === 0)
    throw new AnswerFormError(
      called("reflexion", name),
      session,
      check.name,
      "no finding",
      "a validation-report",
      'leave what was found on the record: append({ type: "validation-report", name, passed }), or answer { passed, detail }',
    );
  const problem = reports.find(({ fact }) => !fact.passed);
  return { session, ...defined({ problem }) };
}

type Verdict = { readonly passed: boolean; readonly detail?: Json };

function isVerdict(said: unknown): said is Verdict {
  return typeof said === "object" && said !== null && typeof (said as Partial<Verdict>).passed === "boolean";
}

function concluded(before: Session, name: string, { passed, detail }: Verdict): Tried {
  const session = before.append({
    type: "validation-report",
    name: `check of ${name}`,
    passed,
    ...defined({ detail }),
    of: before.id,
    by: "runtime",
  });
  const fact = session.fact as Report["fact"];
  return { session, ...(!passed && { problem: { id: session.id, fact } }) };
}
