import { hold } from "../runtime/index.js";
import type { FactId, FactOf, Failure, Json, Session, View } from "../session/index.js";
import { adopted, drafted, List, RathError, requireSession } from "../session/index.js";
import { defined } from "../util/index.js";
import type { Module } from "../workflow/index.js";
import { AgentError } from "./error.js";
import { textOf, transcriptFor } from "./model/index.js";
import { stopOf } from "./stop.js";
import { checkInput, type InputSchema, type Issue, type Tool, tool } from "./tool/index.js";

/** The expected answer of an agent: the model sees it as a JSON Schema, and each answer is checked. */
export type Output = { readonly schema: Json; readonly checker: Tool };

export function outputFor(agent: string, schema: InputSchema): Output {
  try {
    const checker = checkerFor("output", schema);
    return { schema: checker.input.json, checker };
  } catch (error) {
    if (!(error instanceof RathError)) throw error;
    throw new AgentError(agent, `its output cannot be checked: ${error.data.reason}`, error.hint);
  }
}

export function checkerFor(name: string, schema: InputSchema): Tool {
  const description = "The expected answer.";
  return tool({ name, description, input: schema, effect: "pure", run: (value) => value }) as Tool;
}

/** The value of an answer in JSON. Many models put JSON between fences, even when told not to. */
export function parseAnswer(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: JSON.parse(/^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1] ?? text) };
  } catch (error) {
    return { problem: `it is not JSON (${error instanceof Error ? error.message : error})` };
  }
}

/**
 * The newest structured output that passed its check, of any agent; otherwise undefined.
 *
 * ```ts
 * const session = await rath.run(sequence([reader, critic]), rath.start("Read it."));
 * outputOf(session); // what the critic said, as JSON; critic.output(session) has its type
 * ```
 */
export function outputOf(session: Session): Json | undefined {
  const outputs = requireSession(session, "read the output").view(outputView);
  for (const { value } of outputs.from(outputs.length - 1)) return value;
  return undefined;
}

/** The newest answer of this agent that passed its check. */
export function outputBy(agent: string, session: Session): Json | undefined {
  return requireSession(session, "read the output")
    .view(outputView)
    .toArray()
    .findLast((output) => output.agent === agent)?.value;
}

export function outputIn(module: Module, session: Session): Json | undefined {
  const { output } = module as { readonly output?: (session: Session) => Json | undefined };
  return typeof output === "function" ? output(session) : undefined;
}

export function lastReply(session: Session, since: FactId | undefined): string | undefined {
  const last = transcriptFor(defined({ since }), session).findLast(
    (message) => message.role === "assistant" && textOf(message.content) !== "",
  );
  return last?.role === "assistant" ? textOf(last.content) : undefined;
}

/** The output of a module since a session, else its last words; undefined where a limit ended the work. */
export function answerOf(module: Module, session: Session, since: Session): Json | undefined {
  if (stopOf(session) !== undefined) return undefined;
  const output = outputIn(module, session);
  return output === undefined ? lastReply(session, since.id) : output;
}

/** Answers that passed, oldest first: of this line of the conversation, and of what was merged into it unless it lost. */
const outputView: View<List<{ readonly agent: string; readonly value: Json }>> = {
  start: List.empty,
  step(outputs, fact) {
    if (fact.type !== "validation-report" || fact.name !== "output" || !fact.passed) return outputs;
    const { by, detail: value = null } = fact;
    return by.startsWith("agent:")
      ? outputs.push(Object.freeze({ agent: by.slice("agent:".length), value }))
      : outputs;
  },
  merge(sides, merge) {
    const place = adopted(merge);
    const [ours = List.empty, ...others] = sides;
    if (place !== undefined) return sides[place] ?? ours;
    let joined = ours;
    for (const theirs of others)
      for (const output of theirs.from(ours.sharedWith(theirs))) joined = joined.push(output);
    return joined;
  },
};

/** The result of a check. `hopeless`: the schema itself is broken, so no other answer would pass. */
type Found =
  | { readonly value: Json; readonly problem?: undefined; readonly hopeless?: undefined }
  | { readonly problem: string; readonly hopeless?: boolean };

export async function checked(
  before: Session,
  agent: string,
  output: Output,
): Promise<{ readonly session: Session } & Found> {
  const reply = before.fact as FactOf<"model-reply">;
  // Some providers say which text is the output.
  const { output: said } = (reply.meta ?? {}) as { readonly output?: Json };
  const text = typeof said === "string" ? said : textOf(reply.content);
  const found = await hold(before, () => valueIn(text, output));
  const session = before.append({
    type: "validation-report",
    name: "output",
    passed: found.problem === undefined,
    detail: found.problem ?? found.value,
    of: before.id,
    by: `agent:${agent}`,
  });
  return { session, ...found };
}

export function repairOf(problem: string): string {
  return `Your answer cannot be used: ${problem}\nAnswer again with the JSON alone, fitting the schema.`;
}

async function valueIn(text: string, { checker }: Output): Promise<Found> {
  const parsed = parseAnswer(text);
  if ("problem" in parsed) return { problem: `${parsed.problem}.` };
  const result = await checkInput(checker, parsed.value);
  if (!result.ok) return misfit(result.failure);
  try {
    // A schema may make something of the answer that no record can hold.
    drafted({ type: "note", value: result.value as Json });
  } catch (error) {
    const problem = `its schema makes of it what no record can hold: ${(error as Partial<RathError>).data?.reason}.`;
    return { problem, hopeless: true };
  }
  return { value: result.value as Json };
}

/** The problem in words, for a model that was asked for an answer and not for a call. */
function misfit({ message, data }: Failure): Found {
  const { issues, reason } = (data ?? {}) as { readonly issues?: readonly Issue[]; readonly reason?: string };
  if (issues === undefined) return { problem: `its schema is broken: ${reason ?? message}.`, hopeless: true };
  const lines = issues.map(({ path, message: said }) => `\n- ${path === "" ? said : `${path}: ${said}`}`);
  return { problem: `it does not fit the schema.${lines.join("")}` };
}
