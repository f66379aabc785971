import { recordedRun } from "../../runtime/index.js";
import { isKeptByRuntime } from "../../store/index.js";
import { typedWaiting, type Waiting, waitingOf, waitingText } from "../awaited.js";
import type { Input } from "../entry.js";
import { resumeCommand } from "../program-note.js";
import type { Shell } from "../shell.js";
import { argument, plain } from "../text.js";
import { newestOf } from "./list.js";

/** `rath pending [SESSION]`: what one run waits for, or all of them. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [reference] = input.args;
  const rath = await shell.rath();
  const store = await shell.store();
  const waiting: Waiting[] = [];
  const others: string[] = [];
  const add = async (name: string, ref = name): Promise<void> => {
    const rows = waitingOf(name, await rath.pending(ref), await resumeCommand(shell, name), shell.person);
    // Only a run takes answers: a fork of one that waits, or a session of another system, does not.
    const isRun = (await recordedRun(store, ref)) !== undefined;
    waiting.push(...(isRun ? rows : rows.map((row) => ({ ...row, commands: [] }))));
    if (!isRun && rows.length > 0) others.push(name);
  };
  if (reference === undefined) {
    const unfinished = await rath.unfinished();
    for (const { name, waiting: waits } of unfinished) if (waits) await add(name);
    // Sessions of other systems wait too, and are not runs of this runtime.
    const runs = new Set(unfinished.map(({ name }) => name));
    for (const { name, id } of await store.names())
      if (!isKeptByRuntime(name) && !runs.has(name) && (await newestOf(store, id)).status === "waiting")
        await add(name);
  } else {
    const { id, name } = await shell.find(reference);
    await add(name ?? reference, name ?? id);
  }
  shell.tell(typedWaiting(shell, waiting));
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
  for (const name of others) {
    shell.say(
      `${shell.bold(plain(name))} was not made by a run of this store: answer the run that it comes from.`,
    );
    shell.hint(`rath log ${argument(name)}`);
  }
}
