import { stopAt } from "../../agent/index.js";
import type { Module } from "../../runtime/index.js";
import type { Json, Principal, Session, View } from "../../session/index.js";
import { mapValues, nearestOf, showValue } from "../../util/index.js";
import type { Checks, Parts, Rebuilds, Refuse } from "../../workflow/index.js";
import {
  called,
  checkOptions,
  defineModule,
  enter,
  optional,
  recordable,
  refusing,
  requireCount,
  requireModule,
  requireName,
  allOf as sidesOf,
  signal,
  workflow,
} from "../../workflow/index.js";
import { elsewhere } from "../options.js";
import { type Chooser, type Rule, routeOf, selector } from "../selector/index.js";

export type FlowOptions = {
  readonly name: string;
  readonly steps: { readonly [name: string]: FlowStep };
  /** Maximum number of steps; a repeated step counts each time. The flow then ends with a `budget-stop`. Default 100. */
  readonly maxSteps?: number;
};

/**
 * Steps that begin when the events they listen to have happened, in rounds: one in the conversation itself,
 * several on branches merged in order. Events are read from the record, so a killed flow resumes.
 *
 * ```ts
 * const article = flow({
 *   name: "article",
 *   steps: {
 *     draft: { run: writer },
 *     check: { on: "draft", route: byModel(model), labels: ["good", "bad"] },
 *     consent: { on: "good", ask: "Publish it?", labels: ["yes", "no"] },
 *     rewrite: { on: { any: ["bad", "no"] }, run: editor },
 *     publish: { on: "yes", run: publisher },
 *   },
 * });
 * await rath.signal("article-7", "consent", { outcome: "no", feedback: "Too long." }, "user:ada");
 * ```
 */
export function flow(options: FlowOptions): Module & Rebuilds {
  const { name } = (options ?? {}) as FlowOptions;
  requireName(name, "flow", EXAMPLE);
  const refuse = refusing(called("flow", name));
  checkOptions(options, CHECKS, refuse, EXAMPLE);
  const { steps, maxSteps = 100 } = options;
  if (typeof steps !== "object" || steps === null || Object.keys(steps).length === 0)
    throw refuse("it has no steps", EXAMPLE);
  for (const [step, given] of Object.entries(steps)) requireStep(step, given, refuse);
  requireEvents(steps, refuse);
  const modules = mapValues(steps, (given, step) => moduleOf(step, given, refuse));
  const on = mapValues(steps, (given) => given.on);
  const listening = mapValues(on, (wanted) => (wanted ?? null) as Json);
  const labelled = Object.keys(steps).filter((step) => "labels" in (steps[step] as FlowStep));
  return defineModule(
    {
      kind: "flow",
      name,
      example: EXAMPLE,
      parts: modules,
      options: { maxSteps, on: listening },
      checks: {
        maxSteps: requireCount,
        on(now) {
          if (JSON.stringify(now) !== JSON.stringify(listening))
            throw refuse("what its steps listen to is code, not a value", "make another flow");
        },
      },
      learnable: ["maxSteps", "on"],
    },
    async (entered, { parts, order, options: { maxSteps: most } }) => {
      let session = entered;
      let left = most;
      // Of each step, what has happened of that which it listens to since it was done last.
      const happened = new Map(order.map((step) => [step, new Set<string>()]));
      let ready = order.filter((step) => on[step] === undefined);
      for (let round = 1; ready.length > 0; round++) {
        if (left < ready.length) return stopAt(session, "steps", most, most - left, ready.length);
        left -= ready.length;
        const done = await roundOf(`${name}: round ${round}`, labelled, session, ready, parts);
        session = done.session;
        for (const step of ready) happened.get(step)?.clear();
        ready = order.filter((step) => {
          const [wanted, seen] = [on[step], happened.get(step) as Set<string>];
          if (wanted === undefined) return false;
          for (const event of done.events) seen.add(event);
          return holds(wanted, seen);
        });
      }
      return session;
    },
  );
}

const EXAMPLE =
  'flow({ name: "article", steps: { draft: { run: writer }, publish: { on: "draft", run: publisher } } })';
