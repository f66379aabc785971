import { randomBytes } from "node:crypto";
import type { McpServer as Package, ServerContext } from "@modelcontextprotocol/server";
import type { Module, Rath } from "../runtime/index.js";
import type { Principal } from "../session/index.js";
import { type Known, requireOptions, shown as word } from "../workflow/given.js";
import { isModule } from "../workflow/part.js";
import { brief, McpOptionError } from "./error.js";
import { asked, formOf, messageOf } from "./form.js";
import { loadServer, loadStdio } from "./package.js";
import { began, type Given, type Report, wentOn } from "./served.js";
import { offerSessions, outcome, STORE } from "./sessions.js";

export type McpServerOptions = {
  readonly rath: Rath;
  /** What is offered as tools, by the names that clients call. */
  readonly modules: { readonly [tool: string]: Module };
  /** Whether the sessions are offered too: listed, shown, forked, replayed and verified. Default true. */
  readonly store?: boolean;
  /** How the server introduces itself. Default "openrath". */
  readonly name?: string;
  /** Who answers through a client. Default "user:mcp". */
  readonly by?: Principal;
  /** The names of the host under which it is reached by HTTP. Default: those of this machine alone. */
  readonly hosts?: readonly string[];
  /** The names of hosts whose pages may call it. Default: those of this machine alone. */
  readonly origins?: readonly string[];
};

/** Workflows, agents and sessions for clients of the Model Context Protocol, in both of its eras. */
export interface ServedMcp {
  /** Serves the process's own input and output until the input ends. */
  serveStdio(): Promise<{ close(): Promise<void> }>;
  /** Serves one HTTP request: for any server that speaks in `Request` and `Response`. */
  fetch(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/**
 * Offers modules and sessions to others.
 *
 * ```ts
 * const server = mcpServer({ rath, modules: { review } });
 * await server.serveStdio();
 * ```
 */
export function mcpServer(options: McpServerOptions): ServedMcp {
  check(options);
  let handler: Promise<{ fetch(request: Request): Promise<Response>; close(): Promise<void> }> | undefined;
  const key = randomBytes(32);
  const web = (): NonNullable<typeof handler> => {
    handler ??= loadServer().then(({ createMcpHandler }) =>
      createMcpHandler((context) => made(options, context, key)),
    );
    return handler;
  };
  return Object.freeze<ServedMcp>({
    serveStdio: async () => {
      const { serveStdio } = await loadStdio();
      return serveStdio((context) => made(options, context, key));
    },
    fetch: async (request) => {
      const { hostHeaderValidationResponse, originValidationResponse, ...names } = await loadServer();
      const hosts = [...(options.hosts ?? names.localhostAllowedHostnames())];
      const origins = [...(options.origins ?? names.localhostAllowedOrigins())];
      // A page of a stranger may know the address, and a name of a stranger may lead here: both are looked at.
      const refusal =
        hostHeaderValidationResponse(request, hosts) ?? originValidationResponse(request, origins);
      return refusal ?? (await web()).fetch(request);
    },
    close: async () => {
      await (await handler)?.close();
    },
  });
}

const OPTIONS: Known<McpServerOptions> = {
  rath: true,
  modules: true,
  store: true,
  name: true,
  by: true,
  hosts: true,
  origins: true,
};

function check(options: McpServerOptions): void {
  const refuse = (reason: string, hint: string): Error => new McpOptionError("served here", reason, hint);
  requireOptions(options, refuse, "mcpServer({ rath, modules: { review } })", OPTIONS);
  const { rath, modules } = options;
  if (typeof rath?.run !== "function") throw refuse("it has no runtime", "rath: openRath({ store })");
  if (typeof modules !== "object" || modules === null)
    throw refuse(`its modules are ${word(modules)}`, "modules: { review }");
  for (const [name, module] of Object.entries(modules)) {
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name) || STORE.includes(name))
      throw refuse(`${word(name)} cannot be the name of a tool`, 'letters, digits, "_" and "-", at most 64');
    if (!isModule(module))
      throw refuse(`its ${word(name)} is ${word(module)}, not a module`, "modules: { review }");
  }
}

type Context = { readonly era: "legacy" | "modern"; readonly requestInfo?: Request };
type State = {
  readonly run: string;
  readonly tool: string;
  readonly asks: { readonly [key: string]: string };
};

