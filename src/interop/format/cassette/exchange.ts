import type { Json } from "../../../session/index.js";
import type { Document } from "../document.js";
import { Fields, isObject, type JsonObject } from "../fields.js";
import { safeAddress, safeHeaders } from "./secret.js";

/** One request and its answer, without secrets. */
export type Exchange = {
  readonly method: string;
  readonly address: string;
  readonly path: string;
  readonly sent: Json;
  readonly status: number;
  readonly got: Json;
  /** What else the recorder kept. */
  readonly rest: Json;
};

export function exchangesIn(cassette: Json, document: Document): readonly Exchange[] {
  const list = isObject(cassette) ? (cassette.interactions ?? cassette.http_interactions) : undefined;
  if (!Array.isArray(list) || list.length === 0)
    throw document.refusal({ where: "", reason: "a cassette has a list of interactions" });
  return (list as readonly Json[]).map((one, index) => exchangeOf(one, `interactions[${index}]`, document));
}

function exchangeOf(value: Json, where: string, document: Document): Exchange {
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
  const [sent, got] = [bodyOf(request), bodyOf(response)];
  const method = (request.text("method") ?? "GET").toUpperCase();
  const headers = {
    request: safeHeaders(request.json("headers"), told),
    response: safeHeaders(response.json("headers"), told),
  };
  response.keep("status", status.rest);
  const rest = { ...fields.rest, headers, request: request.rest ?? {}, response: response.rest ?? {} };
  return { method, address: safeAddress(uri, told), path: pathOf(uri), sent, status: code, got, rest };
}

/** What was sent: parsed by the recorder, or as text, which may be JSON. */
function bodyOf(fields: Fields): Json {
  const parsed = fields.json("parsed_body");
  if (parsed !== undefined) return parsed;
  const body = fields.json("body");
  const text = isObject(body) && Object.keys(body).length === 1 ? body.string : body;
  if (typeof text !== "string") return text ?? null;
  try {
    const value = JSON.parse(text) as Json;
    // What would not be written again as it was is kept as it was.
    return typeof value === "object" && JSON.stringify(value) === text ? value : text;
  } catch {
    return text;
  }
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
