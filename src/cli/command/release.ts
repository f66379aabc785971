import { release } from "../../cluster/index.js";
import type { Input } from "../entry.js";
import type { Shell } from "../shell.js";
import { count, plain } from "../text.js";

/** `rath release GATE SESSION`: the sessions behind a gate begin. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [gate = "", session = ""] = input.args;
  const released = await release(await shell.store(), gate, session, shell.person);
  shell.tell({ gate, released });
  shell.say(`The gate ${shell.bold(plain(gate))} is open. ${count(released, "session")} waited behind it.`);
  shell.hint("rath top");
}
