import { createReadStream } from "node:fs";
import { StringDecoder } from "node:string_decoder";

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