const CHECKS: Checks<FlowOptions> = { ...elsewhere("name", "steps"), maxSteps: optional(requireCount) };

/** Does the steps that can begin now, and tells what has happened by that, in the order of the steps. */
async function roundOf(
  why: string,
  labelled: readonly string[],
  session: Session,
  ready: readonly string[],
  parts: Parts,
): Promise<{ readonly session: Session; readonly events: readonly string[] }> {
  // The events of a finished step: its name, and the label that it chose.
  const eventsOf = (step: string, done: Session): readonly string[] => {
    const label = labelled.includes(step) ? routeOf(done, step) : undefined;
    return typeof label === "string" ? [step, label] : [step];
  };
  const run = (step: string) => (given: Session) => enter(parts[step] as Module, given);
  const [first = ""] = ready;
  if (ready.length === 1) {
    const done = await run(first)(session);
    return { session: done, events: eventsOf(first, done) };
  }
  const sides = ready.map((step) => ({ branch: step, why, run: run(step) }));
  const ends = await sidesOf(session, sides, undefined);
  return {
    // From the trunk, so that what follows is on its branch and not on that of the first step.
    session: session.merge(ends, { adopt: "both", why, by: "runtime" }),
    events: ready.flatMap((step, place) => eventsOf(step, ends[place] as Session)),
  };
}

function requireStep(step: string, given: FlowStep, refuse: Refuse): void {
  if (typeof given !== "object" || given === null)
    throw refuse(`its step "${step}" is ${showValue(given)}`, EXAMPLE);
  const { on, ...rest } = given as { readonly [field: string]: unknown };
  const deed = DEEDS.find(([first]) => Object.hasOwn(rest, first as string));
  const wrong = Object.keys(rest).find((field) => !(deed ?? []).includes(field));
  if (deed === undefined || wrong !== undefined || Object.keys(rest).length !== deed.length)
    throw refuse(
      `its step "${step}" has ${Object.keys(rest).join(", ") || "nothing to do"}`,
      "{ run }, { route, labels } or { ask, labels }, and on",
    );
  if (on !== undefined) requireOn(on, step, refuse);
}

const DEEDS: readonly (readonly string[])[] = [["run"], ["route", "labels"], ["ask", "labels"]];

/** Every event is one that can happen, and something can begin. */
function requireEvents(steps: FlowOptions["steps"], refuse: Refuse): void {
  const all = Object.values(steps);
  const known = [...Object.keys(steps), ...all.flatMap((step) => ("labels" in step ? step.labels : []))];
  for (const { on } of all)
    for (const event of on === undefined ? [] : listenedTo(on))
      if (!known.includes(event)) {
        const meant = nearestOf(event, known);
        throw refuse(
          `a step listens to ${showValue(event)}, which never happens`,
          meant === undefined ? `the events are ${known.join(", ")}` : `did you mean "${meant}"?`,
        );
      }
  if (all.every(({ on }) => on !== undefined))
    throw refuse("all of its steps wait for others", "leave `on` out where it begins");
}

/** Keeps values for later steps and runs, replacing those with the same names. */
export function keep(session: Session, values: { readonly [name: string]: Json }): Session {
  return session.append({ type: "note", kind: KEPT, values, by: "runtime" });
}

/** All that was kept on the way to a session, on all its branches. */
export function keptIn(session: Session): { readonly [name: string]: Json } {
  return session.view(keptView);
}

const KEPT = "kept";

const keptView: View<{ readonly [name: string]: Json }> = {
  start: {},
  step: (kept, fact) =>
    fact.type === "note" && fact.kind === KEPT
      ? { ...kept, ...(fact.values as { [name: string]: Json }) }
      : kept,
};

/** The events a step waits for: one, any or all of a list. An event is the name of a step, or a label. */
export type On = string | { readonly any: readonly On[] } | { readonly all: readonly On[] };

