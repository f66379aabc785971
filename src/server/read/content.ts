import { isUtf8 } from "node:buffer";
import { RequestError } from "../../connect/front/index.js";
import { digestOf, isDigest, refsOf } from "../../session/index.js";
import { NotFoundError } from "../../store/index.js";
import { type Call, factWithin, type Handlers, placeOf } from "../call.js";
import { mayAll } from "../identity/identity.js";
import { pagesFor } from "../pages.js";
import { headOf, refOf } from "./reads.js";

/** Content of the record as files. Whatever it is, a browser takes it for text or for a file to save, and runs nothing of it. */
export const contentHandlers: Pick<Handlers, "blob" | "file" | "part"> = {
  blob: async (call) => {
    const { store, path } = call;
    await requireBlob(call);
    const bytes = isDigest(path.digest) ? await store.blob(path.digest) : undefined;
    if (bytes === undefined)
      throw new NotFoundError(`content ${path.digest.slice(0, 64)}`, "it was erased, or never stored here");
    return contentResponse(call.request, wholeOf(bytes, path.digest));
  },
  file: async (call) => {
    const { path, head } = call.query;
    const at = await headOf(call, head);
    const { size, digest, bytes } = await pagesFor(call.store, call.identity).file(refOf(call), path, {
      head: at,
    });
    const start = Buffer.concat(await piecesOf(bytes(0, Math.min(size, LOOKED_AT))));
    const name = path.slice(path.lastIndexOf("/") + 1);
    return contentResponse(call.request, {
      size,
      digest,
      bytes,
      media: mediaOf(start, size > LOOKED_AT),
      name,
    });
  },
  part: async (call) => {
    const { fact, part } = call.path;
    const place = /^\d{1,6}$/.test(part) ? Number(part) : -1;
    const found = await pagesFor(call.store, call.identity).part(await factWithin(call, fact), place);
    const content = wholeOf(found.bytes, digestOf(found.bytes));
    const media = PICTURES.has(found.media) ? found.media : content.media;
    return contentResponse(call.request, { ...content, media });
  },
};

/** Pictures that a browser shows and runs nothing of. */
const PICTURES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const TEXT = "text/plain; charset=utf-8";
const BINARY = "application/octet-stream";
/** So many bytes of a file tell whether it is text. */
const LOOKED_AT = 8192;

type Content = {
  readonly size: number;
  readonly digest: string;
  readonly media: string;
  readonly name?: string;
  bytes(from: number, end: number): AsyncIterable<Uint8Array>;
};

/** Those who see only some sessions name the fact that has the content, in a session that they see. */
async function requireBlob({
  store,
  identity,
  path,
  query,
}: Call & { path: { digest: string } }): Promise<void> {
  const { name, fact } = query as { readonly name?: string; readonly fact?: string };
  if (name === undefined && mayAll(identity, "view")) return;
  const session = await placeOf(store, identity, "view", name ?? path.digest);
  if (mayAll(identity, "view")) return;
  const id = fact === undefined ? session.id : await factWithin({ store, identity, session }, fact);
  const refs = Object.values(refsOf((await store.line(id)) ?? ""));
  if (refs.some(({ digest }) => digest === path.digest)) return;
  throw new NotFoundError(
    `content ${path.digest.slice(0, 64)} in this fact`,
    "name the session and the fact that has it: ?name=…&fact=…; files are at GET …/file?path=…",
  );
}

function wholeOf(bytes: Uint8Array, digest: string): Content {
  return {
    size: bytes.length,
    digest,
    media: mediaOf(bytes, false),
    bytes: async function* (from, end) {
      yield bytes.subarray(from, end);
    },
  };
}

/** Text without a zero byte is text; the last character of a beginning may be cut off. */
function mediaOf(bytes: Uint8Array, isCut: boolean): string {
  const text = isCut ? bytes.subarray(0, Math.max(0, bytes.findLastIndex((byte) => byte < 0x80) + 1)) : bytes;
  return !bytes.includes(0) && isUtf8(text) && text.length >= bytes.length - 3 ? TEXT : BINARY;
}

function contentResponse(request: Request, { size, digest, media, name, bytes }: Content): Response {
  const etag = `"${digest}"`;
  const headers = new Headers({
    etag,
    "content-type": media,
    "accept-ranges": "bytes",
    "cache-control": "private, no-cache",
    "content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "content-disposition": `${media === BINARY ? "attachment" : "inline"}${name === undefined ? "" : `; ${fileName(name)}`}`,
  });
  if (request.headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers });
  const range = rangeOf(request, size, etag);
  const [from, end] = range ?? [0, size];
  headers.set("content-length", String(end - from));
  if (range !== undefined) headers.set("content-range", `bytes ${from}-${end - 1}/${size}`);
  const body = request.method === "HEAD" ? null : streamOf(bytes(from, end));
  return new Response(body, { status: range === undefined ? 200 : 206, headers });
}

/** The part that a request asks for; undefined for all. Several parts at once are answered with all, as HTTP allows. */
function rangeOf(
  request: Request,
  size: number,
  etag: string,
): readonly [from: number, end: number] | undefined {
  const [, first = "", last = ""] =
    /^bytes=(\d{0,15})-(\d{0,15})$/.exec(request.headers.get("range") ?? "") ?? [];
  const only = request.headers.get("if-range");
  if ((first === "" && last === "") || (only !== null && only !== etag)) return undefined;
  const from = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size : Math.min(size, Number(last) + 1);
  if (from < end) return [from, end];
  throw new RequestError(416, "range-refused", "This byte range is outside the content.", {
    hint: `the content has ${size} bytes: bytes=0-${Math.max(0, size - 1)}`,
    data: { size },
  });
}

/** A name of any characters, as RFC 6266 says it: for all of them, and in plain letters for old programs. */
export function fileName(name: string): string {
  const plain = name
    .toWellFormed()
    .replaceAll(/[^\w.-]+/g, "_")
    .slice(0, 120);
  const encoded = encodeURIComponent(name.toWellFormed().slice(0, 200)).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="${plain}"; filename*=UTF-8''${encoded}`;
}

/** Pieces that are made when the reader has room for them. */
export function streamOf(pieces: AsyncIterable<Uint8Array | string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done === true) controller.close();
        else controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
      },
      async cancel() {
        await iterator.return?.();
      },
    },
    { highWaterMark: 1 },
  );
}

async function piecesOf(pieces: AsyncIterable<Uint8Array>): Promise<readonly Uint8Array[]> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}
