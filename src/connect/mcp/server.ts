import { randomBytes } from "node:crypto";
import type { McpServer as Package } from "@modelcontextprotocol/server";
import type { Tool } from "../../agent/tool/index.js";
import type { Module, Rath, Sender } from "../../runtime/index.js";
import type { Principal } from "../../session/index.js";
import { optionNames, showValue as word } from "../../util/index.js";
import { isModule, requireOptions } from "../../workflow/index.js";
import { isSender, requireType } from "../options.js";
import { type DoorOptions, requireDoor, whoSent } from "./door.js";
import { loadStdio, McpOptionError } from "./error.js";
import { type Instance, instanceOf, type Offer } from "./instance.js";
import { STORE } from "./offer.js";
import { Tasks } from "./tasks.js";
import { type Make, Web } from "./web.js";

export type McpServerOptions = Partial<Offer> &
  DoorOptions & {
    readonly rath: Rath;
    /**
     * Whether all sessions of the store are offered too, to every client: listed, shown, forked, replayed and verified, and
     * gone on from. Default false: then a client knows the sessions that its own calls came to, and no other.
     */
    readonly store?: boolean;
    /**
     * The modules and tools whose calls are tasks for clients that know tasks: answered at once, done in the background and
     * read until they are over, by any process on this store. `true` stands for all. Default: none.
     */
    readonly tasks?: readonly string[] | true;
    /** How the server introduces itself. Default "openrath". */
    readonly name?: string;
    /** The caller by stdio, and when it is `open`. Default "service:mcp", whose words no policy trusts: a model wrote them. */
    readonly by?: Principal;
  };

/** Workflows, agents, tools and sessions for clients of the Model Context Protocol, in both of its eras. */
export interface ServedMcp {
  /** Serves the process's own input and output until the input ends. The caller is the owner of the process. */
  serveStdio(): Promise<{ close(): Promise<void> }>;
  /** Serves one HTTP request, for any server that speaks in `Request` and `Response`. It needs `principal`, or `open`. */
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
 * await server.serveStdio(); // or by HTTP, with { principal }: await server.fetch(request)
 * ```
 */
export function mcpServer(options: McpServerOptions): ServedMcp {
  check(options);
  const { rath, store = false, name = "openrath", by = "service:mcp" } = options;
  const { selfApproval = false, mayApprove } = options;
  let offered: Offer = {
    modules: options.modules ?? {},
    tools: options.tools ?? [],
    prompts: options.prompts ?? {},
    resources: options.resources ?? {},
  };
  checkOffer(offered);
  const tasks = options.tasks === undefined ? undefined : new Tasks(rath, options.tasks);
  const senderOf = (who: Principal): Sender => ({
    who,
    selfApproval,
    ...(mayApprove && { mayApprove: (run) => mayApprove(who, run) }),
  });
  const serving = { rath, store, name, senderOf, tasks, key: randomBytes(32), offer: () => offered };
  const live = new Set<Instance>();
  const made = async ({ era, lasting, by: who }: Parameters<Make>[0]): Promise<Package> => {
    const instance = await instanceOf(serving, era, who);
    if (lasting) {
      live.add(instance);
      instance.server.server.onclose = () => live.delete(instance);
    }
    return instance.server;
  };
  const web = new Web(made);
  return Object.freeze<ServedMcp>({
    serveStdio: async () => {
      const { serveStdio } = await loadStdio();
      return serveStdio(({ era }) => made({ era, lasting: true, by }));
    },
    fetch: async (request) => {
      const who = await whoSent(request, options, by);
      return who instanceof Response ? who : web.fetch(request, who);
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

const LISTS = optionNames<Offer>()("modules tools prompts resources");
const OPTIONS = optionNames<McpServerOptions>()(
  "modules tools prompts resources",
  "rath store tasks name by principal open selfApproval mayApprove hosts origins",
);

function refuse(reason: string, hint: string): Error {
  return new McpOptionError("served here", reason, hint);
}

function check(options: McpServerOptions): void {
  requireOptions(options, refuse, "mcpServer({ rath, modules: { review } })", OPTIONS);
  if (typeof options.rath?.run !== "function") throw refuse("it has no runtime", "rath: openRath({ store })");
  requireType(options.store, "store", "boolean", refuse, "store: true");
  if (options.by !== undefined && !isSender(options.by))
    throw refuse(`its \`by\` is ${word(options.by)}`, 'by: "user:ada", an agent or a service');
  const { tasks } = options;
  if (
    tasks !== undefined &&
    tasks !== true &&
    !(Array.isArray(tasks) && tasks.every((one) => typeof one === "string"))
  )
    throw refuse(`its \`tasks\` are ${word(tasks)}`, 'tasks: ["review"], or tasks: true');
  requireDoor(options, refuse);
  const lists = [options.modules, options.tools, options.prompts, options.resources];
  if (options.store !== true && lists.every((list) => Object.keys(list ?? {}).length === 0))
    throw refuse(
      "it has nothing to offer",
      "mcpServer({ rath, modules: { review } }), or tools, prompts, resources, or every session: store: true",
    );
}

function checkOffer({ modules, tools, prompts, resources }: Offer): void {
  for (const [list, value] of Object.entries({ modules, prompts, resources }))
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw refuse(`its ${list} are ${word(value)}`, `${list}: { name: … }`);
  if (!Array.isArray(tools)) throw refuse(`its tools are ${word(tools)}`, "tools: [search]");
  const names = new Set<string>(STORE);
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
