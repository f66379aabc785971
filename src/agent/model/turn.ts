import type { FactId, Session, View } from "../../session/index.js";

type Turns = {
  readonly replies: { readonly [agent: string]: number };
  /** Calls without an answer, and who made them. */
  readonly open: { readonly [call: FactId]: string };
};

const turnView: View<Turns> = {
  start: { replies: {}, open: {} },
  step(state, fact, session) {
    const { replies, open } = state;
    switch (fact.type) {
      case "model-call":
        return { replies, open: { ...open, [session.id]: fact.agent ?? "" } };
      case "model-reply":
      case "model-failure": {
        const { [fact.of]: agent, ...rest } = open;
        if (agent === undefined) return state;
        if (fact.type === "model-failure") return { replies, open: rest };
        return { replies: { ...replies, [agent]: (replies[agent] ?? 0) + 1 }, open: rest };
      }
      default:
        return state;
    }
  },
};

/** How many replies an agent has had in the past of a session: the same in any process, and on each branch its own. */
export function turnOf(session: Session, agent: string): number {
  return session.view(turnView).replies[agent] ?? 0;
}
