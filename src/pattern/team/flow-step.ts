import type { Module } from "../../runtime/index.js";
import type { Json, Principal, Session } from "../../session/index.js";
import { showValue } from "../../util/index.js";
import {
  called,
  enter,
  type Parts,
  type Refuse,
  recordable,
  requireModule,
  signal,
  workflow,
} from "../../workflow/index.js";
import { type Chooser, type Rule, selector } from "../selector/index.js";

/** What a step waits for: an event, any of several, or all of them. An event is the name of a step, or a label. */
export type On = string | { readonly any: readonly On[] } | { readonly all: readonly On[] };

/**
 * A step of a flow: it begins when what it listens to has happened, or at once. When it is done, its name is an event; a
 * step that routes or asks a person has one of its labels as an event too.
 */
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

/** The events that a step listens to. */
export function listenedTo(on: On): readonly string[] {
  if (typeof on === "string") return [on];
  return ("any" in on ? on.any : on.all).flatMap(listenedTo);
}

/** Whether what happened is enough. */
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
