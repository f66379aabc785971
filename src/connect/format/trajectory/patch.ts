import { filesAt, patchOf, Trees } from "../../../sandbox/index.js";
import { type Digest, EMPTY_TREE, RathError, type Session } from "../../../session/index.js";
import type { Store } from "../../../store/index.js";
import { ExportError } from "../exchange.js";
import type { Lines, Told } from "./line.js";

/** The change of a session to the files that it began with. */
export type Accepted = {
  readonly before: Digest;
  readonly after: Digest;
  readonly trees: Trees;
  readonly patch: string;
};

/** The patch from the first files of the line to the present ones; undefined without files or changes. */
export async function acceptedIn(
  format: string,
  head: Session,
  main: readonly Told[],
  store: Store,
): Promise<Accepted | undefined> {
  const before = firstTree(main);
  if (before === undefined || head.files.tree === null) return undefined;
  const trees = new Trees(store);
  try {
    const after = await filesAt(head, trees).tree();
    if (after === before) return undefined;
    return { before, after, trees, patch: await patchOf(trees, before, after) };
  } catch (error) {
    if (!(error instanceof RathError)) throw error;
    const [reason = ""] = error.message.split("\n");
    throw new ExportError(format, head.id, `its files cannot be told (${reason})`, error.hint, error);
  }
}

/** The same for formats that are about the patch; `least` is how many characters it must have. */
export async function requireAccepted(
  format: string,
  { head, main }: Lines,
  store: Store,
  least = 0,
): Promise<Accepted> {
  const accepted = await acceptedIn(format, head, main, store);
  if (accepted !== undefined && accepted.patch.length >= least) return accepted;
  throw new ExportError(
    format,
    head.id,
    "it has no accepted patch: it never had files, or they are as they were",
    'give the session files before it works on them: session.to("local", { workspace: "./repo" })',
  );
}

function firstTree(main: readonly Told[]): Digest | undefined {
  for (const { fact } of main) {
    if (fact.type === "workspace-import") return fact.after;
    if (fact.type === "session-detach" && fact.tree !== undefined) return fact.tree;
    if (fact.type === "workspace-change") return fact.before ?? EMPTY_TREE;
    if (fact.type === "workspace-merge") return fact.base ?? EMPTY_TREE;
  }
  return undefined;
}
