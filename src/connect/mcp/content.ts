import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { type ContentPart, content, isContent, ToolReportedError } from "../../agent/tool/index.js";
import type { Json } from "../../session/index.js";
import { isObject } from "../../util/index.js";
import { brief } from "./error.js";
import type { Secrets } from "./http.js";

/**
 * The part of a result that a model sees: its structure where it has one, its words where it is words, else words and files.
 * A result that says itself that it is a failure is thrown as one.
 */
export function outputOf(tool: string, result: CallToolResult, secrets: Secrets): Json {
  const { structuredContent, isError } = result;
  const parts = (result.content ?? []).map((block) => partOf(block as Block, secrets));
  const words = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  if (isError === true)
    throw new ToolReportedError(tool, brief(words === "" ? "it failed and does not say why" : words, 4_000), {
      ...(structuredContent !== undefined && { structured: secrets.json(structuredContent as Json) }),
    });
  const files = parts.some((part) => part.type === "file");
  if (structuredContent !== undefined && !files) return secrets.json(structuredContent as Json);
  return files ? content(parts) : words;
}

type Block = { readonly type: string; readonly [field: string]: unknown };

/** A block of content, or of a message, as a text or a file. */
export function partOf(block: Block, secrets: Secrets): ContentPart {
  const text = (words: string): ContentPart => ({ type: "text", text: secrets.text(words.toWellFormed()) });
  switch (block.type) {
    case "text":
      return text(String(block.text));
    case "image":
    case "audio":
      return { type: "file", media: String(block.mimeType), data: String(block.data) };
    case "resource_link":
      return text(`[resource ${String(block.uri)}: ${String(block.description ?? block.name ?? "")}]`);
    case "resource": {
      const { uri, text: words, blob, mimeType } = (block.resource ?? {}) as { [field: string]: unknown };
      if (typeof words === "string") return text(words);
      const media = typeof mimeType === "string" ? mimeType : "application/octet-stream";
      return typeof blob === "string"
        ? { type: "file", media, data: blob, name: String(uri) }
        : text(`[resource ${String(uri)}]`);
    }
    default:
      return text(JSON.stringify(block));
  }
}

/** The output of a tool for a client: words, files, and its structure where it has one. */
export function blocksOf(output: Json): CallToolResult {
  if (typeof output === "string") return { content: [{ type: "text", text: output }] };
  if (isContent(output)) return { content: output.value.map(blockOf) };
  const content: ContentBlock[] = [{ type: "text", text: JSON.stringify(output) }];
  return isObject(output) ? { content, structuredContent: output } : { content };
}

/** Words, an image, a sound; any other file is a resource, under its name. */
export function blockOf(part: ContentPart): ContentBlock {
  if (part.type === "text") return { type: "text", text: part.text };
  const { media, data } = part;
  const [kind] = media.split("/");
  if (kind === "image" || kind === "audio") return { type: kind, mimeType: media, data };
  const { name: uri = "file:///unnamed" } = part as { readonly name?: string };
  return { type: "resource", resource: { uri, mimeType: media, ...heldIn(media, data) } };
}

function heldIn(media: string, data: string): { readonly text: string } | { readonly blob: string } {
  const words = /^text\/|[/+](json|xml|yaml|javascript)\b/.test(media);
  return words ? { text: Buffer.from(data, "base64").toString("utf8") } : { blob: data };
}
