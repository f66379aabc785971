import { callTools } from "../../agent/index.js";
import { textOf } from "../../agent/model/index.js";
import type { Tool } from "../../agent/tool/index.js";
import { forward, type Module } from "../../runtime/index.js";
import type { FactOf, Json, Session } from "../../session/index.js";

/** Who makes the calls of clients. */
const CALLER = "mcp";

/**
 * A tool as a module: the session says what it is called with, and the call is on the record like any other, with its
 * effect, its approval, its limits and what became of it.
 */
export function callModule(tool: Tool): Module {
  const module: Module = {
    name: tool.name,
    kind: "mcp-tool",
    ...(tool.module !== undefined && { parts: { [tool.name]: tool.module as Module } }),
    forward: (session) =>
      forward(module, session, (entered) =>
        callTools(entered, [{ tool: tool.name, input: inputIn(entered) }], { by: CALLER, tools: [tool] }),
      ),
  };
  return Object.freeze(module);
}

/** What became of the call that a run was made for. */
export function outcomeIn(session: Session): FactOf<"tool-result"> | FactOf<"tool-failure"> | undefined {
  let node: Session | undefined = session;
  while (node !== undefined && node.fact.type !== "tool-result" && node.fact.type !== "tool-failure")
    node = node.soleParent ?? node.parents[0];
  return node?.fact.type === "tool-result" || node?.fact.type === "tool-failure" ? node.fact : undefined;
}

function inputIn(session: Session): Json {
  const said = session.transcript.findLast(({ role }) => role === "user");
  return said?.role === "user" ? (JSON.parse(textOf(said.content)) as Json) : {};
}
