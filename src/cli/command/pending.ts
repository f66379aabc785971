import { type Waiting, waitingOf, waitingText } from "../awaited.js";
import type { Input } from "../entry.js";
import type { Shell } from "../shell.js";
import { plain, quoted } from "../text.js";

/** `rath pending [SESSION]`: what one run waits for, or all of them. */
export async function run(shell: Shell, input: Input): Promise<number> {
  const [reference] = input.args;
  const rath = await shell.rath();
  const waiting: Waiting[] = [];
  if (reference === undefined) {
    for (const { name, waiting: waits } of await rath.unfinished())
      if (waits) waiting.push(...waitingOf(name, await rath.pending(name)));
  } else {
    const { id, name } = await shell.find(reference);
    waiting.push(...waitingOf(name ?? reference, await rath.pending(name ?? id)));
  }
  shell.tell(waiting);
  if (waiting.length === 0) {
    shell.say(
      reference === undefined ? "Nothing waits for anybody." : `${plain(reference)} waits for nobody.`,
    );
    shell.hint(reference === undefined ? "rath list" : `rath show ${quoted(plain(reference))}`);
  }
  let last: string | undefined;
  for (const one of waiting) {
    if (one.session !== last) shell.say(`${last === undefined ? "" : "\n"}${shell.bold(plain(one.session))}`);
    last = one.session;
    shell.say(waitingText(shell, one));
  }
  return 0;
}
