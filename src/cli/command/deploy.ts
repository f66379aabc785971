import { versions } from "../../cluster/index.js";
import { digestOfModule } from "../../runtime/index.js";
import type { Input } from "../entry.js";
import { loadModules } from "../modules.js";
import type { Shell } from "../shell.js";
import { plain } from "../text.js";

/** `rath deploy [FILE…]`: the versions of modules that unfinished sessions need, and who has them. */
export async function run(shell: Shell, input: Input): Promise<number> {
  const store = await shell.store();
  const files = await Promise.all(input.args.map((file) => loadModules(file, shell.url)));
  const now = new Map(
    files.flatMap(({ modules }) =>
      Object.values(modules).map((one) => [one.name, digestOfModule(one)] as const),
    ),
  );
  const found = (await versions(store)).map((one) => ({
    ...one,
    ...(now.has(one.module) && { old: now.get(one.module) !== one.version }),
  }));
  shell.tell(found);
  if (found.length === 0) shell.say("No submitted session is unfinished.");
  for (const { module, version, sessions, workers, old } of found) {
    const mark = old === true ? shell.yellow(" (another version than in the file)") : "";
    const where = workers.length === 0 ? shell.red("no worker has it") : workers.join(", ");
    shell.say(
      `${shell.bold(plain(module))} ${version.slice(0, 12)}${mark}  ${sessions} unfinished  ${where}`,
    );
  }
  // A deployment waits until nothing needs the old program: its workers may end then.
  return found.some(({ old, workers }) => old === true && workers.length === 0) ? 1 : 0;
}
