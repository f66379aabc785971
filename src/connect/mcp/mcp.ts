import type { Tool } from "../../agent/tool/index.js";
import { LONGEST_TIMER } from "../../runtime/index.js";
import type { Effect } from "../../session/index.js";
import { optionNames, showValue } from "../../util/index.js";
import { requireEffect, requireOptions, type Step, step } from "../../workflow/index.js";
import { requireType } from "../options.js";
import type { SamplingOptions } from "./asking.js";
import { Connection } from "./connection.js";
import { type Definition, flawIn, isPin, nameFor, type Pin, type Refused } from "./definition.js";
import { McpOptionError } from "./error.js";
import { LIMITS, type Limits } from "./limits.js";
import type { Root } from "./link.js";
import { checkPeer, type Peer } from "./peer.js";
import { type Book, bookSteps, type ToolSettings, toolOf } from "./tools.js";

export type McpOptions = Partial<Limits> & {
  /** The prefix of the names of its tools, so that no server can take the name of another's. Default: its name and "_". */
  readonly prefix?: string;
  /** Which tools to take, by the names that the server gives them. Default: all. */
  readonly only?: readonly string[];
  readonly settings?: { readonly [tool: string]: ToolSettings };
  /** The server as it was agreed to: the result of `await server.pin()`. Its tools are made of it, without a connection. */
  readonly pin?: Pin;
  /** Lets the server ask a model. */
  readonly sampling?: SamplingOptions;
  /** Lets the server ask a person: each call is then a module, and a question is pending work. */
  readonly elicitation?: boolean;
  /**
   * Lets the server answer a call with a task, which it goes on with by itself: the task is recorded before it is waited
   * for, so that a run which is resumed asks for the same task. Each call is then a module.
   */
  readonly tasks?: boolean;
  /**
   * Whether the server is believed: what it says its tools do to the world, and how it describes them. Default false: then
   * policies presume that every tool changes the world, unless `settings` says what it does, and take its descriptions for
   * words of strangers.
   */
  readonly trusted?: boolean;
  /** The places whose files the server may look at. */
  readonly roots?: readonly Root[];
};

/** A server that was connected to, or will be when it is first needed. */
export interface McpServer extends Book, AsyncDisposable {
  readonly name: string;
  /** Its tools. Those that were pinned, or listed before, need no connection. */
  tools(): Promise<Tool[]>;
  /** The server and its agreed tools, as JSON to keep. */
  pin(): Promise<Pin>;
  /** Agrees to what it has now, and gives the tools that it has now. */
  repin(): Promise<Tool[]>;
  /** The tools that it has now, agreed to or not. */
  definitions(): Promise<readonly Definition[]>;
  /** Tools of its list that cannot be offered to a model, and why. */
  refused(): Promise<readonly Refused[]>;
  /** Lists its tools on the record; `toolsFrom` makes them of that, so that a replay needs no server. */
  readonly discover: Step<null, Pin>;
  toolsFrom(pin: Pin): Tool[];
  setRoots(roots: readonly Root[]): Promise<void>;
  /** The process of a server that is one. */
  process(): Promise<number | undefined>;
  close(): Promise<void>;
}

/**
 * A server of the Model Context Protocol as a source of tools.
 *
 * ```ts
 * const files = mcp({ name: "files", command: "npx", args: ["@modelcontextprotocol/server-filesystem", "."] });
 * const helper = agent({ name: "helper", model, tools: await files.tools() });
 * ```
 *
 * It is one connection, made when it is first needed and made anew when it was lost.
 */
