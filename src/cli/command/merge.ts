import type { Rath } from "../../runtime/index.js";
import { UnmergedFilesError } from "../../sandbox/index.js";
import { graph, RathError, type Session } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { mergeFiles } from "../../workflow/index.js";
import { byOption, type Input, textOption } from "../entry.js";
import { UsageError } from "../error.js";
import type { Shell } from "../shell.js";
import { argument, count, plain } from "../text.js";
import { requireNewName } from "./list.js";

/** Files that do not come together are said before anything is recorded: the name stays where it is. */
async function requireMergeable(rath: Rath, merged: Session, sides: readonly string[]): Promise<void> {
  try {
    await (await rath.filesAt(merged)).tree();
  } catch (error) {
    if (!(error instanceof UnmergedFilesError)) throw error;
    throw new RathError(
      "files-conflict",
      `Cannot merge ${sides.join(" and ")}: both changed the same files.`,
      {
        hint: `choose a side with --resolve ours (or theirs); to compare them: rath diff ${sides.map(argument).join(" ")} --files`,
        data: error.data,
        cause: error,
      },
    );
  }
}

/** `rath merge A B`: conversation and evidence come together, and then the files. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [ours, theirs] = await Promise.all(input.args.map((reference) => shell.find(reference)));
  if (ours === undefined || theirs === undefined) throw new TypeError("merge takes two sessions");
  const rath = await shell.rath();
  const store = await shell.store();
  const resolve = textOption(input, "resolve") as "ours" | "theirs" | undefined;
  const by = byOption(shell, input);
  const adopt = (textOption(input, "adopt") ?? "both") as "ours" | "theirs" | "both" | "none";
  if (adopt !== "both" && resolve !== undefined)
    throw new UsageError(
      adopt === "none"
        ? "With --adopt none the files of the trunk stay, and there is nothing to resolve."
        : `With --adopt ${adopt} the files of that side stay as they are, and there is nothing to resolve.`,
      "leave --adopt out to merge both sides, or leave --resolve out to take one side",
    );
  const whole = { horizon: Number.POSITIVE_INFINITY };
  const sides = [await store.load(ours.id, whole), await store.load(theirs.id, whole)] as const;
  const merged = sides[0].merge(sides[1], {
    adopt,
    by,
    ...defined({ why: textOption(input, "why") }),
  });
  const [waiting] = sides.filter(({ pending }) => pending.length > 0);
  if (waiting !== undefined) {
    const one = input.args[waiting === sides[0] ? 0 : 1] as string;
    throw new RathError(
      "work-pending",
      `Cannot merge ${plain(one)}: it waits for ${waiting.pending[0]?.what}.`,
      {
        hint: `see what it waits for: npx rath pending ${argument(one)}`,
        data: { session: waiting.id },
      },
    );
  }
  const name = textOption(input, "name") ?? ours.name ?? `merge-${merged.id.slice(0, 8)}`;
  // Onto a name that is there, whatever it looks like, it may go on.
  if (name !== ours.name) requireNewName(name);
  // Branches without files have nothing to bring together, and need no run.
  const hasFiles = sides.some((side) => side.files.tree !== null);
  if (hasFiles && resolve === undefined) await requireMergeable(rath, merged, input.args);
  const session = hasFiles
    ? await rath.run(mergeFiles(resolve === undefined ? {} : { resolve }), merged, { name, by })
    : merged;
  if (!hasFiles) await store.save(session, { name });
  const branches = graph(session).nodes.filter(({ kind }) => kind === "fork").length;
  shell.tell({ name, id: session.id, ours: ours.id, theirs: theirs.id });
  const went =
    adopt === "both"
      ? "goes on with the conversation and the files of both"
      : adopt === "none"
        ? "gathers both sides without preferring one; the trunk that they forked from goes on"
        : `goes on with the conversation and the files of ${plain(input.args[adopt === "ours" ? 0 : 1] as string)}; the other side stays as evidence`;
  shell.say(
    `${shell.bold(name)} ${shell.id(session.id)} ${went} (${count(branches, "fork")} in its history).`,
  );
  shell.hint(`rath log ${argument(name)}`, `rath verify ${argument(name)}`);
}
