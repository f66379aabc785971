import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Json } from "openrath";
import { parse } from "yaml";

/** Recorded traffic with real providers. It is not part of the repository; without it these tests are left out. */
const folder = fileURLToPath(new URL("../../../shared/data/provider-cassettes/", import.meta.url));
export const hasCassettes = existsSync(`${folder}index.json`);

export type Fields = { readonly [key: string]: Json };

/** One request and what the provider answered. `body` is the text that came over the wire. */
export type Exchange = {
  readonly method: string;
  readonly url: URL;
  readonly sent: Json | undefined;
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
};

export type Cassette = { readonly file: string; readonly exchanges: readonly Exchange[] };

type Recorded = {
  readonly request: { readonly method: string; readonly uri: string; readonly parsed_body?: Json };
  readonly response: {
    readonly status: { readonly code: number };
    readonly headers: { readonly [name: string]: readonly string[] };
    readonly parsed_body?: Json;
    readonly body?: { readonly string: string };
  };
};

export function cassettes(): readonly Cassette[] {
  if (!hasCassettes) return [];
  const index = JSON.parse(readFileSync(`${folder}index.json`, "utf8")) as readonly {
    readonly file: string;
  }[];
  return index.map(({ file }) => {
    const { interactions } = parse(readFileSync(folder + file, "utf8")) as {
      readonly interactions: readonly Recorded[];
    };
    return { file: file.replace(/\.yaml$/, ""), exchanges: interactions.map(exchangeOf) };
  });
}

function exchangeOf({ request, response }: Recorded): Exchange {
  return {
    method: request.method,
    url: new URL(request.uri),
    sent: request.parsed_body,
    status: response.status.code,
    headers: Object.entries(response.headers).map(([name, values]) => [name, values.join(", ")]),
    body:
      response.parsed_body === undefined
        ? (response.body?.string ?? "")
        : JSON.stringify(response.parsed_body),
  };
}

/** The data of each event of a stream, as JSON; what is no JSON (the end mark of some) is left out. */
export function eventsIn(body: string): readonly Fields[] {
  return body.split(/\r?\n\r?\n/).flatMap((block) => {
    const data = block
      .split(/\r?\n/)
      .filter((line) => line.startsWith("data:"))
      .map((line) => line.slice(5).trimStart())
      .join("\n");
    return data === "" || data === "[DONE]" ? [] : [JSON.parse(data) as Fields];
  });
}
