import type { Module } from "../../runtime/index.js";
import type { FactId, Json, Principal, Session } from "../../session/index.js";
import { clip, defined, showValue } from "../../util/index.js";
import type { Check, Checks, Rebuilds, StepResult } from "../../workflow/index.js";
import {
  anything,
  called,
  checkOptions,
  createModule,
  functionLike,
  isModule,
  joined,
  optional,
  rebuild,
  refusing,
  requireCount,
  requireModule,
  requireName,
  requireOptions,
} from "../../workflow/index.js";
import { oneOf, requireMemory, requireRoom } from "../checks.js";
import type { MemorySpace } from "../memory.js";
import { LONGEST, type Written } from "../operation.js";
import type { Recollection } from "../reading.js";
import { ask, askedOf, type Somebody } from "../stream/asking.js";
import { keyOf, LESSONS, lessonsFrom, requireFailed, taskIn } from "./lesson.js";
import { type Trial, tried, type Validate } from "./trial.js";

/** A module that learns from trials that fail. */
export interface Reflexion extends Module, Rebuilds {
  /** Keeps a reflection of another author. Refused when the trial that it names did not fail. */
  learn(session: Session, lesson: Lesson): Promise<StepResult<Written>>;
}

/** The input of `reflect`: a failed trial. */
export type FailedTrial = {
  readonly task: string;
  readonly trial: number;
  /** The result of the validation. */
  readonly report: { readonly name: string; readonly score?: number; readonly detail?: Json };
  /** The earlier lessons, the newest last. */
  readonly lessons: readonly string[];
};

export type ReflexionOptions = {
  /** Does the task. Each trial begins where the first did, on a branch of its own. */
  readonly attempt: Module;
  readonly validate: Validate;
  /** Reflects on a failed trial: an agent, or a function that returns a text. */
  readonly reflect: Somebody<FailedTrial>;
  /** Where reflections are kept: for the next trial, and for later sessions with the same task. */
  readonly memory: MemorySpace;
  /** Trials at most. Default 3. */
  readonly trials?: number;
  /** How many reflections on the task a trial is shown, the newest. Default 3. */
  readonly keep?: number;
  /** The key of the task. Default: the last message of the person. */
  readonly task?: string | ((session: Session) => string);
  /** The source of the reflections. Default "failed-attempt". */
  readonly source?: "failed-attempt" | "reflection";
  /** Characters that the reflections may take in a prompt. Default 8,000. */
  readonly characters?: number;
};

/** A reflection on a failed trial by another author, such as a person. */
export type Lesson = {
  readonly text: string;
  /** The `validation-report` that did not pass. */
  readonly of: FactId;
  readonly by: Principal;
};

const LESSON: readonly string[] = ["text", "of", "by"] satisfies (keyof Lesson)[];
const EXAMPLE = 'reflexion("learner", { attempt: coder, validate: tests, reflect: critic, memory: notes })';

function moduleOr(example: string): Check {
  return (value, option, refuse) => {
    if (!isModule(value)) functionLike(example)(value, option, refuse);
  };
}

const CHECKS: Checks<ReflexionOptions> = {
  attempt: anything,
  validate: moduleOr("validate: a module, or (session) => true or false"),
  reflect: moduleOr("reflect: an agent, or (failed) => a text"),
  memory: requireMemory,
  trials: optional(requireCount),
  keep: optional((value, option, refuse) => requireCount(value, option, refuse, 0)),
  task: optional((task, _, refuse) => {
    if (typeof task !== "function" && (typeof task !== "string" || task.trim() === ""))
      throw refuse(`its \`task\` is ${showValue(task)}`, 'task: "issue 41", or (session) => a text');
  }),
  source: optional(oneOf(LESSONS)),
  characters: optional(requireRoom),
};

/**
 * Reflexion with a memory: each trial is validated on a branch of its own, and a failed one leaves a
 * reflection that cites the validation and is recalled before the next trial, also in later sessions. Ends at
 * the first pass, or after the last trial with a `budget-stop`.
 *
 * ```ts
 * const learner = reflexion("learner", { attempt: coder, validate: tests, reflect: critic, memory: notes, trials: 3 });
 * ```
 */
