import { randomBytes } from "node:crypto";
import type { McpServer as Package } from "@modelcontextprotocol/server";
import type { Module, Rath } from "../runtime/index.js";
import type { Principal } from "../session/index.js";
import type { Tool } from "../tool/index.js";
import { type Known, requireOptions, shown as word } from "../workflow/given.js";
import { isModule } from "../workflow/part.js";
import { McpOptionError } from "./error.js";
import { type Instance, instanceOf, type Offer } from "./instance.js";
import { loadServer, loadStdio } from "./package.js";
import { STORE } from "./sessions.js";
import { Web } from "./web.js";

export type McpServerOptions = Partial<Offer> & {
  readonly rath: Rath;
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

/** Workflows, agents, tools and sessions for clients of the Model Context Protocol, in both of its eras. */
export interface ServedMcp {
  /** Serves the process's own input and output until the input ends. */
  serveStdio(): Promise<{ close(): Promise<void> }>;
  /** Serves one HTTP request: for any server that speaks in `Request` and `Response`. */
  fetch(request: Request): Promise<Response>;
  /** Offers something else from now on, and tells the clients which lists are others. */
  offer(next: Partial<Offer>): Promise<void>;
  /** Tells the clients who asked for it that what is read at an address is another. */
  changed(uri: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Offers modules, tools, prompts, resources and sessions to others.
 *
 * ```ts
 * const server = mcpServer({ rath, modules: { review } });
 * await server.serveStdio();
 * ```
 */
export function mcpServer(options: McpServerOptions): ServedMcp {
  check(options);
  const { rath, store = true, name = "openrath", by = "user:mcp" } = options;
  let offered: Offer = {
    modules: options.modules ?? {},
    tools: options.tools ?? [],
    prompts: options.prompts ?? {},
    resources: options.resources ?? {},
  };
  checkOffer(offered);
  const serving = { rath, store, name, by, key: randomBytes(32), offer: () => offered };
  const live = new Set<Instance>();
  const made = async (era: "legacy" | "modern", lasting: boolean): Promise<Package> => {
    const instance = await instanceOf(serving, era);
    if (lasting) {
      live.add(instance);
      instance.server.server.onclose = () => live.delete(instance);
    }
    return instance.server;
  };
  const web = new Web(({ era, lasting }) => made(era, lasting));
  return Object.freeze<ServedMcp>({
    serveStdio: async () => {
      const { serveStdio } = await loadStdio();
      return serveStdio(({ era }) => made(era, true));
    },
    fetch: async (request) => {
      const { hostHeaderValidationResponse, originValidationResponse, ...names } = await loadServer();
      const hosts = [...(options.hosts ?? names.localhostAllowedHostnames())];
      const origins = [...(options.origins ?? names.localhostAllowedOrigins())];
      // A page of a stranger may know the address, and a name of a stranger may lead here: both are looked at.
      const refusal =
        hostHeaderValidationResponse(request, hosts) ?? originValidationResponse(request, origins);
      return refusal ?? web.fetch(request);
    },
    offer: async (next) => {
      requireOptions(next, refuse, "offer({ tools })", LISTS);
      checkOffer({ ...offered, ...next });
      offered = { ...offered, ...next };
      const lists = Object.keys(next) as (keyof Offer)[];
      await Promise.all([...live].map((instance) => instance.renew(lists)));
      const listeners = await web.listeners();
      if (lists.includes("tools") || lists.includes("modules")) listeners?.toolsChanged();
      if (lists.includes("prompts")) listeners?.promptsChanged();
      if (lists.includes("resources")) listeners?.resourcesChanged();
    },
    changed: async (uri) => {
      for (const { server, subscribed } of live)
        if (subscribed.has(uri)) await server.server.sendResourceUpdated({ uri }).catch(() => {});
      (await web.listeners())?.resourceUpdated(uri);
    },
    close: () => web.close(),
  });
}

const LISTS: Known<Offer> = { modules: true, tools: true, prompts: true, resources: true };
const OPTIONS: Known<McpServerOptions> = {
  ...LISTS,
  rath: true,
  store: true,
  name: true,
  by: true,
  hosts: true,
  origins: true,
};

function refuse(reason: string, hint: string): Error {
  return new McpOptionError("served here", reason, hint);
}

function check(options: McpServerOptions): void {
  requireOptions(options, refuse, "mcpServer({ rath, modules: { review } })", OPTIONS);
  if (typeof options.rath?.run !== "function") throw refuse("it has no runtime", "rath: openRath({ store })");
}

function checkOffer({ modules, tools, prompts, resources }: Offer): void {
  for (const [list, value] of Object.entries({ modules, prompts, resources }))
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw refuse(`its ${list} are ${word(value)}`, `${list}: { name: … }`);
  if (!Array.isArray(tools)) throw refuse(`its tools are ${word(tools)}`, "tools: [search]");
  const names = new Set(STORE);
  const take = (name: string): void => {
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name) || names.has(name))
      throw refuse(
        `${word(name)} cannot be the name of a tool, or is one already`,
        'letters, digits, "_" and "-", at most 64',
      );
    names.add(name);
  };
  for (const [name, module] of Object.entries(modules) as [string, Module][]) {
    take(name);
    if (!isModule(module))
      throw refuse(`its ${word(name)} is ${word(module)}, not a module`, "modules: { review }");
  }
  for (const tool of tools as readonly Partial<Tool>[]) {
    if (typeof tool?.run !== "function" || typeof tool.input?.json !== "object")
      throw refuse(`one of its tools is ${word(tool)}`, "tools: [tool({ name, description, input, … })]");
    take(String(tool.name));
  }
  for (const [name, prompt] of Object.entries(prompts))
    if (typeof (prompt as { get?: unknown }).get !== "function" && !("module" in prompt))
      throw refuse(
        `its prompt ${word(name)} has neither get nor module`,
        "prompts: { hello: { description, get } }",
      );
  for (const [name, { uri, read }] of Object.entries(resources))
    if (!/^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(String(uri)) || typeof read !== "function")
      throw refuse(
        `its resource ${word(name)} has no address or no read`,
        'resources: { notes: { uri: "notes://today", read } }',
      );
}
