import {
  bounded,
  build,
  DEFAULT_OUTPUT,
  type Tool,
  type ToolContext,
  ToolOutputError,
  type ToolRetry,
} from "../../agent/tool/index.js";
import type { Effect, Json, Terms } from "../../session/index.js";
import { askingModule } from "./asking.js";
import type { Called } from "./call.js";
import type { Connection } from "./connection.js";
import { outputOf } from "./content.js";
import { checkerOf, type Definition, nameFor, type Pin } from "./definition.js";
import { McpAnswerError } from "./error.js";

/** What may be said of single tools, by the name that the server gives them. */
export type ToolSettings = {
  /** What it does to the world, where the server says it wrongly, or is not believed. */
  readonly effect?: Effect;
  /** Whether a person must agree to each call. */
  readonly approval?: boolean | Terms | ((input: Json) => boolean | Terms);
  readonly maxOutput?: number;
  readonly retry?: ToolRetry;
};

export type ToolsOf = {
  readonly connection: Connection;
  readonly pin: Pin;
  readonly prefix: string;
  readonly elicitation: boolean;
  readonly trusted: boolean;
  readonly settings: { readonly [tool: string]: ToolSettings };
};

/** A tool of a server as a tool of ours. */
export function toolOf(given: Definition, of: ToolsOf): Tool {
  const { connection, pin, prefix, settings, elicitation, trusted } = of;
  const { effect = given.effect, approval, maxOutput = DEFAULT_OUTPUT, retry } = settings[given.name] ?? {};
  const definition: Definition = { ...given, effect };
  const name = nameFor(prefix, given.name);
  const shape = (called: Called): Json => {
    if (!("result" in called))
      throw new McpAnswerError(
        connection.name,
        `the call of ${JSON.stringify(given.name)}`,
        "it asks a person or a model",
      );
    return outputOf(name, called.result, connection.secrets);
  };
  return build<Json, Json>(
    {
      name,
      description: given.description,
      effect,
      // One that calls a payment a look would be let pass by every policy.
      ...(!trusted && settings[given.name]?.effect === undefined && { presumed: "write" }),
      maxOutput,
      source: sourceOf(given, pin, trusted),
      ...(approval !== undefined && { approval }),
      ...(retry !== undefined && { retry }),
      run: async (input: Json, context: ToolContext) => {
        try {
          return shape(await connection.call(definition, input, context));
        } catch (error) {
          // It answered, so it did it, whatever the answer is.
          if (!(error instanceof McpAnswerError) || !error.invalid) throw error;
          throw new ToolOutputError(
            name,
            [{ path: "", message: error.message }],
            "answer as the protocol says",
            error,
          );
        }
      },
    },
    { input: checkerOf(name, given.input) },
    elicitation || connection.sampling !== undefined
      ? {
          module: askingModule(name, definition, connection, (called) => bounded(shape(called), maxOutput)),
          say: (input) => JSON.stringify(input),
          answer: answerIn,
        }
      : undefined,
  ) as Tool;
}

/** Where a tool comes from: on the record with every call. */
function sourceOf({ name, digest }: Definition, { server, version, protocol }: Pin, trusted: boolean): Json {
  return { mcp: server, version, protocol, tool: name, digest, ...(trusted && { trusted }) };
}

/** What a call that ran as a module came to: the value of its last step. */
const answerIn: NonNullable<Tool["answer"]> = (session) => {
  let node = session;
  while (node.fact.type !== "step-result") {
    const [before] = node.parents;
    if (before === undefined) return null;
    node = before;
  }
  return (node.fact.value as { readonly output?: Json }).output ?? null;
};
