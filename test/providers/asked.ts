import type { Json } from "openrath";
import type { Exchange, Fields } from "./cassette.js";

export type Protocol = "chat" | "responses" | "anthropic" | "google";

/** One thing in a conversation, whatever API it was said to. */
export type Said =
  | { readonly who: "user" | "assistant"; readonly text: string }
  | { readonly who: "user" | "assistant"; readonly file: string; readonly media: string }
  | { readonly who: "assistant"; readonly call: string; readonly name: string; readonly input: Json }
  | { readonly who: "tool"; readonly call: string; readonly result: Json };

/** A request for a generation, read from its body. */
export type Asked = {
  readonly protocol: Protocol;
  readonly model: string;
  readonly stream: boolean;
  readonly system: string;
  readonly said: readonly Said[];
  readonly tools: readonly { readonly name: string; readonly description: string; readonly input: Json }[];
  /** Tools that the provider runs itself, as the API has them. */
  readonly own: readonly Fields[];
  readonly choice: "auto" | "required" | undefined;
  readonly schema: Json | undefined;
  readonly body: Fields;
};

/** Which generation API an exchange is with, or why it is none. */
export function protocolOf({
  method,
  url,
}: Pick<Exchange, "method" | "url">): Protocol | { readonly not: string } {
  const { pathname } = url;
  if (method !== "POST") return { not: `${method} is no generation` };
  if (pathname === "/v1/chat/completions") return "chat";
  if (pathname === "/v1/responses") return "responses";
  if (pathname === "/v1/messages") return "anthropic";
  if (/:(stream)?[gG]enerateContent$/.test(pathname)) return "google";
  if (/:batchEmbedContents$/.test(pathname)) return { not: "an embedding" };
  if (/\/count_tokens$/.test(pathname)) return { not: "counts tokens" };
  if (/\/conversations$/.test(pathname)) return { not: "opens a conversation at the provider" };
  if (/fileSearchStores/.test(pathname)) return { not: "fills a file store" };
  return { not: `unknown: ${pathname}` };
}

export function askedIn(protocol: Protocol, url: URL, body: Fields): Asked {
  const list = (name: string) => (body[name] ?? []) as readonly Fields[];
  const shared = { protocol, body, model: String(body.model), stream: body.stream === true };
  switch (protocol) {
    case "chat": {
      const format = body.response_format as Fields | undefined;
      const { system, rest } = withoutSystem(list("messages"));
      return {
        ...shared,
        system,
        said: rest.flatMap(chatSaid),
        tools: list("tools").map((tool) => functionOf(tool.function as Fields, "parameters")),
        own: [],
        choice: body.tool_choice as "auto" | "required" | undefined,
        schema: (format?.json_schema as Fields | undefined)?.schema,
      };
    }
    case "responses": {
      const format = (body.text as Fields | undefined)?.format as Fields | undefined;
      const { system, rest } = withoutSystem(list("input"));
      return {
        ...shared,
        system: [body.instructions, system].filter(Boolean).join("\n"),
        said: rest.flatMap(itemSaid),
        tools: list("tools").map((tool) => functionOf(tool, "parameters")),
        own: [],
        choice: body.tool_choice as "auto" | "required" | undefined,
        schema: format?.schema,
      };
    }
    case "anthropic": {
      const choice = (body.tool_choice as Fields | undefined)?.type;
      const format = (body.output_config as Fields | undefined)?.format as Fields | undefined;
      const tools = list("tools");
      return {
        ...shared,
        system: textIn(body.system),
        said: list("messages").flatMap(anthropicSaid),
        tools: tools.filter((tool) => "input_schema" in tool).map((tool) => functionOf(tool, "input_schema")),
        own: tools.filter((tool) => !("input_schema" in tool)),
        choice: choice === "any" ? "required" : (choice as "auto" | undefined),
        schema: format?.schema,
      };
    }
    case "google": {
      const tools = list("tools");
      const calling = (body.toolConfig as Fields | undefined)?.functionCallingConfig as Fields | undefined;
      const config = (body.generationConfig ?? {}) as Fields;
      return {
        ...shared,
        model: /models\/([^:]+):/.exec(url.pathname)?.[1] ?? "",
        stream: url.pathname.endsWith(":streamGenerateContent"),
        system: textIn((body.systemInstruction as Fields | undefined)?.parts),
        said: googleSaid(list("contents")),
        tools: tools
          .flatMap((tool) => (tool.functionDeclarations ?? []) as readonly Fields[])
          .map((tool) =>
            functionOf(tool, "parameters_json_schema" in tool ? "parameters_json_schema" : "parameters"),
          ),
        own: tools.filter((tool) => !("functionDeclarations" in tool)),
        choice: calling?.mode === "ANY" ? "required" : calling?.mode === undefined ? undefined : "auto",
        schema: config.responseJsonSchema ?? config.responseSchema,
      };
    }
  }
}

