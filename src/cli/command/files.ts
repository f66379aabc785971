import { resolve } from "node:path";
import { filesAt } from "../../sandbox/index.js";
import type { Session } from "../../session/index.js";
import { type Input, textOption } from "../entry.js";
import type { Shell } from "../shell.js";
import { placeAt } from "../step.js";
import { count, plain } from "../text.js";
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
  const files = filesAt(session, store);
  const path = textOption(input, "cat");
  if (path !== undefined) {
    const bytes = await files.read(path);
    shell.tell({ path, size: bytes.length, base64: Buffer.from(bytes).toString("base64") });
    if (!shell.json) shell.streams.stdout.write(bytes);
    return;
  }
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
  if (paths.length > 0) shell.hint(`rath files ${reference} --to FOLDER`, `rath files ${reference} --patch`);
}

/** The session that files first came into. */
function withFirstFiles(session: Session): Session {
  for (const one of session.history())
    if (one.files.tree !== null) return one.fact.type === "workspace-import" ? one : (one.parents[0] ?? one);
  return session;
}
