import { createReadStream } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import {
  adoptedSide,
  type Digest,
  digestOf,
  type FactId,
  goesOnFrom,
  isDigest,
  parentsOf,
  RecordError,
  readFact,
} from "../../session/index.js";
import { isObject, parseJson } from "../../util/index.js";
import type { Erasure } from "../shelf.js";
import type { Store } from "../store.js";

/** The lines of a file, for `store.import`. Only the newline byte ends a line: text may hold other line breaks. */
export async function* readLines(path: string, encoding: "utf8" | "latin1" = "utf8"): AsyncGenerator<string> {
  const decoder = new StringDecoder(encoding);
  let rest = "";
  for await (const chunk of createReadStream(path)) {
    const parts = (rest + decoder.write(chunk as Buffer)).split("\n");
    rest = parts.pop() as string;
    yield* parts;
  }
  rest += decoder.end();
  if (rest !== "") yield rest;
}

/** The line of a blob in an export. */
export function blobLine(digest: Digest, bytes: Uint8Array): string {
  return `{"blob":"${digest}","data":"${Buffer.from(bytes).toString("base64")}"}`;
}

/** The line of an erasure in an export. */
export function erasureLine({ digest, fact, by, at, why }: Erasure): string {
  return JSON.stringify({ erased: digest, fact, by, at, why });
}

export function readBlobLine(line: string): { readonly digest: Digest; readonly bytes: Buffer } {
  const { blob: digest, data } = fieldsOf(line);
  if (!isDigest(digest) || typeof data !== "string" || JSON.stringify({ blob: digest, data }) !== line)
    throw new RecordError("this blob line does not say blob and data, in normal form");
  const bytes = Buffer.from(data, "base64");
  // Buffer passes over what is not base64; other readers may not.
  if (bytes.toString("base64") !== data)
    throw new RecordError(`the content of the blob ${digest} is not base64`, { blob: digest });
  if (digestOf(bytes) !== digest)
    throw new RecordError(`the content of the blob ${digest} is not what its digest says`, { blob: digest });
  return { digest, bytes };
}

export function readErasureLine(line: string): Erasure {
  const { erased: digest, fact, by, at, why } = fieldsOf(line);
  const erasure = { digest, fact, by, at, why } as Erasure;
  if (
    !isDigest(digest) ||
    ![fact, by, at, why].every((field) => typeof field === "string") ||
    erasureLine(erasure) !== line
  )
    throw new RecordError("this erasure line does not say erased, fact, by, at and why, in normal form");
  return erasure;
}

function fieldsOf(line: string): { readonly [field: string]: unknown } {
  const value = parseJson(line);
  if (!isObject(value)) throw new RecordError("it is not JSON");
  return value;
}

/** The fact whose conversation a line goes on with; undefined at a root. For those who read a record line by line. */
export async function lineBefore(
  store: Pick<Store, "load">,
  id: FactId,
  line: string,
): Promise<FactId | undefined> {
  const parents = parentsOf(line);
  if (parents.length < 2) return parents[0];
  const fact = readFact(line, undefined);
  // The shared past of the sides of a gathering cannot be told from the line alone.
  if (fact.type === "branch-merge" && fact.adopt === "none")
    return goesOnFrom(await store.load(id, { horizon: Number.POSITIVE_INFINITY }))?.id;
  return parents[adoptedSide(fact, parents.length)];
}
