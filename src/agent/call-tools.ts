import type { Json, Session } from "../session/index.js";
import { requireName } from "../workflow/index.js";
import { act } from "./act.js";
import { AgentError } from "./error.js";
import type { CallRequest } from "./model/index.js";
import { type Callable, toolboxOf } from "./toolbox.js";

/** A call that a program makes: the tool by its name, and what it is given. */
export type ToolRequest = { readonly tool: string; readonly input?: Json };

/**
 * Calls tools from a workflow, as an agent would: all requests on the record in order, each decided about by the policies,
 * agreed to where it must be, done as its effect allows, and answered whatever comes of it. `by` is who calls.
 *
 * ```ts
 * session = await callTools(session, [{ tool: "search", input: { query: "bees" } }], { by: "librarian", tools: [search] });
 * ```
 */
export function callTools(
  session: Session,
  calls: readonly ToolRequest[],
  { by, tools }: { readonly by: string; readonly tools: readonly Callable[] },
): Promise<Session> {
  requireName(
    by,
    "caller of tools",
    'callTools(session, [{ tool: "search" }], { by: "librarian", tools: [search] })',
  );
  if (!Array.isArray(calls) || calls.length === 0)
    throw new AgentError(
      by,
      "it calls no tools",
      'name what to call: [{ tool: "search", input: { query } }]',
    );
  const requests = calls.map(
    ({ tool, input = {} }, place): CallRequest => ({
      type: "tool-call",
      // Calls are told apart within one session by where they were made from.
      call: `call_${session.id.slice(0, 16)}_${place}`,
      name: tool,
      input,
    }),
  );
  return act(session, requests, by, toolboxOf(by, tools, []), { of: () => undefined });
}
