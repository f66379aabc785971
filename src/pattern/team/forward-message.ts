import { type Tool, tool } from "../../agent/tool/index.js";
import type { FactId, Json, Session } from "../../session/index.js";
import { answerIn, transferName } from "./handoff.js";

/** The tool by which a worker's answer is passed on as it is. */
export const FORWARD = "forward_message";

/** What was passed on, and whose words these are. */
export type Forwarded = { readonly from: string; readonly text: string };

/** Passes the newest answer of a worker on, word for word: what a model says in other words is no quotation. */
export function forwardTool(workers: readonly string[]): Tool<never, unknown> {
  return tool({
    name: FORWARD,
    description:
      "Gives the last answer of a worker as your own final answer, word for word. Use it when there is nothing to add.",
    input: {
      type: "object",
      properties: { from: { type: "string", enum: [...workers], description: "Whose answer." } },
      required: ["from"],
      additionalProperties: false,
    },
    effect: "pure",
    run(input, { session }) {
      const { from } = input as { readonly from: string };
      const text = answerOf(session, from);
      if (text === undefined) throw new Error(`${from} has not answered yet. Hand the work over first.`);
      return { from, text };
    },
  }) as unknown as Tool<never, unknown>;
}

/** What the newest reply passed on, if it passed on anything. */
export function forwarded(session: Session): Forwarded | undefined {
  const outputs = new Map<FactId, Json>();
  for (const node of backFrom(session)) {
    const { fact } = node;
    if (fact.type === "model-reply") return undefined;
    if (fact.type === "tool-result") outputs.set(fact.of, fact.output);
    if (fact.type === "tool-call" && fact.name === FORWARD && outputs.has(node.id))
      return outputs.get(node.id) as unknown as Forwarded;
  }
  return undefined;
}

/** What a worker answered last: from the branch itself, since the supervisor may have been told more or less. */
function answerOf(session: Session, worker: string): string | undefined {
  const ends = new Map<FactId, Session>();
  for (const node of backFrom(session)) {
    const { fact } = node;
    const end = node.soleParent === undefined ? node.parents[1] : undefined;
    if (fact.type === "tool-result" && end !== undefined) ends.set(fact.of, end);
    const found = ends.get(node.id);
    if (fact.type === "tool-call" && fact.name === transferName(worker) && found !== undefined)
      return answerIn(found);
  }
  return undefined;
}

function* backFrom(session: Session): Generator<Session, void> {
  for (let node: Session | undefined = session; node !== undefined; node = node.soleParent ?? node.parents[0])
    yield node;
}
