import { type Tool, tool } from "../../agent/tool/index.js";
import type { Json } from "../../session/index.js";
import { type Step, step } from "../../workflow/index.js";
import type { Connection } from "./connection.js";
import { nameFor } from "./definition.js";

/** What a server has to read: resources and prompts. Each is a step, so that what was read is on the record. */
export interface Book {
  readonly listResources: Step<null, Json>;
  readonly listTemplates: Step<null, Json>;
  readonly readResource: Step<{ readonly uri: string }, Json>;
  readonly listPrompts: Step<null, Json>;
  readonly getPrompt: Step<PromptChoice, Json>;
  /** The same for a model that decides itself what to read. */
  resourceTools(): Tool[];
}

export type PromptChoice = {
  readonly name: string;
  readonly arguments?: { readonly [name: string]: string };
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
    ],
  };
}