export function mcp(peer: Peer, options: McpOptions = {}): McpServer {
  checkPeer(peer, OPTIONS);
  const limits = checked(peer.name, options);
  const {
    prefix = `${peer.name}_`,
    only,
    settings = {},
    elicitation = false,
    tasks = false,
    trusted = false,
    sampling,
    roots,
  } = options;
  const connection = new Connection(peer, { limits, sampling, elicitation, tasks, roots });
  let agreed: Pin | undefined = options.pin;
  let refusals: readonly Refused[] = [];

  const current = async (): Promise<Pin> =>
    connection.use(async (link) => {
      const { tools, refused, more } = await connection.listed(link);
      const fits: Definition[] = [];
      const flawed: Refused[] = [...refused];
      for (const definition of tools.values()) {
        if (only !== undefined && !only.includes(definition.name)) continue;
        const flaw = flawIn(nameFor(prefix, definition.name), definition);
        if (flaw === undefined) fits.push(definition);
        else flawed.push({ name: definition.name, reason: flaw });
      }
      if (more) flawed.push({ name: "…", reason: `only ${limits.items} tools are taken from a list` });
      refusals = flawed;
      return {
        server: peer.name,
        version: `${link.server.name} ${link.server.version}`,
        protocol: link.protocol,
        tools: fits,
      };
    });
  const pinned = async (): Promise<Pin> => {
    agreed ??= await current();
    return agreed;
  };
  const toolsFrom = (pin: Pin): Tool[] => {
    if (!isPin(pin))
      throw new McpOptionError(
        peer.name,
        `a pin is needed; got ${showValue(pin)}`,
        "keep the result of await server.pin()",
      );
    return pin.tools
      .filter(({ name }) => only === undefined || only.includes(name))
      .map((one) =>
        toolOf(one, {
          connection,
          pin,
          prefix,
          asks: elicitation || tasks || sampling !== undefined,
          trusted,
          settings,
        }),
      );
  };
  return Object.freeze<McpServer>({
    name: peer.name,
    tools: async () => toolsFrom(await pinned()),
    pin: pinned,
    repin: async () => {
      agreed = await current();
      return toolsFrom(agreed);
    },
    definitions: async () => (await current()).tools,
    refused: async () => {
      await current();
      return refusals;
    },
    discover: step(`${peer.name}.discover`, async (_: null) => current(), {
      effect: "read",
      origin: trusted ? "trusted" : "tool",
    }) as Step<null, Pin>,
    toolsFrom,
    ...bookSteps(connection),
    setRoots: (next) => connection.setRoots(next),
    process: async () => (await connection.link()).pid,
    close: () => connection.close(),
    [Symbol.asyncDispose]: () => connection.close(),
  });
}

const OPTIONS = optionNames<McpOptions>()(
  "prefix only settings pin sampling elicitation tasks trusted roots",
  "deadline connect frame items task burst",
);
const SETTINGS = optionNames<ToolSettings>()("effect approval maxOutput retry");

function checked(name: string, options: McpOptions): Limits {
  const refuse = (reason: string, hint: string): Error => new McpOptionError(name, reason, hint);
  requireOptions(options, refuse, "mcp(server, { deadline: 30_000 })", OPTIONS);
  const { prefix, only, pin, settings = {}, sampling, roots, elicitation, tasks, trusted } = options;
  const limits: { -readonly [limit in keyof Limits]: number } = { ...LIMITS };
  for (const limit of Object.keys(LIMITS) as (keyof Limits)[]) {
    const value = options[limit];
    if (value === undefined) continue;
    if (!Number.isSafeInteger(value) || value < 1 || value > LONGEST_TIMER)
      throw refuse(
        `its \`${limit}\` is ${showValue(value)}, not a whole number from 1`,
        `${limit}: ${LIMITS[limit]}`,
      );
    limits[limit] = value;
  }
  if (prefix !== undefined && !/^[a-zA-Z0-9_-]{0,32}$/.test(String(prefix)))
    throw refuse(
      `its \`prefix\` is ${showValue(prefix)}`,
      'prefix: "files_": letters, digits, "_" and "-", at most 32',
    );
  if (only !== undefined && !(Array.isArray(only) && only.every((one) => typeof one === "string")))
    throw refuse("its `only` must be a list of names", 'only: ["read_file"]');
  if (pin !== undefined && !isPin(pin))
    throw refuse("its `pin` is not the result of server.pin()", "pin: await server.pin()");
  requireType(trusted, "trusted", "boolean", refuse, "trusted: true");
  requireType(elicitation, "elicitation", "boolean", refuse, "elicitation: true");
  requireType(tasks, "tasks", "boolean", refuse, "tasks: true");
  if (sampling !== undefined && typeof sampling?.model?.doGenerate !== "function")
    throw refuse("its `sampling` has no model", "sampling: { model }");
  if (roots !== undefined && !(Array.isArray(roots) && roots.every(({ uri }) => typeof uri === "string")))
    throw refuse("its `roots` must be a list of places", 'roots: [{ uri: "file:///srv", name: "srv" }]');
  for (const [tool, one] of Object.entries(settings)) {
    requireOptions(one, refuse, 'settings: { read_file: { effect: "read" } }', SETTINGS);
    if (one.effect !== undefined) requireEffect(one.effect satisfies Effect, refuse);
    if (only !== undefined && !only.includes(tool))
      throw refuse(
        `it has settings of ${showValue(tool)}, which is not among its \`only\``,
        "name it there too",
      );
  }
  return limits;
}
