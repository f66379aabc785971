import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Source } from "../exchange.js";
import { sourceOf } from "./leaves.js";

/** Recorded files of other systems. They are not part of the repository; without them the tests of them are left out. */
const folder = fileURLToPath(new URL("../../../../../shared/data/", import.meta.url));

export function hasData(path: string): boolean {
  return existsSync(folder + path);
}

export function dataSource(path: string): Source {
  return sourceOf(path.split("/").at(-1) as string, readFileSync(folder + path));
}

export function dataFiles(path: string, ending: string): readonly string[] {
  if (!hasData(path)) return [];
  return readdirSync(folder + path)
    .filter((name) => name.endsWith(ending))
    .map((name) => `${path}/${name}`);
}
