import { digestOf, type Json } from "../../../session/index.js";
import type { Document } from "../document.js";
import { Fields, isObject, type JsonObject } from "../fields.js";
import { decoded } from "./encoding.js";
import { safeAddress, safeHeaders } from "./secret.js";

/** One request and its answer, without secrets. */
export type Exchange = {
  readonly method: string;
  readonly address: string;
  readonly path: string;
  readonly sent: Json;
  readonly status: number;
  readonly got: Json;
  /** Why the body of the answer cannot be read; then `got` has its bytes. */
  readonly unreadable?: string;
  /** What else the recorder kept. */
  readonly rest: Json;
};

export async function exchangesIn(cassette: Json, document: Document): Promise<readonly Exchange[]> {
  const list = isObject(cassette) ? (cassette.interactions ?? cassette.http_interactions) : undefined;
  if (!Array.isArray(list) || list.length === 0)
    throw document.refusal({ where: "", reason: "a cassette has a list of interactions" });
  const exchanges: Exchange[] = [];
  for (const [index, one] of (list as readonly Json[]).entries())
    exchanges.push(await exchangeOf(one, `interactions[${index}]`, document));
  return exchanges;
}

async function exchangeOf(value: Json, where: string, document: Document): Promise<Exchange> {
  const refuse = (place: string, reason: string) => document.refusal({ where: `${where}${place}`, reason });
  if (!isObject(value)) throw refuse("", "an interaction is an object");
  const fields = new Fields(value);
  const [asked, answered] = [fields.object("request"), fields.object("response")];
  if (asked === undefined) throw refuse(".request", "an interaction has its request");
  if (answered === undefined) throw refuse(".response", "an interaction has its response");
  const [request, response] = [new Fields(asked), new Fields(answered)];
  const uri = request.text("uri") ?? request.text("url");
  if (uri === undefined) throw refuse(".request.uri", "a request says where it went");
  const status = new Fields(response.object("status") ?? {});
  const code = status.number("code") ?? response.number("status");
  if (code === undefined) throw refuse(".response.status.code", "a response has a status");
  const told = () =>
    document.note(
      "The values of headers and of parameters that may be secrets are not recorded; their names are.",
    );
  const [asking, answering] = [request.json("headers"), response.json("headers")];
  const [sent, got] = [await bodyOf(request, asking), await bodyOf(response, answering)];
  if (sent.unreadable !== undefined)
    document.warn(`${where}.request: what was sent is unreadable: ${sent.unreadable}.`);
  const method = (request.text("method") ?? "GET").toUpperCase();
  const headers = { request: safeHeaders(asking, told), response: safeHeaders(answering, told) };
  response.keep("status", status.rest);
  const rest = { ...fields.rest, headers, request: request.rest ?? {}, response: response.rest ?? {} };
  return {
    method,
    address: safeAddress(uri, told),
    path: pathOf(uri),
    sent: sent.body,
    status: code,
    got: got.body,
    ...(got.unreadable !== undefined && { unreadable: got.unreadable }),
    rest,
  };
}

type Body = { readonly body: Json; readonly unreadable?: string };

/** What was sent: parsed by the recorder, as text, which may be JSON, or as bytes, which may be compressed. */
async function bodyOf(fields: Fields, headers: Json | undefined): Promise<Body> {
  const parsed = fields.json("parsed_body");
  if (parsed !== undefined) return { body: parsed };
  const body = fields.json("body");
  const bytes = bytesIn(body);
  if (bytes !== undefined) {
    const result = await decoded(bytes, encodingsIn(headers));
    if ("unreadable" in result) return { body: body as Json, unreadable: result.unreadable };
    // The bytes themselves are in the file, which the record names by its digest.
    fields.keep("body", { bytes: bytes.length, digest: digestOf(bytes), encodings: result.encodings });
    return { body: parsedText(result.text) };
  }
  if (!isObject(body) || typeof body.string !== "string")
    return { body: typeof body === "string" ? parsedText(body) : (body ?? null) };
  const { string, ...more } = body;
  if (Object.keys(more).length > 0) fields.keep("body", more);
  return { body: parsedText(string) };
}

/** The encodings that a header names, in the order in which they were applied. */
function encodingsIn(headers: Json | undefined): readonly string[] {
  if (!isObject(headers)) return [];
  return Object.entries(headers)
    .filter(([name]) => name.toLowerCase() === "content-encoding")
    .flatMap(([, value]) => (Array.isArray(value) ? value : [value]))
    .flatMap((value) => (typeof value === "string" ? value.toLowerCase().split(",") : []))
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");
}

/** The value of a text that is JSON. A text that would not be written again as it was stays a text. */
function parsedText(text: string): Json {
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === "object" && JSON.stringify(value) === text ? value : text;
  } catch {
    return text;
  }
}

/** The bytes of a body that the recorder did not keep as text: `!!binary` in YAML, `base64_string` in JSON. */
function bytesIn(body: Json | undefined): Buffer | undefined {
  if (!isObject(body)) return undefined;
  const held = isObject(body.string) ? body.string : body;
  const base64 = held.base64 ?? held.base64_string;
  return typeof base64 === "string" ? Buffer.from(base64, "base64") : undefined;
}

function pathOf(uri: string): string {
  try {
    return new URL(uri).pathname;
  } catch {
    return uri;
  }
}

/** A body as JSON, whether or not it was kept as text. */
export function jsonIn(body: Json): JsonObject | undefined {
  if (isObject(body)) return body;
  if (typeof body !== "string") return undefined;
  try {
    const value = JSON.parse(body) as Json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
