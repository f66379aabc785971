// @ts-check
// Pages of a large store, each asked of a process of its own that has only opened it: what it costs is its own.
import { fork } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "../measure.mjs";

const ROUNDS = 5;

/** @param {string} folder @param {(text: string) => void} progress @param {number} facts @param {number} sessions */
export async function measureReads(folder, progress, facts, sessions) {
  const path = join(folder, "store.db");
  const isThere = existsSync(path);
  if (!isThere)
    progress(`writing ${facts.toLocaleString("en")} facts and ${sessions.toLocaleString("en")} sessions`);
  const written = isThere ? {} : await processOf("write-store.mjs", [path, `${facts}`, `${sessions}`]);
  /** @type {{ [figure: string]: number }} */
  const figures = { facts, sessions, ...written };
  for (const kind of ["list", "changed", "facts", "middle", "filtered", "merged", "search", "sessions"]) {
    progress(`pages: ${kind}`);
    const asked = [];
    for (let round = 0; round < ROUNDS; round++) asked.push(await processOf("read-page.mjs", [path, kind]));
    const [key, unit] = KEYS[kind] ?? [`${kind}_page_ms`, ""];
    figures[key] = median(asked.map(({ ms }) => ms));
    figures[`${key.replace(/_ms.*/, "")}${unit}_cpu_ms`] = Math.max(...asked.map(({ cpu_ms }) => cpu_ms));
    figures[`${key.replace(/_ms.*/, "")}${unit}_mb`] = Math.max(...asked.map(({ mb }) => mb));
  }
  return figures;
}

/** The keys of the pages that have limits. @type {{ [kind: string]: readonly [string, string] }} */
const KEYS = {
  list: ["list_ms_100k", "_100k"],
  facts: ["facts_page_ms_1m", "_1m"],
  search: ["search_ms_1m", "_1m"],
};

/** @param {string} file @param {readonly string[]} args @returns {Promise<any>} */
function processOf(file, args) {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(new URL(`./${file}`, import.meta.url)), args, {
      execArgv: ["--expose-gc"],
    });
    child.once("message", resolve);
    child.once("error", reject);
    child.once("exit", (code) => code !== 0 && reject(new Error(`${file} failed with exit code ${code}`)));
  });
}
