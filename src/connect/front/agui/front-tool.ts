import { build, inputChecker, type Tool } from "../../../agent/tool/index.js";
import type { FactId, Json, Session, View } from "../../../session/index.js";
import { isObject } from "../../../util/index.js";
import { APP_NOTE } from "./state.js";

/** A tool that a front end offers with a request. */
export type FrontTool = { readonly name: string; readonly description: string; readonly parameters: Json };
/** A fact that a front end tells of the app. */
export type FrontContext = { readonly description: string; readonly value: string };

const SOURCE = { agui: "front-end" } as const;

/**
 * The tools that the front end offered with the newest request, for agents. A call of one suspends the run, the front end does
 * it, and its next request brings the result.
 *
 * ```ts
 * const helper = agent({ name: "helper", model, tools: (session) => [search, ...frontTools(session)] });
 * ```
 */
export function frontTools(session: Session): readonly Tool[] {
  return session.view(offerView).tools.map(frontTool);
}

/** The context of the app that the front end sent with the newest request. */
export function frontContext(session: Session): readonly FrontContext[] {
  return session.view(offerView).context;
}

export type Offer = { readonly tools: readonly FrontTool[]; readonly context: readonly FrontContext[] };

export const offerView: View<Offer> = {
  start: { tools: [], context: [] },
  step(offer, fact) {
    if (fact.type !== "note" || fact.kind !== APP_NOTE) return offer;
    const { tools, context } = fact as Partial<Record<keyof Offer, unknown>>;
    return {
      tools: Array.isArray(tools) ? (tools as readonly FrontTool[]) : offer.tools,
      context: Array.isArray(context) ? (context as readonly FrontContext[]) : offer.context,
    };
  },
};

/** The tool of a front end as a tool of an agent: pending work that only its result settles. */
export function frontTool({ name, description, parameters }: FrontTool): Tool {
  return build<unknown, string>(
    {
      name,
      description: description === "" ? name : description,
      effect: "write",
      source: SOURCE,
      approval: true,
      // The result takes the place of the call.
      run: () => {
        throw new Error(`${name} is a tool of the front end, which gives its result`);
      },
    },
    { input: inputChecker(name, isObject(parameters) ? parameters : { type: "object" }) },
    { question: () => ({ type: "string" }) },
  );
}

/** Whether a session is a call that a front end does. */
export function isFrontCall({ fact }: Session): boolean {
  return fact.type === "tool-call" && isObject(fact.source) && fact.source.agui === SOURCE.agui;
}

/** The tool calls that approvals are of, by the ids of the approvals. */
export function callsOf(session: Session, asks: readonly FactId[]): ReadonlyMap<FactId, Session> {
  const calls = new Map<FactId, FactId>();
  const wanted = new Set(asks);
  const sessions = new Map<FactId, Session>();
  for (const node of session.history()) {
    if (node.fact.type === "tool-call") sessions.set(node.id, node);
    if (wanted.has(node.id) && node.fact.type === "approval-ask" && node.fact.of !== undefined)
      calls.set(node.id, node.fact.of);
  }
  return new Map(
    [...calls].flatMap(([ask, call]) => {
      const found = sessions.get(call);
      return found === undefined ? [] : [[ask, found]];
    }),
  );
}
