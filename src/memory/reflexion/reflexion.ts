import { forward, type Module } from "../../runtime/index.js";
import type { FactId, Json, Principal, Session } from "../../session/index.js";
import { defined, optionNames, showValue } from "../../util/index.js";
import {
  called,
  isModule,
  joined,
  type Rebuilds,
  rebuild,
  refusing,
  requireCount,
  requireFunction,
  requireModule,
  requireName,
  requireOptions,
  type StepResult,
} from "../../workflow/index.js";
import type { MemorySpace } from "../memory.js";
import type { Written } from "../operation.js";
import { LONGEST } from "../operation.js";
import type { Recollection } from "../reading.js";
import { ask, askedOf, type Somebody } from "../stream/asking.js";
import { keyOf, LESSONS, lessonsFrom, requireFailed, taskIn } from "./lesson.js";
import { type Report, type Trial, tried, type Validate } from "./trial.js";

/** A module that learns from trials that fail. */
export interface Reflexion extends Module, Rebuilds {
  /** Keeps a reflection of somebody else. Refused where the trial that it names did not fail. */
  learn(session: Session, lesson: Lesson): Promise<StepResult<Written>>;
}

const KNOWN = optionNames<ReflexionOptions>()(
  "attempt validate reflect memory trials keep task source characters",
);
const LESSON = optionNames<Lesson>()("text of by");
const EXAMPLE = 'reflexion("learner", { attempt: coder, validate: tests, reflect: critic, memory: notes })';
const CHARACTERS = 8_000;

/**
 * Reflexion with a memory: a trial on a branch, a validation, and only after one that failed a reflection, which is kept
 * with that validation as its evidence. The newest reflections on the task are recalled before the next trial, also in
 * later sessions. It ends at the first trial that passes; when none does the last one goes on, behind a `budget-stop`.
 *
 * ```ts
 * const learner = reflexion("learner", { attempt: coder, validate: tests, reflect: critic, memory: notes, trials: 3 });
 * ```
 */