function withoutSystem(messages: readonly Fields[]): { system: string; rest: readonly Fields[] } {
  const isSystem = ({ role }: Fields) => role === "system" || role === "developer";
  return {
    system: messages
      .filter(isSystem)
      .map(({ content }) => textIn(content))
      .join("\n"),
    rest: messages.filter((message) => !isSystem(message)),
  };
}

function functionOf(tool: Fields, schema: string) {
  return {
    name: String(tool.name),
    description: String(tool.description ?? ""),
    input: lowerCased((tool[schema] ?? { type: "object", properties: {} }) as Fields) as Json,
  };
}

/** Google's older schemas write types in capitals. */
function lowerCased(value: Json): Json {
  if (Array.isArray(value)) return value.map(lowerCased);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === "type" && typeof inner === "string" ? inner.toLowerCase() : lowerCased(inner),
    ]),
  );
}

/** A text, or the texts of a list of parts. */
function textIn(content: Json | undefined): string {
  if (typeof content === "string") return content;
  return ((content ?? []) as readonly Fields[])
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("");
}

function words(who: "user" | "assistant", text: Json | undefined): readonly Said[] {
  return typeof text === "string" && text !== "" ? [{ who, text }] : [];
}

function chatSaid(message: Fields): readonly Said[] {
  const { role, content } = message;
  if (role === "tool") return [{ who: "tool", call: String(message.tool_call_id), result: textIn(content) }];
  const who = role as "user" | "assistant";
  const parts =
    typeof content === "string" ? [{ type: "text", text: content }] : ((content ?? []) as readonly Fields[]);
  const calls = (message.tool_calls ?? []) as readonly Fields[];
  return [
    ...parts.flatMap((part: Fields): readonly Said[] => {
      if (part.type === "image_url")
        return [{ who, file: String((part.image_url as Fields).url), media: "image/*" }];
      if (part.type === "file") return [{ who, file: String((part.file as Fields).file_id), media: "" }];
      return words(who, part.text);
    }),
    ...calls.map((call): Said => {
      const made = call.function as Fields;
      return {
        who: "assistant",
        call: String(call.id),
        name: String(made.name),
        input: JSON.parse(String(made.arguments)) as Json,
      };
    }),
  ];
}

function itemSaid(item: Fields): readonly Said[] {
  if (item.type === "function_call")
    return [
      {
        who: "assistant",
        call: String(item.call_id),
        name: String(item.name),
        input: JSON.parse(String(item.arguments)) as Json,
      },
    ];
  if (item.type === "function_call_output")
    return [{ who: "tool", call: String(item.call_id), result: item.output ?? "" }];
  return words(item.role as "user" | "assistant", textIn(item.content));
}

function anthropicSaid({ role, content }: Fields): readonly Said[] {
  const who = role as "user" | "assistant";
  const parts =
    typeof content === "string" ? [{ type: "text", text: content }] : (content as readonly Fields[]);
  return parts.flatMap((part: Fields): readonly Said[] => {
    switch (part.type) {
      case "text":
        return words(who, part.text);
      case "tool_use":
        return [
          { who: "assistant", call: String(part.id), name: String(part.name), input: part.input ?? {} },
        ];
      case "tool_result": {
        const given = part.content;
        const [document] = Array.isArray(given) ? given.filter(({ type }) => type !== "text") : [];
        const call = String(part.tool_use_id);
        return [
          { who: "tool", call, result: textIn(given) || (document === undefined ? "" : fileIn(document)) },
        ];
      }
      case "document":
        return [{ who, file: JSON.stringify(part.source), media: "" }];
      default:
        // Thoughts and what the provider did with tools of its own: looked at in the reply they came with.
        return [];
    }
  });
}

function fileIn(document: Fields): Json {
  const source = document.source as Fields;
  return { file: source.url ?? source.data ?? "", media: source.media_type ?? "application/pdf" };
}

/** Google's older models give calls no ids: then they are counted. */
function googleSaid(contents: readonly Fields[]): readonly Said[] {
  let calls = 0;
  let results = 0;
  return contents.flatMap(({ role, parts }): readonly Said[] => {
    const who = role === "model" ? "assistant" : "user";
    return ((parts ?? []) as readonly Fields[]).flatMap((part): readonly Said[] => {
      if (part.functionCall !== undefined) {
        const { name, args } = part.functionCall as Fields;
        return [{ who: "assistant", call: `${calls++}`, name: String(name), input: args ?? {} }];
      }
      if (part.functionResponse !== undefined) {
        const response = (part.functionResponse as Fields).response as Fields;
        const result = response.return_value ?? response.output ?? response.content ?? "";
        return [{ who: "tool", call: `${results++}`, result }];
      }
      if (part.fileData !== undefined) {
        const { fileUri, mimeType } = part.fileData as Fields;
        return [{ who, file: String(fileUri), media: String(mimeType) }];
      }
      return words(who, part.text);
    });
  });
}