/** A step of a flow. Its name is an event when it is done; a routing or asking step adds a label. */
export type FlowStep = { readonly on?: On } & (
  | { readonly run: Module }
  /** Somebody who chooses one of the labels, or none: a rule, `byModel(model)`, any chooser of `openrath/pattern`. */
  | { readonly route: Rule | Chooser; readonly labels: readonly string[] }
  /** A person, who is shown this and answers with one of the labels: pending work under the name of the step. */
  | { readonly ask: Json | ((session: Session) => Json); readonly labels: readonly string[] }
);

/** The module of a step. It has the step's name, so that the record tells one step from another. */
export function moduleOf(name: string, step: FlowStep, refuse: Refuse): Module {
  if ("run" in step) {
    const run = requireModule(step.run, called("flow step", name), "run");
    return workflow(name, { [run.name]: run }, (session, parts) => enter(parts[run.name] as Module, session));
  }
  const labels = labelsOf(name, step.labels, refuse);
  if ("route" in step) return selector(name, nothingFor(labels), step.route);
  return workflow(name, (session) => asked(name, step.ask, labels, session));
}

function labelsOf(name: string, labels: unknown, refuse: Refuse): readonly string[] {
  if (
    !Array.isArray(labels) ||
    labels.length === 0 ||
    labels.some((label) => typeof label !== "string" || label === "")
  )
    throw refuse(`the labels of its step "${name}" are ${showValue(labels)}`, 'labels: ["yes", "no"]');
  return Object.freeze([...labels]);
}

/** Routes that lead nowhere: what follows from a label is for those who listen. */
function nothingFor(labels: readonly string[]): Parts {
  return Object.fromEntries(labels.map((label) => [label, workflow(label, async (session) => session)]));
}

/** Asks a person until the answer is one of the labels, or has one: `{ outcome, feedback }`. Feedback is said. */
async function asked(
  name: string,
  ask: Json | ((session: Session) => Json),
  labels: readonly string[],
  given: Session,
): Promise<Session> {
  const question = typeof ask === "function" ? recordable(ask(given), "ask", called("flow step", name)) : ask;
  let session = given;
  let problem: string | undefined;
  for (;;) {
    const what = { question, labels, ...(problem !== undefined && { problem }) };
    const heard = await signal(name, what).call(session);
    session = heard.session;
    const { outcome, feedback } = answerIn(heard.value);
    if (outcome !== undefined && labels.includes(outcome)) {
      const by = session.parents[1]?.fact.by as Principal;
      const chosen = session.append({
        type: "route-choose",
        selector: name,
        candidates: labels.map((label) => ({ name: label })),
        chosen: outcome,
        ...(feedback !== undefined && { why: feedback }),
        chooser: "person",
        by,
      });
      return feedback === undefined ? chosen : chosen.say(feedback, { by });
    }
    problem = `${showValue(heard.value)} is none of ${labels.join(", ")}`;
  }
}

function answerIn(value: Json): { readonly outcome?: string; readonly feedback?: string } {
  if (typeof value === "string") return { outcome: value };
  const { outcome, feedback } = (value ?? {}) as { readonly [field: string]: unknown };
  return {
    ...(typeof outcome === "string" && { outcome }),
    ...(typeof feedback === "string" && feedback !== "" && { feedback }),
  };
}

export function listenedTo(on: On): readonly string[] {
  if (typeof on === "string") return [on];
  return ("any" in on ? on.any : on.all).flatMap(listenedTo);
}

export function holds(on: On, happened: ReadonlySet<string>): boolean {
  if (typeof on === "string") return happened.has(on);
  return "any" in on
    ? on.any.some((one) => holds(one, happened))
    : on.all.every((one) => holds(one, happened));
}

export function requireOn(on: unknown, step: string, refuse: Refuse): void {
  if (typeof on === "string") return;
  const { any, all, ...rest } = (on ?? {}) as { readonly [field: string]: unknown };
  const list = any ?? all;
  if (
    !Array.isArray(list) ||
    list.length === 0 ||
    (any !== undefined && all !== undefined) ||
    Object.keys(rest).length > 0
  )
    throw refuse(
      `its step "${step}" listens to ${showValue(on)}`,
      'on: "draft", on: { any: ["yes", "maybe"] }, or on: { all: ["a", "b"] }',
    );
  for (const one of list) requireOn(one, step, refuse);
}
