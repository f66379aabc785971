import { type Failure, type Json, RathError, type Session, SessionError } from "../session/index.js";

/** An agent that cannot be: no name, no model, two tools under one name. */
export class AgentError extends RathError {
  constructor(agent: string, reason: string, hint: string) {
    super("agent-refused", `Cannot make the agent "${agent}": ${reason}.`, { hint, data: { agent, reason } });
  }
}

/** All models of an agent failed. Their failures are on the record: `session` ends with the last one. */
export class ModelFailedError extends SessionError {
  constructor(
    agent: string,
    session: Session,
    failures: readonly { readonly model: string; readonly error: Failure }[],
  ) {
    const said = failures.map(({ model, error }) => `\n- ${model}: ${error.message}`).join("");
    super(session, "model-failed", `No model answered the agent "${agent}".${said}`, {
      hint: hintsFor(failures).join("; "),
      data: { agent, failures: failures as Json },
    });
  }
}

const OTHER = "give it another model to fall back to: model: [main, other]";

/** A hint by the models' errors: wait only where waiting may help. */
function hintsFor(
  failures: readonly { readonly model: string; readonly error: Failure }[],
): readonly string[] {
  const hints = failures.map(({ model, error: { code, data } }) => {
    const { status, retryable } = (data ?? {}) as { readonly status?: number; readonly retryable?: boolean };
    if (status === 401 || status === 403)
      return `${model} refused the key: see that the one it is given (most read it from the environment) is valid and may use this model`;
    if (code === "script-ended")
      return `add a reply to the script of ${model}, or end it with a function, which answers from there on: scripted(…, (prompt) => …)`;
    return retryable === true ? `${OTHER}, or more patience: retry: { attempts: 5 }` : OTHER;
  });
  return [...new Set(hints)];
}

/** The answer never fitted its schema, after all attempts. `session` ends with the last check. */
export class OutputError extends SessionError {
  constructor(agent: string, session: Session, tries: number, problem: string, hopeless = false) {
    const often = tries === 1 ? "one try" : `${tries} tries`;
    super(session, "output-refused", `The agent "${agent}" gave no fitting output in ${often}: ${problem}`, {
      hint: hopeless
        ? "repair the schema: the model was not asked again, since no answer would pass"
        : "allow more repairs, ask for something simpler, or use a model with structured output",
      data: { agent, tries, problem },
    });
  }
}

/** A guardrail stopped the agent. `session` ends with its report. */
export class GuardrailError extends SessionError {
  constructor(agent: string, session: Session, side: "input" | "output", guardrail: string, why: string) {
    super(
      session,
      "guardrail-stopped",
      `The ${side} guardrail "${guardrail}" stopped the agent "${agent}": ${why}`,
      {
        hint: "the reason is the newest validation-report of error.session",
        data: { agent, side, guardrail, why },
      },
    );
  }
}
