import { drain } from "../../cluster/index.js";
import type { Input } from "../entry.js";
import type { Shell } from "../shell.js";
import { plain } from "../text.js";

/** `rath drain WORKER`: a worker gives back what it runs, and ends. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [worker = ""] = input.args;
  await drain(await shell.store(), worker);
  shell.tell({ worker, draining: true });
  shell.say(`${shell.bold(plain(worker))} returns its sessions to the queue, then stops.`);
  shell.hint("rath top");
}
