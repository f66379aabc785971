import type {
  CallToolResult,
  GetPromptResult,
  InputRequiredResult,
  JsonSchemaType,
  McpServer,
  PromptMessage as PackageMessage,
  ReadResourceResult,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { ContentPart } from "../../agent/tool/index.js";
import type { Module, Rath } from "../../runtime/index.js";
import { type Json, type Principal, RathError, readableError, thrownMessage } from "../../session/index.js";
import { defined, showValue as word } from "../../util/index.js";
import { conduct, type Desk } from "./conduct.js";
import { blockOf } from "./content.js";
import { brief, loadServer, McpOptionError } from "./error.js";
import { forked, listed, replayed, shown } from "./served.js";

/** Tools of the store; a module cannot have their names. */
export const STORE = [
  "session_list",
  "session_show",
  "session_fork",
  "session_replay",
  "session_verify",
] as const;
const SHOWN = "Shows a session: what was said, how it stands, what it waits for.";

/** The inputs of all tools of the store; each tool names those that it takes. */
type Inputs = Readonly<Record<"session" | "module" | "branch" | "name", string>> & {
  readonly under?: string;
};
type SessionTool = {
  readonly description: string;
  readonly input: {
    readonly properties: { readonly [field: string]: JsonSchemaType };
    readonly required: readonly string[];
  };
  readonly writes?: true;
  readonly act: (input: Inputs) => Promise<Json>;
};

/** Offers the sessions of a runtime: as tools, and to be read. */
export async function offerSessions(
  server: McpServer,
  { rath, by }: { readonly rath: Rath; readonly by: Principal },
  runnable: () => { readonly [tool: string]: Module },
): Promise<void> {
  const { ResourceNotFoundError, ResourceTemplate, fromJsonSchema } = await loadServer();
  const text = { type: "string" } as const;
  const session = { session: { ...text, description: "Its name, or its id." } };
  const again = (mode: "replay" | "verify") => async (input: Inputs) => {
    const modules = runnable();
    const module = Object.hasOwn(modules, input.module) ? modules[input.module] : undefined;
    if (module !== undefined) return replayed(rath, module, input.session, mode);
    const known = Object.keys(modules).join(", ");
    throw new McpOptionError("served here", `there is no module ${word(input.module)}`, `one of ${known}`);
  };
  const names = Object.keys(runnable());
  // An empty enum is not a schema; modules that are offered later can be named all the same.
  const run = { ...session, module: { ...text, ...(names.length > 0 && { enum: names }) } };
  const all = <Properties extends object>(properties: Properties) => ({
    properties,
    required: Object.keys(properties),
  });
  const tools: { readonly [tool in (typeof STORE)[number]]: SessionTool } = {
    session_list: {
      description: "Lists the sessions that have names.",
      input: { properties: { under: text }, required: [] },
      act: ({ under }) => listed(rath, under, 1_000),
    },
    session_show: {
      description: SHOWN,
      input: all(session),
      act: (input) => shown(rath, input.session),
    },
    session_fork: {
      description: "Makes a branch of a session and keeps it under a name.",
      input: all({ ...session, branch: text, name: text }),
      writes: true,
      act: (input) => forked(rath, by, input.session, input.branch, input.name),
    },
    session_replay: {
      description: "Goes through a recorded run again, with its record as the world.",
      input: all(run),
      act: again("replay"),
    },
    session_verify: {
      description: "Says whether a recorded run ends in the same id when it is gone through again.",
      input: all(run),
      act: again("verify"),
    },
  };
  for (const [tool, { description, input, writes = false, act }] of Object.entries(tools)) {
    const inputSchema = fromJsonSchema<Inputs>({ type: "object", ...input });
    const annotations = { readOnlyHint: !writes };
    server.registerTool(tool, { description, inputSchema, annotations }, (given: Inputs) =>
      outcome(async (): Promise<CallToolResult> => {
        return { content: [{ type: "text", text: JSON.stringify(await act(given)) }] };
      }),
    );
  }
  server.registerResource(
    "session",
    new ResourceTemplate("rath://session/{name}", {
      list: async () => ({
        resources: ((await listed(rath, undefined, 1_000)) as { name: string }[]).map((one) => ({
          uri: `rath://session/${encodeURIComponent(one.name)}`,
          name: one.name,
          mimeType: "application/json",
        })),
      }),
    }),
    {
      description: "A session: what was said, how it stands, what it waits for.",
      mimeType: "application/json",
    },
    async (uri, { name: called }) => {
      const found = await shown(rath, decodeURIComponent(String(called))).catch((error: unknown) => {
        throw error instanceof RathError ? new ResourceNotFoundError(uri.href, error.message) : error;
      });
      return {
        contents: [{ uri: uri.href, mimeType: "application/json", text: JSON.stringify(found) }],
      };
    },
  );
}

/** Returns an error as a result, so that the model of the client can read it. */
export async function outcome<Value>(act: () => Promise<Value>): Promise<Value | CallToolResult> {
  try {
    return await act();
  } catch (thrown) {
    const error = readableError(thrown);
    const text = error instanceof RathError ? error.message : `It failed: ${thrownMessage(error)}`;
    return { content: [{ type: "text", text: brief(text, 4_000) }], isError: true };
  }
}

/** An argument of a prompt. */
export type PromptArgument = {
  readonly description?: string;
  readonly required?: boolean;
  /** Suggestions for the text typed so far. */
  readonly suggest?: (typed: string) => readonly string[] | Promise<readonly string[]>;
};

export type PromptMessage = {
  readonly role: "user" | "assistant";
  readonly content: string | readonly ContentPart[];
};

/** A text that clients offer to people: made by a function, or by a module, which may ask first. */
export type OfferedPrompt = {
  readonly description: string;
  readonly arguments?: { readonly [name: string]: PromptArgument };
} & (
  | {
      readonly get: (given: {
        readonly [name: string]: string;
      }) => string | readonly PromptMessage[] | Promise<string | readonly PromptMessage[]>;
    }
  | { readonly module: Module }
);

/** Something to read at an address. One with places in it, such as `notes://{day}`, stands for many. */
export type OfferedResource = {
  readonly uri: string;
  readonly description?: string;
  /** The media type. Default "text/plain". */
  readonly media?: string;
  readonly read: (
    uri: string,
    places: { readonly [name: string]: string },
  ) => string | Uint8Array | Promise<string | Uint8Array>;
};

export type Prompts = { readonly [name: string]: OfferedPrompt };
export type Resources = { readonly [name: string]: OfferedResource };

type Handle = { remove(): void };

/** Offers prompts. */
export async function offerPrompts(server: McpServer, prompts: Prompts, desk: Desk): Promise<Handle[]> {
  const { fromJsonSchema } = await loadServer();
  return Object.entries(prompts).map(([name, prompt]) => {
    const { description, arguments: known = {} } = prompt;
    const made = async (
      given: { [name: string]: string },
      context: ServerContext,
    ): Promise<GetPromptResult | InputRequiredResult> => {
      if ("get" in prompt) return { description, messages: messagesOf(await prompt.get(given)) };
      const call = { of: `prompt/${name}`, module: prompt.module, task: JSON.stringify(given) };
      return conduct(desk, call, context, ({ status, text }): GetPromptResult => {
        if (status === "finished") return { description, messages: messagesOf(text) };
        throw new McpOptionError(
          "served here",
          `the prompt ${JSON.stringify(name)} is ${status}: ${text}`,
          "answer what its run waits for, or look at why it failed",
        );
      });
    };
    const entries = Object.entries(known);
    if (entries.length === 0)
      return server.registerPrompt(name, { description }, (context: ServerContext) => made({}, context));
    const argsSchema = fromJsonSchema<{ [name: string]: string }>({
      type: "object",
      properties: Object.fromEntries(
        entries.map(([argument, { description: words }]) => [
          argument,
          { type: "string", ...defined({ description: words }) },
        ]),
      ),
      required: entries.flatMap(([argument, { required }]) => (required === true ? [argument] : [])),
    });
    return server.registerPrompt(name, { description, argsSchema }, made);
  });
}

/** A message of the protocol holds one piece each. */
function messagesOf(given: string | readonly PromptMessage[]): PackageMessage[] {
  const messages: readonly PromptMessage[] =
    typeof given === "string" ? [{ role: "user", content: given }] : given;
  return messages.flatMap(({ role, content }) =>
    (typeof content === "string" ? [{ type: "text", text: content } as const] : content).map((part) => ({
      role,
      content: blockOf(part),
    })),
  );
}

/** Offers resources. */
export async function offerResources(server: McpServer, resources: Resources): Promise<Handle[]> {
  const { ResourceTemplate } = await loadServer();
  return Object.entries(resources).map(([name, { uri, description, media = "text/plain", read }]) => {
    const about = { mimeType: media, ...defined({ description }) };
    const taken = async (
      at: URL,
      places: { readonly [name: string]: unknown },
    ): Promise<ReadResourceResult> => {
      const texts = Object.entries(places).map(([place, value]) => [
        place,
        decodeURIComponent(String(value)),
      ]);
      const held = await read(at.href, Object.fromEntries(texts));
      const content =
        typeof held === "string" ? { text: held } : { blob: Buffer.from(held).toString("base64") };
      return { contents: [{ uri: at.href, mimeType: media, ...content }] };
    };
    return uri.includes("{")
      ? server.registerResource(name, new ResourceTemplate(uri, { list: undefined }), about, taken)
      : server.registerResource(name, uri, about, (at: URL) => taken(at, {}));
  });
}

/** Suggestions for the arguments of prompts, at most as many as the protocol takes. */
export function offerSuggestions(server: McpServer, prompts: () => Prompts): void {
  const MOST = 100;
  server.server.setRequestHandler("completion/complete", async ({ params }) => {
    const { ref, argument } = params;
    const all = prompts();
    const prompt = ref.type === "ref/prompt" && Object.hasOwn(all, ref.name) ? all[ref.name] : undefined;
    const known = prompt?.arguments ?? {};
    const one = Object.hasOwn(known, argument.name) ? known[argument.name] : undefined;
    const found = [...((await one?.suggest?.(argument.value)) ?? [])];
    return {
      completion: { values: found.slice(0, MOST), total: found.length, hasMore: found.length > MOST },
    };
  });
}