export function reflexion(name: string, options: ReflexionOptions): Reflexion {
  requireName(name, "reflexion", EXAMPLE);
  const where = called("reflexion", name);
  const refuse = refusing(where);
  checkOptions(options, CHECKS, refuse, EXAMPLE);
  const { attempt, validate, reflect, memory, trials = 3, keep = 3, task = taskIn } = options;
  const { source = "failed-attempt", characters = 8_000 } = options;
  requireModule(attempt, where, "attempt");
  const recall = lessonsFrom(memory);

  function taskOf(session: Session): string {
    return keyOf(typeof task === "string" ? task : task(session)) || `reflexion ${name}`;
  }

  async function run(entered: Session): Promise<Session> {
    const key = taskOf(entered);
    const failed: Session[] = [];
    for (let trial = 1; ; trial++) {
      const why = `${name}: trial ${trial} of ${trials}`;
      const fork = entered.fork(`trial ${trial}`, { why, by: "runtime" });
      const recalled =
        keep === 0
          ? { session: fork, value: [] as readonly Recollection[] }
          : await recall(fork, { task: key, keep, characters });
      const outcome = await tried(name, attempt, validate, recalled.session);
      const end = (session: Session, reason: string) =>
        joined([session, ...failed], { adopt: "ours", why: `${name}: ${reason}` });
      // The budget that ended the validation would end the next trial too.
      if (outcome.report === undefined) return end(outcome.session, "a limit ended the validation");
      if (outcome.report.fact.passed) return end(outcome.session, `trial ${trial} passed`);
      const learnt = await reflectOn(outcome, outcome.report, { task: key, trial, lessons: recalled.value });
      if (trial < trials) {
        failed.push(learnt);
        continue;
      }
      return end(learnt, "no trial passed").append({
        type: "budget-stop",
        limit: "trials",
        allowed: trials,
        spent: trials,
        asked: 1,
      });
    }
  }

  /** Asks for a reflection on a trial, on a branch, and keeps it. */
  async function reflectOn(
    { session, attempted }: Trial,
    report: NonNullable<Trial["report"]>,
    given: { readonly task: string; readonly trial: number; readonly lessons: readonly Recollection[] },
  ): Promise<Session> {
    const { lessons, ...about } = given;
    const { name: validation, score, detail } = report.fact;
    const found = { name: validation, ...defined({ score, detail }) };
    const asked = await ask(session, {
      name: `reflection on trial ${about.trial} of ${name}`,
      whom: reflect,
      input: { ...about, report: found, lessons: lessons.map(({ text }) => text) },
      words: `This trial failed: ${JSON.stringify(found)}\nSay in a few sentences what went wrong, and what to do differently when the same task comes again.`,
    });
    const text = typeof asked.value === "string" ? asked.value : JSON.stringify(asked.value);
    if (asked.value === null || text.trim() === "") return asked.session;
    const lesson = { text, of: report.id, by: askedOf(reflect), ...about, attempted };
    return (await write(asked.session, lesson)).session;
  }

  async function write(
    session: Session,
    lesson: Lesson & { readonly task?: string; readonly trial?: number; readonly attempted?: Session },
  ): Promise<StepResult<Written>> {
    const { text, of, by, trial, attempted } = lesson;
    const report = requireFailed(session, of, `keep a reflection of "${name}"`);
    const whole = text.toWellFormed();
    const kept = clip(whole, LONGEST);
    return memory.write(session, {
      text: kept,
      because: attempted === undefined || attempted.id === of ? [of] : [of, attempted.id],
      source,
      by,
      subject: lesson.task ?? taskOf(report),
      meta: { reflexion: name, ...defined({ trial }), ...(kept !== whole && { characters: whole.length }) },
    });
  }

  return createModule<Omit<Reflexion, "forward">>(
    {
      name,
      kind: "reflexion",
      parts: Object.freeze({
        attempt,
        ...(isModule(validate) && { validate }),
        ...(isModule(reflect) && { reflect }),
      }),
      state: Object.freeze({ memory: memory.name, trials, keep, source, characters }),
      learn: (session, lesson) => {
        requireOptions(lesson, refuse, 'learner.learn(session, { text, of, by: "user:ada" })', LESSON);
        return write(session, lesson);
      },
      [rebuild]: ({ memory: _, ...state }, parts) =>
        reflexion(name, {
          ...options,
          ...(state as Partial<ReflexionOptions>),
          attempt: parts.attempt as Module,
          validate: parts.validate ?? validate,
          reflect: parts.reflect ?? reflect,
        }),
    },
    run,
  );
}
