import type { Json, Part } from "../../session/index.js";

/** A part of an output that a model is shown: a text, or a file such as an image, whose `data` is base64 or a URL. */
export type ContentPart = Extract<Part, { readonly type: "text" | "file" }>;

/** An output that a model is shown as text and files instead of as JSON. */
export type ContentOutput = { readonly type: "content"; readonly value: readonly ContentPart[] };

/**
 * Builds a tool output from text and files.
 *
 *     run: async ({ url }) => content([{ type: "text", text: url }, { type: "file", media: "image/png", data }])
 */
export function content(parts: readonly ContentPart[]): ContentOutput {
  return { type: "content", value: parts };
}

/** Whether an output is to be shown as text and files: exactly this shape, and no further field. */
export function isContent(output: Json): output is ContentOutput {
  if (typeof output !== "object" || output === null || Array.isArray(output)) return false;
  const { type, value, ...rest } = output as { readonly [key: string]: Json };
  return type === "content" && Object.keys(rest).length === 0 && Array.isArray(value) && value.every(isPart);
}

function isPart(part: Json): boolean {
  if (typeof part !== "object" || part === null) return false;
  const { type, text, media, data } = part as { readonly [key: string]: Json };
  if (type === "text") return typeof text === "string";
  return type === "file" && typeof media === "string" && typeof data === "string";
}
