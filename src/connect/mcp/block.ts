import { type ContentPart, isContent } from "../../agent/tool/index.js";
import type { Json } from "../../session/index.js";

/** A piece of content as the protocol writes it. */
export type Block = { readonly type: string; readonly [field: string]: unknown };

/** What a tool gave, as a client is shown it: words, files, and its structure where it has one. */
export function blocksOf(output: Json): {
  readonly content: readonly Block[];
  readonly structuredContent?: Json;
} {
  if (typeof output === "string") return { content: [{ type: "text", text: output }] };
  if (isContent(output)) return { content: output.value.map(blockOf) };
  const structured = typeof output === "object" && output !== null && !Array.isArray(output);
  return {
    content: [{ type: "text", text: JSON.stringify(output) }],
    ...(structured && { structuredContent: output }),
  };
}

/** Words, an image, a sound; any other file is a resource, under its name. */
export function blockOf(part: ContentPart): Block {
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
