// @ts-check
import { readFileSync } from "node:fs";

/**
 * The source file behind each name that users can import: `openrath/store` -> `src/store/index.ts`. Read from "exports"
 * in package.json, so that a new door is declared there and nowhere else.
 *
 * @returns {Record<string, string>}
 */
export function sourcesByName() {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  /** @type {[string, string | { default: string }][]} */
  const doors = Object.entries(manifest.exports);
  return Object.fromEntries(
    doors.flatMap(([path, target]) =>
      typeof target === "string" ? [] : [[`${manifest.name}${path.slice(1)}`, source(target.default)]],
    ),
  );
}

function source(/** @type {string} */ built) {
  return built.replace("./dist/", "src/").replace(/\.js$/, ".ts");
}
