import { KeyRing, releaseUnnamed } from "../../evidence/proof/index.js";
import { RathError } from "../../session/index.js";
import { type Input, textOption, textsOption } from "../entry.js";
import { UsageError } from "../error.js";
import type { Shell } from "../shell.js";
import { count } from "../text.js";
import { logOf } from "./checkpoint.js";

/** `rath gc`: removes what no name leads to. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const store = await shell.store();
  const dryRun = input.options.dryRun === true;
  const forget = textsOption(input, "forget");
  // A mistyped name is refused before anything is removed.
  for (const name of forget) {
    const found = await shell.find(name);
    if (found.name === undefined)
      throw new UsageError(
        `${name} is not a name, and only names can be forgotten.`,
        "list the names: rath list",
      );
  }
  const log = logOf(shell);
  const why = textOption(input, "release");
  if (
    !dryRun &&
    log.exists &&
    why === undefined &&
    (forget.length > 0 || (await store.gc({ dryRun: true })).facts > 0)
  )
    // Facts of a checkpoint that are gone look like a theft, and may be one: somebody has to say that they are given up.
    throw new RathError("facts-signed", "Cannot remove facts: a checkpoint of this store covers them.", {
      hint: "check the store first: rath verify; then release the facts with a reason: rath gc --release WHY",
    });
  if (!dryRun) for (const name of forget) await store.forget(name);
  const released =
    dryRun || why === undefined || !log.exists
      ? 0
      : await releaseUnnamed(store, log, new KeyRing(shell.config).signer(), { by: shell.person, why });
  const collected = await store.gc({ dryRun });
  shell.tell({ dryRun, forgotten: dryRun ? [] : forget, released, ...collected });
  const { facts, blobs, keptFacts, keptBlobs, spared } = collected;
  shell.say(
    `${dryRun ? "Would remove" : "Removed"} ${count(facts, "fact")} and ${count(blobs, "blob")}; ${count(keptFacts, "fact")} and ${count(keptBlobs, "blob")} stay.`,
  );
  if (released > 0) shell.say(`${count(released, "fact")} of a checkpoint released; the release is signed.`);
  if (spared > 0)
    shell.say(
      `${count(spared, "blob")} without a reference are less than a day old, and are kept until tomorrow.`,
    );
  if (dryRun && forget.length > 0)
    shell.say(
      `Facts that only ${forget.join(", ")} reaches are not counted: a dry run does not remove names.`,
    );
}