export function reflexion(name: string, options: ReflexionOptions): Reflexion {
  requireName(name, "reflexion", EXAMPLE);
  const where = called("reflexion", name);
  const refuse = refusing(where);
  requireOptions(options, refuse, EXAMPLE, KNOWN);
  const { attempt, validate, reflect, memory, trials = 3, keep = 3, task = taskIn } = options;
  const { source = "failed-attempt", characters = CHARACTERS } = options;
  requireModule(attempt, where, "attempt");
  if (!isModule(validate))
    requireFunction(validate, "validate", refuse, "validate: a module, or (session) => true or false");
  if (!isModule(reflect))
    requireFunction(reflect, "reflect", refuse, "reflect: an agent, or (failed) => a text");
  if (typeof memory?.write !== "function" || typeof memory.open !== "function")
    throw refuse(
      "it does not say which memory",
      'memory: memory({ name: "lessons", scope: "project:rath" })',
    );
  requireCount(trials, "trials", refuse);
  requireCount(keep, "keep", refuse, 0);
  requireCount(characters, "characters", refuse, 200);
  if (typeof task !== "function" && (typeof task !== "string" || task.trim() === ""))
    throw refuse(`its \`task\` is ${showValue(task)}`, 'task: "issue 41", or (session) => a text');
  if (!LESSONS.includes(source))
    throw refuse(`its \`source\` is ${showValue(source)}`, '"failed-attempt" or "reflection"');
  const learner = new Learner(name, {
    attempt,
    validate,
    reflect,
    memory,
    trials,
    keep,
    task,
    source,
    characters,
  });
  const module: Reflexion = {
    name,
    kind: "reflexion",
    parts: Object.freeze({
      attempt,
      ...(isModule(validate) && { validate }),
      ...(isModule(reflect) && { reflect }),
    }),
    state: Object.freeze({ memory: memory.name, trials, keep, source, characters }),
    forward: (session) => forward(module, session, (entered) => learner.run(entered)),
    learn: (session, lesson) => {
      requireOptions(lesson, refuse, 'learner.learn(session, { text, of, by: "user:ada" })', LESSON);
      return learner.write(session, lesson);
    },
    [rebuild]: ({ memory: _, ...state }, parts) =>
      reflexion(name, {
        ...options,
        ...(state as Partial<ReflexionOptions>),
        attempt: parts.attempt as Module,
        validate: parts.validate ?? validate,
        reflect: parts.reflect ?? reflect,
      }),
  };
  return Object.freeze(module);
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

/** The options, checked once, and the trials. */
export class Learner {
  readonly #name: string;
  readonly #given: Required<ReflexionOptions>;
  readonly #recall: ReturnType<typeof lessonsFrom>;

  constructor(name: string, given: Required<ReflexionOptions>) {
    this.#name = name;
    this.#given = given;
    this.#recall = lessonsFrom(given.memory);
  }

  taskOf(session: Session): string {
    const { task } = this.#given;
    return keyOf(typeof task === "string" ? task : task(session)) || `reflexion ${this.#name}`;
  }

  async run(entered: Session): Promise<Session> {
    const { attempt, validate, trials, keep, characters } = this.#given;
    const name = this.#name;
    const task = this.taskOf(entered);
    const failed: Session[] = [];
    for (let trial = 1; ; trial++) {
      const why = `${name}: trial ${trial} of ${trials}`;
      const fork = entered.fork(`trial ${trial}`, { why, by: "runtime" });
      const recalled =
        keep === 0
          ? { session: fork, value: [] as readonly Recollection[] }
          : await this.#recall(fork, { task, keep, characters });
      const outcome = await tried(name, attempt, validate, recalled.session);
      const end = (session: Session, reason: string) =>
        joined([session, ...failed], { adopt: "ours", why: `${name}: ${reason}` });
      // Nobody who goes on from here has anything left to spend.
      if (outcome.report === undefined) return end(outcome.session, "a limit ended the validation");
      if (outcome.report.fact.passed) return end(outcome.session, `trial ${trial} passed`);
      const learnt = await this.#learn(outcome, outcome.report, { task, trial, lessons: recalled.value });
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

  /** Has somebody look back on a trial, beside its conversation, and keeps what they say. */
  async #learn(
    { session, attempted }: Trial,
    report: Report,
    {
      task,
      trial,
      lessons,
    }: { readonly task: string; readonly trial: number; readonly lessons: readonly Recollection[] },
  ): Promise<Session> {
    const { reflect } = this.#given;
    const { name, score, detail } = report.fact;
    const found = { name, ...defined({ score, detail }) };
    const asked = await ask(session, {
      name: `reflection on trial ${trial} of ${this.#name}`,
      whom: reflect,
      input: { task, trial, report: found, lessons: lessons.map(({ text }) => text) },
      words: `This trial failed: ${JSON.stringify(found)}\nSay in a few sentences what went wrong, and what to do differently when the same task comes again.`,
    });
    const text = typeof asked.value === "string" ? asked.value : JSON.stringify(asked.value);
    // Who has nothing to say has learnt nothing; the trial has failed all the same.
    if (asked.value === null || text.trim() === "") return asked.session;
    const by = askedOf(reflect);
    const written = await this.write(asked.session, { text, of: report.id, by, task, trial, attempted });
    return written.session;
  }

  async write(
    session: Session,
    {
      text,
      of,
      by,
      task,
      trial,
      attempted,
    }: Lesson & { readonly task?: string; readonly trial?: number; readonly attempted?: Session },
  ): Promise<StepResult<Written>> {
    const { memory, source } = this.#given;
    const report = requireFailed(session, of, `keep a reflection of "${this.#name}"`);
    const whole = text.toWellFormed();
    const kept = whole.length <= LONGEST ? whole : `${whole.slice(0, LONGEST - 1).toWellFormed()}…`;
    return memory.write(session, {
      text: kept,
      because: attempted === undefined || attempted.id === of ? [of] : [of, attempted.id],
      source,
      by,
      subject: task ?? this.taskOf(report),
      meta: {
        reflexion: this.#name,
        ...defined({ trial }),
        ...(kept !== whole && { characters: whole.length }),
      },
    });
  }
}
