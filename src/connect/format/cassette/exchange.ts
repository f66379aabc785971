import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, inflateRaw } from "node:zlib";
import { digestOf, type Json } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { FieldReader, type Fields, fieldsOf, isFields, listOf, parsed, stringOf } from "../fields.js";
import { type Foreign, textOf } from "../foreign.js";
import { MAX_BYTES } from "../json.js";

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
  readonly rest: Json;
};

export async function exchangesIn(cassette: Json, foreign: Foreign): Promise<readonly Exchange[]> {
  const found = isFields(cassette) ? (cassette.interactions ?? cassette.http_interactions) : undefined;
  const list = foreign.list(found, "", "a cassette has a list of interactions");
  if (list.length === 0) foreign.refuse("", "the list of interactions is empty");
  const exchanges: Exchange[] = [];
  for (const [index, one] of list.entries())
    exchanges.push(await exchangeOf(one, `interactions[${index}]`, foreign));
  return exchanges;
}

async function exchangeOf(value: Json, where: string, foreign: Foreign): Promise<Exchange> {
  const part = (found: Json | undefined, name: string): FieldReader =>
    new FieldReader(foreign.object(found, `${where}.${name}`, `an interaction has its ${name}`));
  const fields = new FieldReader(foreign.object(value, where, "an interaction is an object"));
  const request = part(fields.json("request"), "request");
  const response = part(fields.json("response"), "response");
  const uri =
    request.text("uri") ??
    request.text("url") ??
    foreign.refuse(`${where}.request.uri`, "a request says where it went");
  const status = response.inside("status");
  const code =
    status.number("code") ??
    response.number("status") ??
    foreign.refuse(`${where}.response.status.code`, "a response has a status");
  const hidden = () => foreign.notes.add(HIDDEN);
  const [asking, answering] = [request.json("headers"), response.json("headers")];
  const [sent, got] = [await bodyOf(request, asking), await bodyOf(response, answering)];
  if (sent.unreadable !== undefined)
    foreign.warnings.add(`${where}.request: what was sent is unreadable: ${sent.unreadable}.`);
  const method = (request.text("method") ?? "GET").toUpperCase();
  const headers = { request: safeHeaders(asking, hidden), response: safeHeaders(answering, hidden) };
  response.keep("status", status.rest);
  return {
    method,
    address: safeAddress(uri, hidden),
    path: URL.canParse(uri) ? new URL(uri).pathname : uri,
    sent: sent.body,
    status: code,
    got: got.body,
    ...defined({ unreadable: got.unreadable }),
    rest: { ...fields.rest, headers, request: request.rest ?? {}, response: response.rest ?? {} },
  };
}

type Body = { readonly body: Json; readonly unreadable?: string };

/** The body: parsed by the recorder, as text, which may be JSON, or as bytes, which may be compressed. */
async function bodyOf(fields: FieldReader, headers: Json | undefined): Promise<Body> {
  const ready = fields.json("parsed_body");
  if (ready !== undefined) return { body: ready };
  const body = fields.json("body");
  const bytes = bytesIn(body);
  if (bytes !== undefined) {
    const result = await decoded(bytes, encodingsIn(headers));
    if ("unreadable" in result) return { body: body as Json, unreadable: result.unreadable };
    // The bytes themselves are in the file, which the record names by its digest.
    fields.keep("body", { bytes: bytes.length, digest: digestOf(bytes), encodings: result.encodings });
    return { body: parsedText(result.text) };
  }
  if (!isFields(body) || typeof body.string !== "string")
    return { body: typeof body === "string" ? parsedText(body) : (body ?? null) };
  const { string, ...more } = body;
  if (Object.keys(more).length > 0) fields.keep("body", more);
  return { body: parsedText(string) };
}

/** The encodings that a header names, in the order in which they were applied. */
function encodingsIn(headers: Json | undefined): readonly string[] {
  if (!isFields(headers)) return [];
  return Object.entries(headers)
    .filter(([name]) => name.toLowerCase() === "content-encoding")
    .flatMap(([, value]) => (Array.isArray(value) ? listOf(value) : [value]))
    .flatMap((value) => (typeof value === "string" ? value.toLowerCase().split(",") : []))
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");
}

/** The value of a text that is JSON. A text that would not be written again as it was stays a text. */
function parsedText(text: string): Json {
  const value = parsed(text);
  return typeof value === "object" && JSON.stringify(value) === text ? value : text;
}