/** A server for one connection, or one request. */
async function made(
  options: McpServerOptions,
  { era, requestInfo }: Context,
  key: Uint8Array,
): Promise<Package> {
  const { McpServer, createRequestStateCodec, fromJsonSchema, inputRequired } = await loadServer();
  const { rath, modules, store = true, name = "openrath", by = "user:mcp" } = options;
  const codec = createRequestStateCodec<State>({ key, ttlSeconds: 7 * 24 * 3600 });
  const server = new McpServer(
    { name, version: "0.1.0" },
    { capabilities: { tools: {} }, requestState: { verify: codec.verify } },
  );
  // Over HTTP a client of 2025 has no connection on which it could be asked.
  const canAsk = (context: ServerContext): boolean => {
    if (era === "legacy")
      return requestInfo === undefined && server.server.getClientCapabilities()?.elicitation !== undefined;
    const { envelope } = context.mcpReq as { readonly envelope?: { readonly [key: string]: unknown } };
    return JSON.stringify(envelope ?? {}).includes('"elicitation"');
  };
  for (const [tool, module] of Object.entries(modules))
    server.registerTool(
      tool,
      { description: descriptionOf(module), inputSchema: fromJsonSchema<Task>(TASK) },
      (input, context) =>
        outcome(async () => {
          const { signal } = context.mcpReq;
          const state = context.mcpReq.requestState<State>();
          const run =
            state === undefined ? `mcp/${tool}/${randomBytes(6).toString("hex")}` : runOf(state, tool);
          const stop = await progress(rath, run, state !== undefined, context);
          let report: Report;
          try {
            report =
              state === undefined
                ? await began(rath, module, run, input, signal)
                : await wentOn(rath, module, run, answersIn(context, state), by, signal);
          } finally {
            stop();
          }
          if (report.status !== "waiting" || !canAsk(context) || report.waiting.every((one) => !asked(one)))
            return told(report);
          const questions = report.waiting.filter(asked);
          return inputRequired({
            inputRequests: Object.fromEntries(
              questions.map(({ kind, shown }, place) => [
                `ask${place}`,
                inputRequired.elicit({
                  message: messageOf(kind, shown),
                  requestedSchema: formOf(kind, shown) as never,
                }),
              ]),
            ),
            requestState: await codec.mint({
              run: report.run,
              tool,
              asks: Object.fromEntries(questions.map(({ id }, place) => [`ask${place}`, id])),
            }),
          });
        }) as never,
    );
  if (store) await offerSessions(server, rath, modules);
  return server;
}

type Task = { readonly task: string; readonly session?: string };
const TASK = {
  type: "object" as const,
  properties: {
    task: { type: "string" as const, description: "What to do, with everything that is needed to do it." },
    session: { type: "string" as const, description: "A session to go on from, by its name or id." },
  },
  required: ["task"],
};

function descriptionOf(module: Module): string {
  const { description } = module as { readonly description?: unknown };
  return typeof description === "string" ? description : `Gives a task to "${module.name}".`;
}

function told({ text, ...rest }: Report): object {
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

/** Tells the client of every fact of its run, if it wants to hear. */
async function progress(
  rath: Rath,
  name: string,
  known: boolean,
  context: ServerContext,
): Promise<() => void> {
  const token = context.mcpReq._meta?.progressToken;
  if (token === undefined) return () => {};
  let nonce = known ? (await rath.load(name)).fact.run : undefined;
  let count = 0;
  return rath.observe((event) => {
    if (event.kind !== "fact") return;
    const { fact } = event.session;
    if (fact.type === "run-start" && fact.name === name) nonce = fact.run;
    // What others do here is nothing to tell.
    if (nonce === undefined || fact.run !== nonce) return;
    count += 1;
    const params = { progressToken: token, progress: count, message: fact.type };
    void context.mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
  });
}

/** The state of another tool's call is no key to this one. */
function runOf({ run, tool }: State, called: string): string {
  if (tool === called) return run;
  throw new McpOptionError("served here", "this state belongs to another tool", `call ${tool} with it`);
}

function answersIn(context: ServerContext, { asks }: State): ReadonlyMap<string, Given> {
  const responses = context.mcpReq.inputResponses ?? {};
  return new Map(
    Object.entries(asks).flatMap(([key, id]) => (key in responses ? [[id, responses[key] as Given]] : [])),
  );
}
