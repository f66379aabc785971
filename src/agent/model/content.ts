import type { Content, Json, Part } from "../../session/index.js";

/** A tool call that a model asks for. */
export type CallRequest = Part & { readonly type: "tool-call" };

/** The words of a message, without what the model thought and without its calls. */
export function textOf(content: Content): string {
  if (typeof content === "string") return content;
  let text = "";
  for (const part of content) if (part.type === "text") text += part.text;
  return text;
}

/** The calls that a message asks us to make, in order; those that the provider made itself are not among them. */
export function callsOf(content: Content): readonly CallRequest[] {
  if (typeof content === "string") return [];
  return content.filter((part): part is CallRequest => part.type === "tool-call" && part.provider !== true);
}

/** Why a call must not be executed: its input was cut off or is not JSON. Then `input` is the text that came. */
export function brokenCall(part: CallRequest): string | undefined {
  const broken = ownMeta(part.meta).broken;
  return typeof broken === "string" ? broken : undefined;
}

/** What we ourselves note about a part, beside what the provider wants back with it. */
export const OWN = "openrath";

export function ownMeta(meta: Json | undefined): { readonly [key: string]: Json } {
  const own = isRecord(meta) ? meta[OWN] : undefined;
  return isRecord(own) ? own : {};
}

export function isRecord(value: unknown): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
