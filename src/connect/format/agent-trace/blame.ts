import { isUtf8 } from "node:buffer";
import { changedLines, entryAt, linesOf, type Trees, whoChanged } from "../../../sandbox/index.js";
import type { Digest, FactId, Session } from "../../../session/index.js";
import type { Told } from "../trajectory/line.js";

/** The files of a line after each change, and the session that made it. */
export type Version = { readonly tree: Digest; readonly session: Session };

/** Lines of a file that one fact put there, counted from 1. */
export type Stretch = {
  readonly from: number;
  readonly to: number;
  readonly text: string;
  readonly by: FactId;
};

/** Every state of the files on a line, oldest first, and the one that it came to. */
export function versionsOf(main: readonly Told[], head: Session, after: Digest): readonly Version[] {
  const versions: Version[] = [];
  for (const { session } of main) {
    const { tree } = session.files;
    if (tree !== null && tree !== versions.at(-1)?.tree) versions.push({ tree, session });
  }
  return versions.at(-1)?.tree === after ? versions : [...versions, { tree: after, session: head }];
}

/** Which facts put the lines of a file there that were not in it before; undefined when it is no text. */
export async function blamed(
  trees: Trees,
  path: string,
  before: Digest,
  versions: readonly Version[],
): Promise<readonly Stretch[] | undefined> {
  let lines = linesOf((await textAt(trees, before, path)) ?? "");
  let owners: (FactId | undefined)[] = lines.map(() => undefined);
  let last = await digestAt(trees, before, path);
  for (const { tree, session } of versions) {
    const digest = await digestAt(trees, tree, path);
    if (digest === last) continue;
    last = digest;
    const text = digest === undefined ? "" : await textAt(trees, tree, path);
    if (text === undefined) return undefined;
    const next = linesOf(text);
    const by = await ownerOf(session, path);
    const fresh: (FactId | undefined)[] = [];
    let at = 0;
    for (const change of changedLines(lines, next)) {
      fresh.push(...owners.slice(at, change.at), ...new Array<FactId>(change.newCount).fill(by));
      at = change.at + change.count;
    }
    owners = [...fresh, ...owners.slice(at)];
    lines = next;
  }
  return stretches(lines, owners);
}

function stretches(lines: readonly string[], owners: readonly (FactId | undefined)[]): readonly Stretch[] {
  const found: { from: number; to: number; text: string; by: FactId }[] = [];
  for (const [place, by] of owners.entries()) {
    if (by === undefined) continue;
    const open = found.at(-1);
    if (open?.by === by && open.to === place) {
      open.to = place + 1;
      open.text += lines[place] ?? "";
    } else found.push({ from: place + 1, to: place + 1, text: lines[place] ?? "", by });
  }
  return found;
}

/** The change itself, where files came in through a merge. */
async function ownerOf(session: Session, path: string): Promise<FactId> {
  if (session.fact.type === "workspace-change") return session.id;
  const changed = await whoChanged(session, path, { limit: 8 });
  return (changed.find(({ type }) => type === "workspace-change") ?? changed[0] ?? session).id;
}

async function digestAt(trees: Trees, tree: Digest, path: string): Promise<string | undefined> {
  const entry = await entryAt(trees, tree, path);
  return entry === undefined || entry.kind === "link" || entry.kind === "tree" ? undefined : entry.digest;
}

async function textAt(trees: Trees, tree: Digest, path: string): Promise<string | undefined> {
  const entry = await entryAt(trees, tree, path);
  if (entry?.kind !== "file") return entry === undefined ? "" : undefined;
  const bytes = await trees.blob(entry.digest);
  return isUtf8(bytes) && !bytes.includes(0) ? Buffer.from(bytes).toString("utf8") : undefined;
}
