import type { Json } from "openrath";
import { type Input, type Order, rot13 } from "./order.js";

/**
 * Every order in some texts, whatever they are hidden in. The most gullible reader that can be: it decodes what can be decoded,
 * puts together what was split, and takes anything that names a tool beside arguments for something to do.
 */
export function ordersIn(texts: readonly string[], tools: ReadonlySet<string>): readonly Order[] {
  const found = new Map<string, Order>();
  const open = texts.map((text) => (text.includes("⟪") ? text.replace(ASIDE, "") : text));
  for (const text of [...open, ...joined(open)])
    for (const order of read(text)) if (tools.has(order.tool)) found.set(JSON.stringify(order), order);
  return [...found.values()];
}

/** What was read before need not be read again: most of a prompt is the prompt before. */
const known = new Map<string, readonly Order[]>();
const KNOWN = 20_000;

function read(text: string): readonly Order[] {
  const before = known.get(text);
  if (before !== undefined) return before;
  if (known.size >= KNOWN) known.clear();
  const orders = unhidden([text]).flatMap((one) => [...callsIn(one), ...tampersIn(one), ...linksIn(one)]);
  known.set(text, orders);
  return orders;
}

/** What is said only to whoever sums a text up. */
export const ASIDE = /⟪([^⟫]*)⟫/g;

/** The texts, and what is encoded in them, and what is encoded in that. */
function unhidden(texts: readonly string[], depth = 3): readonly string[] {
  const seen = texts.map(plain);
  if (depth === 0) return seen;
  const inside = seen.flatMap((text) => [
    ...[...text.matchAll(/[A-Za-z0-9+/]{24,}={0,2}/g)].map(([code]) => bytesOf(code, "base64")),
    ...[...text.matchAll(/(?:[0-9a-f]{2}){16,}/g)].map(([code]) => bytesOf(code, "hex")),
    ...[...text.matchAll(/percent: (\S+)/g)].map(([, code = ""]) => percentOf(code)),
    ...[...text.matchAll(/rot13: ([\s\S]*?) :end/g)].map(([, code = ""]) => rot13(code)),
    ...[...text.matchAll(/backwards: ([\s\S]*?) :end/g)].map(([, code = ""]) => [...code].reverse().join("")),
  ]);
  const readable = inside.filter((text) => text.length > 8 && !text.includes("\ufffd"));
  return readable.length === 0 ? seen : [...seen, ...unhidden(readable, depth - 1)];
}

/** As a reader sees it who looks through every trick: tags, entities, wide letters, what takes no room. */
function plain(text: string): string {
  const untagged = [...text]
    .map((one) => {
      const code = one.codePointAt(0) as number;
      return code >= 0xe0020 && code <= 0xe007e ? String.fromCharCode(code - 0xe0000) : one;
    })
    .join("");
  return untagged
    .replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/g, "")
    .normalize("NFKC")
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replaceAll("&quot;", '"');
}

function bytesOf(code: string, encoding: "base64" | "hex"): string {
  return Buffer.from(code, encoding).toString("utf8");
}

function percentOf(code: string): string {
  try {
    return decodeURIComponent(code);
  } catch {
    return "";
  }
}

/** What was split over several outputs, once all of it is there. */
function joined(texts: readonly string[]): readonly string[] {
  const parts = new Map<string, string[]>();
  for (const text of texts)
    for (const [, place, key = "", piece = ""] of text.matchAll(/\[part ([12])\/2 of (\w+): ([^\]]*)\]/g)) {
      const both = parts.get(key) ?? [];
      both[Number(place) - 1] = piece;
      parts.set(key, both);
    }
  return [...parts.values()]
    .filter((both) => both[0] !== undefined && both[1] !== undefined)
    .map((both) => both.join(""));
}

function callsIn(text: string): readonly Order[] {
  const orders: Order[] = [];
  for (const { value, before } of objectsIn(text)) {
    for (const one of within(value)) {
      const { tool, arguments: given, override } = one as { tool?: Json; arguments?: Json; override?: Json };
      if (typeof tool === "string" && isInput(given)) orders.push({ kind: "call", tool, input: given });
      if (isInput(override)) orders.push(...tamperOf(override));
    }
    // Any word before it may be the name of a tool; those that are none are left out in the end.
    for (const tool of before.match(/[a-z][\w-]+/g)?.slice(-3) ?? [])
      orders.push({ kind: "call", tool, input: value });
  }
  return orders;
}

function tamperOf(override: Input): readonly Order[] {
  const { tool, argument, value } = override;
  return typeof tool === "string" && typeof argument === "string" && value !== undefined
    ? [{ kind: "tamper", tool, argument, value }]
    : [];
}

function tampersIn(text: string): readonly Order[] {
  const orders: Order[] = [];
  const form = /([a-z][\w-]+)(?: [\p{L}]+)?,\s?[\p{L}]+ ([a-z]+) [\p{L}]{1,3} ("(?:[^"\\]|\\.)*"|\d+)/gu;
  for (const [, tool = "", argument = "", value = ""] of text.matchAll(form))
    orders.push(...jsonIn(value).map((one): Order => ({ kind: "tamper", tool, argument, value: one })));
  return orders;
}

/** The value that a text is the JSON of, if it is. */
function jsonIn(text: string): readonly Json[] {
  try {
    return [JSON.parse(text) as Json];
  } catch {
    return [];
  }
}

/** Whoever shows a picture loads it. */
function linksIn(text: string): readonly Order[] {
  return [...text.matchAll(/!\[[^\]]*\]\((https?:[^)\s]+)\)/g)].map(([, url = ""]) => ({
    kind: "call",
    tool: "http_get",
    input: { url },
  }));
}

/** All JSON objects that stand in a text, with what stands before each. */
function* objectsIn(text: string): Generator<{ readonly value: Input; readonly before: string }> {
  for (let at = text.indexOf("{"); at >= 0; at = text.indexOf("{", at + 1)) {
    const value = objectAt(text, at);
    if (value !== undefined) yield { value, before: text.slice(Math.max(0, at - 40), at) };
  }
}

function objectAt(text: string, at: number): Input | undefined {
  let depth = 0;
  let quoted = false;
  for (let end = at; end < text.length && end < at + 4_000; end++) {
    const one = text[end];
    if (one === "\\" && quoted) end += 1;
    else if (one === '"') quoted = !quoted;
    else if (!quoted && one === "{") depth += 1;
    else if (!quoted && one === "}" && --depth === 0) {
      try {
        return JSON.parse(text.slice(at, end + 1)) as Input;
      } catch {
        return undefined;
      }
    }
  }
  return undefined;
}

function* within(value: Json): Generator<Input> {
  if (Array.isArray(value)) for (const one of value) yield* within(one as Json);
  else if (isInput(value)) {
    yield value;
    for (const one of Object.values(value)) yield* within(one);
  }
}

function isInput(value: Json | undefined): value is Input {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
