import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { digestOf } from "../../../../session/index.js";
import type { Source } from "../../exchange.js";

const folder = fileURLToPath(new URL("../../../../../../shared/data/", import.meta.url));

/** Why tests with recordings of others are skipped; undefined when the recordings are here. */
export const lacking: string | undefined = existsSync(folder)
  ? undefined
  : "the recordings of others are not beside this repository";

export function sourceOf(name: string, content: string | Uint8Array): Source {
  const bytes = typeof content === "string" ? Buffer.from(content, "utf8") : content;
  return { name, bytes, digest: digestOf(bytes) };
}

/** The files of a folder of recordings whose names match. */
export function recordings(under: string, pattern: RegExp): readonly Source[] {
  if (lacking !== undefined) return [];
  const place = `${folder}${under}/`;
  return readdirSync(place)
    .filter((name) => pattern.test(name))
    .sort()
    .map((name) => sourceOf(name, readFileSync(`${place}${name}`)));
}

/** A file of the recordings that is no recording. */
export function recorded(path: string): string {
  return readFileSync(`${folder}${path}`, "utf8");
}
