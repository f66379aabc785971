import type { Content, Json, Part } from "../../session/index.js";

export { wordsOf as textOf } from "../../session/index.js";

export type CallRequest = Part & { readonly type: "tool-call" };

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

/** The key of our own notes on a part, beside the provider's metadata. */
export const OWN = "openrath";

export function ownMeta(meta: Json | undefined): { readonly [key: string]: Json } {
  const own = isRecord(meta) ? meta[OWN] : undefined;
  return isRecord(own) ? own : {};
}

export function isRecord(value: unknown): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A provider's value may be nested deeper than a record can hold. */
const DEEPEST = 200;

/** Any value as JSON for the record: bytes as base64, dates and URLs as text. Functions are left out. */
export function plainJson(value: unknown): Json | undefined {
  return plain(value, []);
}

/** `above` is what the value lies in: what is thrown often leads back to itself. */
function plain(value: unknown, above: readonly object[]): Json | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : null;
    case "bigint":
      return String(value);
    case "object":
      break;
    default:
      return undefined;
  }
  if (value === null) return null;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof URL) return value.href;
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (above.includes(value)) return "[contains itself]";
  if (above.length >= DEEPEST) return "[nested too deeply]";
  const path = [...above, value];
  if (Array.isArray(value)) return value.map((item) => plain(item, path) ?? null);
  const entries: [string, Json][] = [];
  for (const [key, inner] of Object.entries(value)) {
    const kept = plain(inner, path);
    if (kept !== undefined) entries.push([key, kept]);
  }
  return Object.fromEntries(entries);
}
