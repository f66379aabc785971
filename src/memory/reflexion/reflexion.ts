import { forward, type Module } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import { optionNames, showValue } from "../../util/index.js";
import {
  called,
  isModule,
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
import type { Written } from "../operation.js";
import { Learner, type Lesson, type ReflexionOptions } from "./learner.js";
import { LESSONS, taskIn } from "./lesson.js";

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
