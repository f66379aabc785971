import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  CheckpointLog,
  CheckpointMemory,
  KeyRing,
  releaseUnnamed,
  takeCheckpoint,
} from "../../evidence/proof/index.js";
import { byOption, type Input, textOption } from "../entry.js";
import type { Shell } from "../shell.js";
import { count } from "../text.js";

/** `rath checkpoint`: adds what is new to the log of the store, and signs it. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const key = new KeyRing(shell.config).signer(textOption(input, "sign"));
  const log = logOf(shell);
  const memory = new CheckpointMemory(shell.config);
  const home = homeOf(shell);
  const store = await shell.store();
  const why = textOption(input, "release");
  const released =
    why === undefined ? 0 : await releaseUnnamed(store, log, key, { by: byOption(shell, input), why });
  const origin = log.read().newest?.origin;
  const seen = memory
    .of(home, origin, store.identity)
    .flatMap((one) => ("checkpoint" in one ? [one.checkpoint] : []));
  const { checkpoint, added, mended } = await takeCheckpoint(store, log, key, {
    seen,
    progress: shell.reading("facts"),
  });
  shell.clear();
  memory.keep(home, checkpoint, store.identity);
  const output = textOption(input, "output");
  if (output !== undefined) writeFileSync(output, checkpoint.text);
  const { size, root } = checkpoint;
  shell.tell({
    origin: checkpoint.origin,
    size,
    root: root.toString("hex"),
    added,
    released,
    mended,
    key: key.label,
    note: checkpoint.text,
    ...(output !== undefined && { file: output }),
  });
  for (const one of mended) shell.say(`repaired: ${one}`);
  if (released > 0) shell.say(`${count(released, "fact")} released: ${why}`);
  shell.say(
    added === 0
      ? `Nothing new: the checkpoint of ${count(size, "fact")} is still the newest.`
      : `${count(size, "fact")} are signed with ${shell.bold(key.label)}, ${added.toLocaleString("en")} of them new.`,
  );
  shell.hint("rath verify", "rath checkpoint -o FILE  # and keep the file elsewhere");
}

/** The log lies beside the store of the home; that of another store, beside that. */
export function logOf(shell: Shell): CheckpointLog {
  return new CheckpointLog(join(homeOf(shell), "log"));
}

/** The folder that a store and its log are in. */
export function homeOf(shell: Shell): string {
  const { path } = shell;
  if (path === undefined || resolve(path) === resolve(shell.home, "rath.db")) return shell.home;
  return `${resolve(path)}-evidence`;
}
