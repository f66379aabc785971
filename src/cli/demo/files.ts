import { mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { RathError } from "../../session/index.js";
import { DEMO_AGAIN, DEMO_PROGRAM } from "../location.js";
import { quoted } from "../text.js";
import type { DemoSettings } from "./program.js";
import { writeRepository } from "./repository.js";

/** Makes a folder for a demonstration, which nobody else has: its number is the first that is free. */
export async function claimFolder(
  home: string,
  isTaken: (name: string) => Promise<boolean>,
): Promise<{ readonly name: string; readonly folder: string }> {
  for (let number = 1; ; number++) {
    const name = `demo-${number}`;
    if (await isTaken(name)) continue;
    const folder = join(home, name);
    try {
      mkdirSync(home, { recursive: true });
      mkdirSync(folder);
      return { name, folder };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "EEXIST" && number < 100_000) continue;
      throw unwritable(home, message, error);
    }
  }
}

export function unwritable(home: string, reason: string, cause: unknown): RathError {
  return new RathError("home-unwritable", `Cannot keep anything in ${home}: ${reason}.`, {
    hint: "say where instead: RATH_HOME=/another/folder rath demo",
    data: { home },
    cause,
  });
}

/** The repository, the program that repairs it, and another one for whoever goes on from the rejected patch. */
export function writeFiles(
  folder: string,
  settings: Omit<DemoSettings, "folder">,
): { readonly program: string; readonly again: string } {
  writeRepository(join(folder, "repo"));
  const program = join(folder, "program.mjs");
  const again = join(folder, "again.mjs");
  writeFileSync(program, programText(settings));
  writeFileSync(again, againText(settings.name));
  return { program, again };
}

function programText({ name, sandbox, endpoint }: Omit<DemoSettings, "folder">): string {
  const from = DEMO_PROGRAM.href;
  const given = { name, sandbox, ...(endpoint !== undefined && { endpoint }) };
  return `// The program that \`rath demo\` ran as ${name}. \`rath resume\`, \`rath replay\` and \`rath verify\` find it here.
import { demoProgram } from ${JSON.stringify(from)};

const { module, start, options } = await demoProgram({ ...${JSON.stringify(given)}, folder: new URL(".", import.meta.url) });

export default module; //          what is run: an agent, a workflow or a step
export { start, options }; //      what it begins with, and how the runtime is opened
export const again = "./again.mjs"; // what to run on a branch of it
`;
}

function againText(name: string): string {
  const from = DEMO_AGAIN.href;
  return `// Another repair, from the point where the first patch of ${name} was rejected:
//
//   rath fork ${name} --at ID --name second-try
//   rath run ${JSON.stringify("…/again.mjs")} --on second-try
//
// Change \`text\` and run it on another fork: the tests that decide are those of the demonstration, and they are real.
import { again } from ${JSON.stringify(from)};

/** Deals the cents out one by one, in the direction of the sign, until none is left. */
const text = \`import { amount, cents } from "./money.js";

/** Splits an amount among so many people: "10.00" among 4 is four times "2.50". */
export function split(total, people) {
  const all = cents(total);
  const each = Math.trunc(all / people);
  let left = Math.abs(all - each * people);
  return Array.from({ length: people }, () => amount(each + (left-- > 0 ? Math.sign(all) : 0)));
}
\`;

// What a scripted model does: one call, one closing sentence. Your own module may stand here instead:
//   import { agent } from "openrath"; export default agent({ name: "mine", model, tools });
export default again({ path: "src/split.js", text, says: "The cents that are left over are dealt out one by one, whatever the sign." });

/** What \`rath run\` says can be typed next; it is told the name of the session. */
export const next = (session) => [\`rath diff ${name} \${session}\`, \`rath verify \${session}\`];
`;
}

/** A path as people type it from where they are. */
export function shown(path: string): string {
  const near = relative(process.cwd(), path);
  return quoted(near === "" || near.startsWith("..") ? path : near);
}
