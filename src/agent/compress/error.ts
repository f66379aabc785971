import { type FactId, type Json, RathError, type Session } from "../../session/index.js";

/** Something that stays in a prompt although it is too large. */
export type Weight = {
  readonly fact: FactId;
  readonly what: string;
  readonly tokens: number;
  readonly why: string;
};

/** A prompt does not fit its budget whatever may be left out. No model was asked; `session` is where it stands. */
export class ContextError extends RathError {
  readonly session: Session;

  constructor(
    agent: string,
    session: Session,
    sizes: { readonly budget: number; readonly tokens: number; readonly head: number },
    weights: readonly Weight[],
    failures: readonly string[],
  ) {
    const { budget, tokens, head } = sizes;
    const said = weights.map(
      ({ fact, what, tokens: own, why }) => `\n- ${what} (${fact.slice(0, 16)}): about ${own} tokens, ${why}`,
    );
    const first = head > budget / 2 ? `\n- its instructions and tools: about ${head} tokens` : "";
    const failed = failures.map((failure) => `\n- ${failure}`);
    super(
      "context-overflow",
      `Cannot ask a model for "${agent}": its prompt is about ${tokens} tokens and may have ${budget}, and nothing more can be left out of view.${first}${said.join("")}${failed.join("")}`,
      {
        hint: "raise `budget`, pin fewer messages, leave out `policies`, or limit the outputs of tools with `maxOutput`",
        data: { agent, ...sizes, stays: weights as unknown as Json, failures },
      },
    );
    this.session = session;
  }
}
