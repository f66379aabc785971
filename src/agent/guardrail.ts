import type { Session } from "../session/index.js";
import { defined, isObject } from "../util/index.js";
import { enter, isModule, type Module, type Refuse, type Step, wrong } from "../workflow/index.js";
import { outputIn } from "./output.js";

/** The result of a check, and why it is so. */
export type GuardrailVerdict = boolean | { readonly passed: boolean; readonly why?: string };

/** A check of what an agent is told, or of what it answers. */
export type Guardrail = {
  /** The name of its `validation-report` facts. */
  readonly name: string;
  /** A function of text and session, or a module: a step's value, or an agent's output on its own branch. */
  readonly check:
    | ((text: string, session: Session) => GuardrailVerdict)
    | Step<string, GuardrailVerdict>
    | Module;
  /** The consequence when it does not pass: "stop" ends the agent with a `GuardrailError`, "repair" asks the model again. Default "stop". */
  readonly otherwise?: "stop" | "repair";
};

export type Guardrails = {
  /** Checked before the model is asked. They can only stop. */
  readonly input?: readonly Guardrail[];
  /** Checked when the model answers without calling a tool. Text that was streamed before has been shown. */
  readonly output?: readonly Guardrail[];
};

/** The first guardrail that did not pass, with its reason. */
type Guarded = {
  readonly session: Session;
  readonly failed?: { readonly guardrail: Guardrail; readonly why: string };
};

/** Checks a text with each guardrail in order, up to the first that does not pass; every verdict is on the record. */
export async function guard(
  given: Session,
  agent: string,
  guardrails: readonly Guardrail[] = [],
  text: string,
): Promise<Guarded> {
  let session = given;
  for (const guardrail of guardrails) {
    const { name } = guardrail;
    const found = await verdictOf(session, agent, guardrail, text);
    const { passed, why } = found.verdict;
    session = found.session.append({
      type: "validation-report",
      name,
      passed,
      ...defined({ detail: why }),
      of: given.id,
      by: `agent:${agent}`,
    });
    if (!passed)
      return { session, failed: { guardrail, why: why ?? `it did not pass the guardrail "${name}"` } };
  }
  return { session };
}

type Verdict = { readonly passed: boolean; readonly why?: string };

async function verdictOf(
  session: Session,
  agent: string,
  { name, check }: Guardrail,
  text: string,
): Promise<{ readonly session: Session; readonly verdict: Verdict }> {
  const read = (said: unknown) => readVerdict(said, name, agent);
  if (typeof check === "function") return { session, verdict: read(check(text, session)) };
  const fork = session.fork(`guardrail ${name}`, { by: `agent:${agent}` });
  let judged: Session;
  let said: unknown;
  if ("call" in check) ({ session: judged, value: said } = await check.call(fork, text));
  else {
    judged = await enter(check, fork.say(`[Check this text:]\n${text}`, { by: `agent:${agent}` }));
    said = outputIn(check, judged);
  }
  const merged = session.merge(judged, { adopt: "ours", why: `checked by ${name}`, by: `agent:${agent}` });
  return { session: merged, verdict: read(said) };
}

function readVerdict(said: unknown, name: string, agent: string): Verdict {
  if (typeof said === "boolean") return { passed: said };
  const { passed, why } = (isObject(said) ? said : {}) as { passed?: unknown; why?: unknown };
  if (typeof passed === "boolean" && (why === undefined || typeof why === "string"))
    return { passed, ...defined({ why }) };
  throw wrong(said, `guardrail ${name}`, `agent "${agent}"`, "true, false or { passed, why }");
}

const EXAMPLE =
  'guardrails: { output: [{ name: "polite", check: (text) => !/damn/.test(text), otherwise: "repair" }] }';

export function requireGuardrails(guardrails: unknown, _: string, refuse: Refuse): void {
  const {
    input = [],
    output = [],
    ...rest
  } = (isObject(guardrails) ? guardrails : { no: 1 }) as { readonly [side: string]: unknown };
  if (Object.keys(rest).length > 0 || !Array.isArray(input) || !Array.isArray(output))
    throw refuse("its `guardrails` are not lists of input and output guardrails", EXAMPLE);
  for (const [side, list] of Object.entries({ input, output }) as [string, readonly unknown[]][])
    for (const one of list) {
      const { name, check, otherwise = "stop", ...more } = Object(one) as Partial<Guardrail>;
      const isCheck = typeof check === "function" || isModule(check);
      // The checks of structured output have this name.
      if (
        typeof name !== "string" ||
        name === "" ||
        name === "output" ||
        !isCheck ||
        Object.keys(more).length > 0
      )
        throw refuse(`one of its ${side} guardrails needs a name of its own and a check`, EXAMPLE);
      if (otherwise !== "stop" && (otherwise !== "repair" || side === "input"))
        throw refuse(`its ${side} guardrail "${name}" cannot ${String(otherwise)}`, EXAMPLE);
    }
}
