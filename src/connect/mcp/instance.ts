import type {
  CallToolResult,
  McpServer as Package,
  ServerContext,
  StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import { callTools } from "../../agent/index.js";
import { textOf } from "../../agent/model/index.js";
import type { Tool } from "../../agent/tool/index.js";
import { forward, type Module, type Rath, type Sender } from "../../runtime/index.js";
import type { FactOf, Json, Principal, Session } from "../../session/index.js";
import { conduct, type Desk, type State } from "./conduct.js";
import { blocksOf } from "./content.js";
import { brief, loadServer } from "./error.js";
import type { Abilities } from "./form.js";
import type { Prompts, Resources } from "./offer.js";
import { offerPrompts, offerResources, offerSessions, offerSuggestions, outcome } from "./offer.js";
import type { Report } from "./served.js";
import { TASKS } from "./task.js";
import type { Call, Tasks } from "./tasks.js";

export type Offer = {
  /** Modules as tools, by the names that clients call. Each is given a task. */
  readonly modules: { readonly [tool: string]: Module };
  /** Tools as they are. Each call is a run of its own. */
  readonly tools: readonly Tool<never, unknown>[];
  readonly prompts: Prompts;
  readonly resources: Resources;
};

export type Serving = {
  readonly rath: Rath;
  readonly store: boolean;
  readonly name: string;
  readonly senderOf: (who: Principal) => Sender;
  readonly key: Uint8Array;
  readonly tasks: Tasks | undefined;
  /** As it is now. */
  readonly offer: () => Offer;
};

/** A server of the package for one connection, or for one request. */
export type Instance = {
  readonly server: Package;
  /** The addresses that the client wants to hear about. */
  readonly subscribed: ReadonlySet<string>;
  /** Offers what there is now. */
  readonly renew: (lists: readonly (keyof Offer)[]) => Promise<void>;
};

export async function instanceOf(
  serving: Serving,
  era: "legacy" | "modern",
  by: Principal,
): Promise<Instance> {
  const { McpServer, createRequestStateCodec, CLIENT_CAPABILITIES_META_KEY } = await loadServer();
  const { rath, store, name, senderOf, key, tasks, offer } = serving;
  const { prompts, resources } = offer();
  const readable = store || Object.keys(resources).length > 0;
  const prompting = Object.keys(prompts).length > 0;
  const codec = createRequestStateCodec<State>({
    key,
    ttlSeconds: 7 * 24 * 3600,
    // Nobody can answer with the state of another caller.
    bind: () => by,
  });
  const server = new McpServer(
    { name, version: "0.1.0" },
    {
      capabilities: {
        tools: { listChanged: true },
        logging: {},
        ...(readable && { resources: { subscribe: true, listChanged: true } }),
        ...(prompting && { prompts: { listChanged: true }, completions: {} }),
        ...(tasks !== undefined && { extensions: { [TASKS]: {} } }),
      },
      requestState: { verify: codec.verify },
      // A list that is made anew is told once, not once for each of its entries.
      debouncedNotificationMethods: [
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
      ],
    },
  );
  const abilities = (context: ServerContext): Abilities => {
    if (era === "legacy") return server.server.getClientCapabilities() ?? {};
    const { envelope = {} } = context.mcpReq as { readonly envelope?: { readonly [key: string]: unknown } };
    return (envelope[CLIENT_CAPABILITIES_META_KEY] ?? {}) as Abilities;
  };
  const desk: Desk = { rath, by, store, sender: senderOf(by), codec, abilities, tasks };
  const offers = {
    modules: () => offerModules(server, offer().modules, desk),
    tools: () => offerTools(server, offer().tools, desk),
    prompts: () => offerPrompts(server, offer().prompts, desk),
    resources: () => offerResources(server, offer().resources),
  };
  const offered = new Map<keyof Offer, readonly { remove(): void }[]>();
  const renew = async (lists: readonly (keyof Offer)[]): Promise<void> => {
    for (const list of lists) {
      for (const one of offered.get(list) ?? []) one.remove();
      offered.set(list, await offers[list]());
    }
  };
  await renew(["modules", "tools", "prompts", "resources"]);
  if (store) await offerSessions(server, { rath, by }, () => modulesOf(offer()));
  if (prompting) offerSuggestions(server, () => offer().prompts);
  await tasks?.offer(server, desk, () => callsOf(offer(), rath));
  return { server, subscribed: subscriptions(server, readable && era === "legacy"), renew };
}

/** All that runs can be of: modules, and tools as modules. */
function modulesOf(offer: Offer): { readonly [tool: string]: Module } {
  return {
    ...Object.fromEntries(offer.tools.map((tool) => [tool.name, callModule(tool as Tool)])),
    ...offer.modules,
  };
}

/** The calls that clients can make, by the names of their tools. */
function callsOf(offer: Offer, rath: Rath): ReadonlyMap<string, Call> {
  const entries = Object.entries(modulesOf(offer)).map(([of, module]): [string, Call] => {
    const isModule = Object.hasOwn(offer.modules, of);
    return [of, isModule ? { of, module, told } : { of, module, told: (report) => toolTold(report, rath) }];
  });
  return new Map(entries);
}

/** A call of a client: a task, or a run that the request waits for. */
function called(desk: Desk, call: Call, input: Task, context: ServerContext) {
  return outcome(() =>
    desk.tasks?.takes(call.of, desk.abilities(context)) === true
      ? desk.tasks.begin(desk, call, input)
      : conduct(desk, { ...call, ...input }, context, call.told),
  );
}

async function offerModules(server: Package, modules: Offer["modules"], desk: Desk): Promise<Handle[]> {
  const { fromJsonSchema } = await loadServer();
  return Object.entries(modules).map(([tool, module]) =>
    server.registerTool(
      tool,
      { description: descriptionOf(module), inputSchema: fromJsonSchema<Task>(TASK) },
      (input: Task, context: ServerContext) => called(desk, { of: tool, module, told }, input, context),
    ),
  );
}

type Handle = { remove(): void };

async function offerTools(server: Package, tools: Offer["tools"], desk: Desk): Promise<Handle[]> {
  return tools.map((given) => {
    const tool = given as Tool;
    const { name, description, effect, input } = tool;
    const annotations = {
      readOnlyHint: effect === "pure" || effect === "read",
      idempotentHint: effect === "idempotent",
    };
    const call: Call = {
      of: name,
      module: callModule(tool),
      told: (report) => toolTold(report, desk.rath),
    };
    return server.registerTool(
      name,
      { description, inputSchema: shownAs(input.json), annotations },
      (given: unknown, context: ServerContext) =>
        called(desk, call, { task: JSON.stringify(given ?? {}) }, context),
    );
  });
}

/** A schema that is shown as it is. The tool itself checks the input of a call, on the record. */
function shownAs(json: object): StandardSchemaWithJSON {
  const schema = () => ({ ...json });
  return {
    "~standard": {
      version: 1,
      vendor: "openrath",
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: schema, output: schema },
    },
  };
}

