import { checkInput, type InputSchema, type Tool, tool } from "../../agent/tool/index.js";
import { hold } from "../../runtime/index.js";
import type { Json, Session } from "../../session/index.js";

/** What an answer shall be, and whether one is it. */
export type Shape = { readonly schema: Json; check(session: Session, text: string): Promise<Found> };
export type Found = { readonly value: Json } | { readonly problem: string };

/** A schema for answers of agents that were not made for it. The same rules as for what a tool takes. */
export function shapeOf(schema: InputSchema): Shape {
  const checker = tool({
    name: "answer",
    description: "The expected answer.",
    input: schema,
    effect: "pure",
    run: (value) => value,
  }) as Tool;
  return {
    schema: checker.input.json,
    check: (session, text) => hold(session, () => found(checker, text)),
  };
}

async function found(checker: Tool, text: string): Promise<Found> {
  let parsed: unknown;
  try {
    // Many models put JSON between fences, even when told not to.
    parsed = JSON.parse(/^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1] ?? text);
  } catch (error) {
    return { problem: `it is not JSON (${error instanceof Error ? error.message : error})` };
  }
  const result = await checkInput(checker, parsed);
  return result.ok ? { value: result.value as Json } : { problem: result.failure.message };
}
