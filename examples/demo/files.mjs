// @ts-check
// The files that a demonstration leaves: the repository, the program, a second program for a fork, and those for the studio.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RathError } from "openrath";
import { writeRepository } from "./project.mjs";

/**
 * Makes a new folder for a demonstration: `demo-1`, or the first number that is free.
 *
 * @param {string} home
 * @param {import("openrath/store").Store} store
 */
export async function claimFolder(home, store) {
  for (let number = 1; ; number++) {
    const name = `demo-${number}`;
    if ((await store.head(name)) !== undefined) continue;
    const folder = join(home, name);
    try {
      mkdirSync(folder);
      return { name, folder };
    } catch (error) {
      if (Object(error).code === "EEXIST" && number < 100_000) continue;
      throw unwritable(home, error);
    }
  }
}

/** Makes the folder of all demonstrations. */
export function makeHome(/** @type {string} */ home) {
  try {
    mkdirSync(home, { recursive: true });
  } catch (error) {
    throw unwritable(home, error);
  }
}

/**
 * @param {string} home
 * @param {unknown} cause
 */
function unwritable(home, cause) {
  const { message } = /** @type {Error} */ (cause);
  return new RathError("home-unwritable", `Cannot keep anything in ${home}: ${message}.`, {
    hint: "say where instead: RATH_HOME=/another/folder rath demo",
    data: { home },
    cause,
  });
}

/**
 * Writes the repository, the program that repairs it, another program for a fork at the rejected patch, and one for the studio.
 *
 * @param {string} folder
 * @param {import("./program.mjs").Settings} settings
 */
export function writeFiles(folder, settings) {
  writeRepository(join(folder, "repo"));
  const program = join(folder, "program.mjs");
  const again = join(folder, "again.mjs");
  writeFileSync(program, programText(settings));
  writeFileSync(again, againText(settings.name));
  const studio = join(folder, "studio.mjs");
  writeFileSync(studio, studioText());
  return { program, again, studio };
}

/** @param {import("./program.mjs").Settings} settings */
function programText(settings) {
  const { href } = new URL("program.mjs", import.meta.url);
  return `// The program that \`rath demo\` ran as ${settings.name}. \`rath resume\`, \`rath replay\` and \`rath verify\` find it here.
import { demoProgram } from ${JSON.stringify(href)};

const { module, start, options } = await demoProgram({ ...${JSON.stringify(settings)}, folder: new URL(".", import.meta.url) });

export default module; //          what to run: an agent, a workflow or a step
export { start, options }; //      the beginning of the session, and the options of the runtime
export const again = "./again.mjs"; // the program to run on a branch
`;
}

function againText(/** @type {string} */ name) {
  const { href } = new URL("again.mjs", import.meta.url);
  return `// Another repair, from the point where the first patch of ${name} was rejected:
//
//   rath fork ${name} --at ID --name second-try
//   rath run ${JSON.stringify("…/again.mjs")} --on second-try
//
// Change \`text\` and run it on another fork: the same tests decide as in the demonstration, and they are real.
import { again } from ${JSON.stringify(href)};

/** Deals the remaining cents out one by one, in the direction of the sign. */
const text = \`import { amount, cents } from "./money.js";

/** Splits an amount among so many people: "10.00" among 4 is four times "2.50". */
export function split(total, people) {
  const all = cents(total);
  const each = Math.trunc(all / people);
  let left = Math.abs(all - each * people);
  return Array.from({ length: people }, () => amount(each + (left-- > 0 ? Math.sign(all) : 0)));
}
\`;

// The scripted model makes one call and says one closing sentence. Your own module may stand here instead:
//   import { agent } from "openrath"; export default agent({ name: "mine", model, tools });
export const patch = { path: "src/split.js", text, says: "The cents that are left over are dealt out one by one, whatever the sign." };
export default again(patch);

/** The commands that \`rath run\` suggests afterwards, for the name of the session. */
export const next = (session) => [\`rath diff ${name} \${session}\`, \`rath verify \${session}\`];
`;
}

function studioText() {
  const { href } = new URL("again.mjs", import.meta.url);
  return `// The programs that the page of \`rath studio --modules\` can run: another repair, whose file a person sees before it is
// written, and the demonstration itself.
import { again } from ${JSON.stringify(href)};
import { patch } from "./again.mjs";
import repair, { options } from "./program.mjs";

export const another = again({ ...patch, asks: true });
export { options, repair };
`;
}
