import { createReadStream } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { adoptedSide, type FactId, goesOnFrom, parentsOf, readFact } from "../../session/index.js";
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

/** The fact whose conversation a line goes on with; undefined at a root. For those who read a record line by line. */
export async function lineBefore(
  store: Pick<Store, "load">,
  id: FactId,
  line: string,
): Promise<FactId | undefined> {
  const parents = parentsOf(line);
  if (parents.length < 2) return parents[0];
  const fact = readFact(line, undefined);
  // What the sides of a gathering share cannot be told from the line alone.
  if (fact.type === "branch-merge" && fact.adopt === "none")
    return goesOnFrom(await store.load(id, { horizon: Number.POSITIVE_INFINITY }))?.id;
  return parents[adoptedSide(fact, parents.length)];
}
