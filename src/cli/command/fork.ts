import { freeName, type Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { byOption, type Input, textOption } from "../entry.js";
import { UsageError } from "../error.js";
import type { Shell } from "../shell.js";
import { placeAt } from "../step.js";
import { argument, describe } from "../text.js";
import { requireNewName } from "./list.js";

/** `rath fork SESSION`: a branch from any point, under a name of its own. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const store = await shell.store();
  const reference = input.args[0] as string;
  const found = await shell.find(reference);
  const at = await placeAt(store, found.id, textOption(input, "at"));
  const name = textOption(input, "name") ?? (await freeForkName(store, found.name ?? reference));
  requireNewName(name);
  if (name === "" || name.startsWith("-") || textOption(input, "branch") === "")
    throw new UsageError(
      "A name must have at least one character and must not begin with a dash.",
      "rath fork SESSION --name second-try",
    );
  const point = await store.load(at);
  const session = point.fork(textOption(input, "branch") ?? name, {
    by: byOption(shell, input),
    ...defined({ why: textOption(input, "why") }),
  });
  await store.save(session, { name, expect: null });
  shell.tell({ name, id: session.id, branch: session.branch, at, from: found.name ?? found.id });
  shell.say(
    `${shell.bold(name)} ${shell.id(session.id)} goes on from ${shell.id(at)}: ${describe(point.fact, 80)}`,
  );
  if (shell.json || shell.quiet) return;
  const { nextOf } = await import("../program-note.js");
  shell.hint(
    ...(await nextOf(store, point, name)),
    `rath diff ${argument(found.name ?? reference)} ${argument(name)}`,
  );
}

function freeForkName(store: Store, base: string): Promise<string> {
  const stem = `${base.replaceAll(/[~@].*$/gs, "")}-fork`;
  return freeName(store, stem, `${stem}-1`);
}
