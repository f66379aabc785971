import { move } from "../../cluster/index.js";
import type { Input } from "../entry.js";
import type { Shell } from "../shell.js";
import { plain } from "../text.js";

/** `rath move NAME WORKER`: a submitted session goes on at this worker. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [name = "", worker = ""] = input.args;
  await move(await shell.store(), name, worker);
  shell.tell({ name, worker });
  shell.say(`${shell.bold(plain(name))} continues on ${plain(worker)}.`);
  shell.hint("rath top");
}
