import { pause, unpause } from "../../cluster/index.js";
import type { Input } from "../entry.js";
import type { Shell } from "../shell.js";
import { argument, plain } from "../text.js";

/** `rath pause NAME`: a submitted session rests at its next effect; with --off it goes on. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [name = ""] = input.args;
  const isOff = input.options.off === true;
  await (isOff ? unpause : pause)(await shell.store(), name);
  shell.tell({ name, paused: !isOff });
  shell.say(`${shell.bold(plain(name))} ${isOff ? "continues" : "is paused"}.`);
  shell.hint(isOff ? "rath top" : `rath pause ${argument(name)} --off`);
}
