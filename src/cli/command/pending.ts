import { type Waiting, waitingOf, waitingText } from "../awaited.js";
import type { Input } from "../entry.js";
import type { Shell } from "../shell.js";
import { argument, plain } from "../text.js";
import { isKeptByRuntime, newestOf } from "./list.js";

/** `rath pending [SESSION]`: what one run waits for, or all of them. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [reference] = input.args;
  const rath = await shell.rath();
  const waiting: Waiting[] = [];
  if (reference === undefined) {
    const unfinished = await rath.unfinished();
    for (const { name, waiting: waits } of unfinished)
      if (waits) waiting.push(...waitingOf(name, await rath.pending(name)));
    // Sessions of other systems wait too, and are not runs of this runtime.
    const store = await shell.store();
    const runs = new Set(unfinished.map(({ name }) => name));
    for (const { name, id } of await store.names())
      if (!isKeptByRuntime(name) && !runs.has(name) && (await newestOf(store, id)).status === "waiting")
        waiting.push(...waitingOf(name, await rath.pending(name)));
  } else {
    const { id, name } = await shell.find(reference);
    waiting.push(...waitingOf(name ?? reference, await rath.pending(name ?? id)));
  }
  shell.tell(waiting);
  if (waiting.length === 0) {
    shell.say(
      reference === undefined ? "Nothing waits for anybody." : `${plain(reference)} waits for nobody.`,
    );
    shell.hint(reference === undefined ? "rath list" : `rath show ${argument(reference)}`);
  }
  let last: string | undefined;
  for (const one of waiting) {
    if (one.session !== last) shell.say(`${last === undefined ? "" : "\n"}${shell.bold(plain(one.session))}`);
    last = one.session;
    shell.say(waitingText(shell, one));
  }
}
