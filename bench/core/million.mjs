// @ts-check
// A session of a million facts: writing it, opening it, and two steps on it, each by a process of its own, so that its time and
// its memory are its own. `--facts 100000` takes seconds.
import { fork } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "../measure.mjs";

/** @param {string} folder @param {(text: string) => void} progress @param {number} facts */
export async function measureLong(folder, progress, facts) {
  const path = join(folder, "long.db");
  const [few, many] = [facts / 10, facts].map((count) => count.toLocaleString("en"));
  progress(`writing a session of ${few} facts`);
  const { cpu_ms: tenth } = await processOf("write-long", [`${path}.tenth`, `${Math.round(facts / 10)}`]);
  progress(`writing a session of ${many} facts`);
  const { cpu_ms: whole } = await processOf("write-long", [path, `${facts}`]);
  progress("opening it");
  const opened = await rounds(7, () => processOf("open-long", [path]));
  progress("two steps on it");
  const ran = await rounds(5, () => processOf("run-long", [path]));
  return {
    open_1m_facts: facts,
    million_write_cpu_ms: whole,
    million_write_ratio: whole / tenth,
    open_1m_ms: median(opened.map(({ ms }) => ms)),
    open_1m_rss_mb: median(opened.map(({ rss }) => rss)),
    million_run_cpu_ms: median(ran.map(({ cpu_ms }) => cpu_ms)),
    million_run_heap_mb: median(ran.map(({ heap_mb }) => heap_mb)),
  };
}

/** What a file of this folder measures, as it says itself. @param {string} name @param {readonly string[]} args @returns {Promise<any>} */
function processOf(name, args) {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(new URL(`./${name}.mjs`, import.meta.url)), args, {
      execArgv: ["--expose-gc"],
    });
    child.once("message", resolve);
    child.once("error", reject);
    child.once("exit", (code) => code !== 0 && reject(new Error(`${name} failed with exit code ${code}`)));
  });
}

/** @template Result @param {number} count @param {() => Promise<Result>} measure */
async function rounds(count, measure) {
  const results = [];
  for (let round = 0; round < count; round++) results.push(await measure());
  return results;
}
