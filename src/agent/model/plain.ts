import type { Json } from "../../session/index.js";

/** What a provider gives may be nested deeper than a record can hold. */
const DEEPEST = 200;

/**
 * Any value as JSON that a record can hold: bytes as base64, dates and URLs as text, without functions and what is
 * undefined. Nothing at all is undefined.
 */
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
