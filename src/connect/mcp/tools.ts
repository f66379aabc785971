import type { Tool, ToolContext } from "../../agent/tool/index.js";
import { bounded, build, DEFAULT_OUTPUT, ToolOutputError, tool } from "../../agent/tool/index.js";
import type { Retry } from "../../runtime/index.js";
import type { Effect, Json, Terms } from "../../session/index.js";
import { type Step, step } from "../../workflow/index.js";
import { askingModule } from "./asking.js";
import type { Called } from "./call.js";
import type { Connection } from "./connection.js";
import { outputOf } from "./content.js";
import { checkerOf, type Definition, nameFor, type Pin } from "./definition.js";
import { McpAnswerError } from "./error.js";

/** Settings of single tools, by the names that the server gives them. */
export type ToolSettings = {
  /** The effect of the tool, where the server states it wrongly or is not trusted. */
  readonly effect?: Effect;
  /** Whether a person must agree to each call. */
  readonly approval?: boolean | Terms | ((input: Json) => boolean | Terms);
  readonly maxOutput?: number;
  readonly retry?: Retry;
};

export type ToolsOf = {
  readonly connection: Connection;
  readonly pin: Pin;
  readonly prefix: string;
  /** Whether a call may ask a person or a model, or become a task: then it takes several steps. */
  readonly asks: boolean;
  readonly trusted: boolean;
  readonly settings: { readonly [tool: string]: ToolSettings };
};

/** A tool of a server as a tool of ours. */
export function toolOf(given: Definition, of: ToolsOf): Tool {
  const { connection, pin, prefix, settings, asks, trusted } = of;
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
    asks
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

/** The output of a call that ran as a module: the value of its last step. */
const answerIn: NonNullable<Tool["answer"]> = (session) => {
  let node = session;
  while (node.fact.type !== "step-result") {
    const [before] = node.parents;
    if (before === undefined) return null;
    node = before;
  }
  return (node.fact.value as { readonly output?: Json }).output ?? null;
};

/** Resources and prompts of a server. Each is a step, so that the content is on the record. */
export interface Book {
  readonly listResources: Step<null, Json>;
  readonly listTemplates: Step<null, Json>;
  readonly readResource: Step<{ readonly uri: string }, Json>;
  readonly listPrompts: Step<null, Json>;
  readonly getPrompt: Step<PromptChoice, Json>;
  /** Gives a resource as soon as it is another than the one of the digest `after`; without `after`, as it is. */
  readonly awaitResource: Step<Watch, Version>;
  /** The same for a model that decides itself what to read. */
  resourceTools(): Tool[];
}

export type PromptChoice = {
  readonly name: string;
  readonly arguments?: { readonly [name: string]: string };
};

/** A resource to wait for. `wait`: milliseconds at most, by default as long as a request may take. */
export type Watch = { readonly uri: string; readonly after?: string; readonly wait?: number };
/** A resource with the digest of its content. `changed`: whether it is another than the one that was named. */
export type Version = {
  readonly uri: string;
  readonly digest: string;
  readonly changed: boolean;
  readonly contents: Json;
};

type Signalled = { readonly signal: AbortSignal };

export function bookSteps(connection: Connection): Book {
  const { name, secrets } = connection;
  const list =
    (method: string, field: string, capability: "resources" | "prompts") =>
    ({ signal }: Signalled): Promise<Json> =>
      connection.use(async (link) => {
        if (!link.has(capability)) return [];
        const { items } = await link.list(method, field, { signal });
        return secrets.json(items as Json);
      });
  const asked =
    (method: string, field: string) =>
    (params: { readonly [field: string]: unknown }, { signal }: Signalled): Promise<Json> =>
      connection.use(async (link) => {
        const answer = await link.ask(method, params, { signal });
        return secrets.json((answer[field] ?? null) as Json);
      });
  const resources = list("resources/list", "resources", "resources");
  const read = asked("resources/read", "contents");
  const steps = {
    listResources: resources,
    listTemplates: list("resources/templates/list", "resourceTemplates", "resources"),
    listPrompts: list("prompts/list", "prompts", "prompts"),
  };
  const listing = (called: keyof typeof steps): Step<null, Json> =>
    step(`${name}.${called}`, (_: null, context) => steps[called](context), { effect: "read" }) as Step<
      null,
      Json
    >;
  return {
    listResources: listing("listResources"),
    listTemplates: listing("listTemplates"),
    listPrompts: listing("listPrompts"),
    readResource: step(
      `${name}.readResource`,
      (input: { readonly uri: string }, context) => read(input, context),
      {
        effect: "read",
      },
    ) as Step<{ readonly uri: string }, Json>,
    getPrompt: step(
      `${name}.getPrompt`,
      (input: PromptChoice, context) => asked("prompts/get", "messages")(input, context),
      { effect: "read" },
    ) as Step<PromptChoice, Json>,
    awaitResource: step(
      `${name}.awaitResource`,
      (input: Watch, context) => connection.awaitResource(input, context.signal),
      { effect: "read" },
    ) as Step<Watch, Version>,
    resourceTools: () => [
      tool({
        name: nameFor(`${name}_`, "list_resources"),
        description: `Lists what can be read at ${name}: addresses with descriptions.`,
        input: { type: "object", properties: {} },
        effect: "read",
        source: { mcp: name },
        run: (_, context) => resources(context),
      }) as Tool,
      tool({
        name: nameFor(`${name}_`, "read_resource"),
        description: `Reads a resource of ${name} by its address.`,
        input: { type: "object", properties: { uri: { type: "string" } }, required: ["uri"] },
        effect: "read",
        source: { mcp: name },
        run: (input, context) => read({ uri: String(input.uri) }, context),
      }) as Tool,
      tool({
        name: nameFor(`${name}_`, "await_resource"),
        description: `Waits until a resource of ${name} changes, and reads it. Without \`after\` it is read at once. Pass the digest of the last answer as \`after\`. \`changed\` is false if it stayed the same for as long as anybody waits.`,
        input: {
          type: "object",
          properties: { uri: { type: "string" }, after: { type: "string" } },
          required: ["uri"],
        },
        effect: "read",
        source: { mcp: name },
        run: (input, context) =>
          connection.awaitResource(
            { uri: String(input.uri), ...(input.after !== undefined && { after: String(input.after) }) },
            context.signal,
          ),
      }) as Tool,
    ],
  };
}
