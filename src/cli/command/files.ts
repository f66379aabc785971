import { resolve } from "node:path";
import { FileError, filesAt } from "../../sandbox/index.js";
import type { FactId, Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { type Input, textOption } from "../entry.js";
import { withHint } from "../error.js";
import type { Shell } from "../shell.js";
import { placeAt } from "../step.js";
import { argument, count, plain } from "../text.js";
import { coloured } from "./diff.js";

/** `rath files SESSION`: the workspace as it was, without any sandbox. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const store = await shell.store();
  const reference = input.args[0] as string;
  const { id } = await shell.find(reference);
  const session = await store.load(await placeAt(store, id, textOption(input, "at")), {
    // Where files first came from may lie far back.
    ...(input.options.patch === true && { horizon: Number.POSITIVE_INFINITY }),
  });
  const path = textOption(input, "cat");
  if (path !== undefined) return printFile(shell, store, session.id, path, reference);
  const files = filesAt(session, store);
  if (input.options.patch === true) {
    const patch = await files.patchSince(withFirstFiles(session));
    shell.tell({ id: session.id, patch });
    if (!shell.json) await shell.write(coloured(shell, patch));
    return;
  }
  const to = textOption(input, "to");
  const paths = await files.paths();
  if (to !== undefined) {
    await files.checkout(resolve(to));
    shell.tell({ id: session.id, tree: await files.tree(), files: paths.length, to: resolve(to) });
    shell.say(`${count(paths.length, "file")} of ${shell.id(session.id)} are in ${to}.`);
    return;
  }
  shell.tell({ id: session.id, tree: await files.tree(), paths });
  if (paths.length === 0) shell.say("This session has no files.");
  else if (!shell.json) await shell.write(`${paths.map(plain).join("\n")}\n`);
  const word = argument(reference);
  if (paths.length > 0) shell.hint(`rath files ${word} --to FOLDER`, `rath files ${word} --patch`);
}

/** Prints a file of a session: to the byte for a program, and harmless on a terminal. */
export async function printFile(
  shell: Shell,
  store: Store,
  id: FactId,
  path: string,
  reference: string,
): Promise<void> {
  const bytes = await filesAt(await store.load(id), store)
    .read(path)
    .catch((error: unknown) => {
      throw error instanceof FileError
        ? withHint(error, `see which files there are: rath files ${argument(reference)}`)
        : error;
    });
  shell.tell({ id, path, size: bytes.length, base64: Buffer.from(bytes).toString("base64") });
  if (shell.json) return;
  if (shell.streams.stdout.isTTY === true) await shell.write(plain(Buffer.from(bytes).toString("utf8")));
  else shell.streams.stdout.write(bytes);
}

/** The session that files first came into. */
function withFirstFiles(session: Session): Session {
  for (const one of session.history())
    if (one.files.tree !== null) return one.fact.type === "workspace-import" ? one : (one.parents[0] ?? one);
  return session;
}