async function toolTold(report: Report, rath: Rath): Promise<CallToolResult> {
  const { status, run, session } = report;
  const fact = outcomeIn(await rath.load(session));
  const _meta = { "openrath/run": run, "openrath/session": session };
  if (status === "waiting" || status === "failed" || fact === undefined) return { ...told(report), _meta };
  if (fact.type === "tool-failure")
    return { content: [{ type: "text", text: brief(fact.error.message, 4_000) }], isError: true, _meta };
  return { ...blocksOf(fact.output), _meta };
}

type Task = { readonly task: string; readonly session?: string };
const TASK = {
  type: "object" as const,
  properties: {
    task: { type: "string" as const, description: "What to do, with everything that is needed to do it." },
    session: {
      type: "string" as const,
      description: "A session to go on from: the `run` or `session` that an earlier call gave back.",
    },
  },
  required: ["task"],
};

function descriptionOf(module: Module): string {
  const { description } = module as { readonly description?: unknown };
  return typeof description === "string" ? description : `Gives a task to "${module.name}".`;
}

function told({ text, ...rest }: Report): CallToolResult {
  const waits = rest.waiting
    .map(({ kind, shown }) => `\n- ${kind}: ${brief(JSON.stringify(shown), 1_000)}`)
    .join("");
  const words =
    rest.status === "waiting" ? `It waits for somebody:${waits}` : text === "" ? "It is done." : text;
  return {
    content: [
      { type: "text", text: words },
      { type: "text", text: JSON.stringify(rest) },
    ],
    ...(rest.status === "failed" && { isError: true }),
  };
}

/** Clients of 2025 say what they want to hear about; those of 2026 listen, which the package sees to. */
function subscriptions(server: Package, wanted: boolean): ReadonlySet<string> {
  const subscribed = new Set<string>();
  if (!wanted) return subscribed;
  const most = 1_000;
  server.server.setRequestHandler("resources/subscribe", ({ params }) => {
    if (subscribed.size >= most) throw new Error(`nobody can subscribe to more than ${most} resources`);
    subscribed.add(params.uri);
    return {};
  });
  server.server.setRequestHandler("resources/unsubscribe", ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });
  return subscribed;
}

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

/** The outcome of the call that a run was made for. */
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