/** The bytes of a body that the recorder did not keep as text: `!!binary` in YAML, `base64_string` in JSON. */
function bytesIn(body: Json | undefined): Buffer | undefined {
  if (!isFields(body)) return undefined;
  const held = isFields(body.string) ? body.string : body;
  const base64 = stringOf(held.base64 ?? held.base64_string);
  return base64 === undefined ? undefined : Buffer.from(base64, "base64");
}

/** A body as JSON, whether or not it was kept as text. */
export function jsonIn(body: Json): Fields | undefined {
  const value = parsed(body);
  return isFields(value) ? value : undefined;
}

/** A body as text, with the encodings that were undone; or the reason why the text is missing. */
export type Decoded =
  | { readonly text: string; readonly encodings: readonly string[] }
  | { readonly unreadable: string };

const limit = { maxOutputLength: MAX_BYTES };

const decoders: { readonly [encoding: string]: (bytes: Uint8Array) => Promise<Uint8Array> } = {
  gzip: (bytes) => promisify(gunzip)(bytes, limit),
  // Some servers leave out the header that RFC 9110 asks for.
  deflate: (bytes) =>
    promisify(inflate)(bytes, limit).catch(() => promisify(inflateRaw)(bytes, limit) as Promise<Buffer>),
  br: (bytes) => promisify(brotliDecompress)(bytes, limit),
  // Node has Zstandard only since 22.15: with a decoder of its own a file gives the same ids on every version.
  zstd: async (bytes) => {
    const { Decompress } = await import("fzstd");
    const pieces: Uint8Array[] = [];
    let [length, ended] = [0, false];
    const stream = new Decompress((piece, isLast) => {
      length += piece.length;
      if (length > MAX_BYTES) throw new RangeError(`it is longer than ${MAX_BYTES} bytes`);
      pieces.push(piece);
      ended ||= isLast === true;
    });
    stream.push(bytes, true);
    if (!ended) throw new Error("unexpected end of file");
    return Buffer.concat(pieces);
  },
};

/** The text of a body whose headers name these encodings, in the order in which they were applied. */
export async function decoded(bytes: Uint8Array, named: readonly string[]): Promise<Decoded> {
  const known = named.map((name) => (name === "x-gzip" ? "gzip" : name));
  // A recorder may have filtered the header, or undone the encoding and kept the header.
  const encodings = known.length > 0 ? known : sniffed(bytes);
  let plain = bytes;
  for (const encoding of encodings.toReversed()) {
    const decode = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
    if (decode === undefined)
      return { unreadable: `the encoding ${JSON.stringify(encoding)} is not supported` };
    try {
      plain = await decode(plain);
    } catch {
      const text = plain === bytes ? textOf(bytes) : undefined;
      // The decoder's own words differ between versions of Node, and the ids must not.
      return text === undefined
        ? { unreadable: `it cannot be decoded as ${encoding}` }
        : { text, encodings: [] };
    }
  }
  const text = textOf(plain);
  return text === undefined ? { unreadable: "it is not UTF-8 text" } : { text, encodings };
}

/** The encoding that the first bytes give away. */
function sniffed(bytes: Uint8Array): readonly string[] {
  const [first, second, third, fourth] = bytes;
  if (first === 0x1f && second === 0x8b) return ["gzip"];
  if (first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd) return ["zstd"];
  return [];
}

const HIDDEN =
  "The values of headers and of parameters that may be secrets are not recorded; their names are.";
/** Stands where a secret was. */
export const LEFT_OUT = "[left out: it may be a secret]";

const SECRET = /auth|cookie|token|secret|key|signature|credential|password|session/i;

/** Headers without the values of those that may hold secrets. */
export function safeHeaders(headers: Json | undefined, left: () => void): Fields {
  return Object.fromEntries(
    Object.entries(fieldsOf(headers)).map(([name, value]) => {
      if (!SECRET.test(name)) return [name, value];
      left();
      return [name, LEFT_OUT];
    }),
  );
}

/** An address without the values of parameters that may hold secrets, and without a user or a password. */
export function safeAddress(text: string, left: () => void): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  const names = [...url.searchParams.keys()].filter((name) =>
    /^(sig|key)$|api[-_]?key|token|secret|auth|signature/i.test(name),
  );
  if (names.length === 0 && url.username === "" && url.password === "") return text;
  left();
  for (const name of names) url.searchParams.set(name, LEFT_OUT);
  url.username = "";
  url.password = "";
  return url.href;
}
