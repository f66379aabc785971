import type {
  GetPromptResult,
  InputRequiredResult,
  McpServer,
  PromptMessage as PackageMessage,
  ReadResourceResult,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { ContentPart } from "../../agent/tool/index.js";
import type { Module } from "../../runtime/index.js";
import { defined } from "../../util/index.js";
import { conduct, type Desk } from "./conduct.js";
import { blockOf } from "./content.js";
import { McpOptionError } from "./error.js";
import { loadServer } from "./package.js";

/** An argument of a prompt. */
export type PromptArgument = {
  readonly description?: string;
  readonly required?: boolean;
  /** What it could be, given what was typed so far. */
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
  /** What sort of file it is. Default "text/plain". */
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
