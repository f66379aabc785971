import {
  type Digest,
  type FactId,
  type FactType,
  goesOnFrom,
  type PathChange,
  type Principal,
  type Session,
} from "../../session/index.js";
import { namesOf } from "../path.js";
import type { Trees } from "../trees.js";
import { isSame } from "./diff.js";
import { entryAt } from "./entries.js";

/** A fact that changed a path. */
export type ChangedBy = {
  readonly id: FactId;
  readonly type: FactType;
  readonly change: PathChange["change"];
  readonly at: string;
  readonly by: Principal;
  /** The call that did it. */
  readonly of?: FactId;
};

export type WhoChangedOptions = {
  /** With the trees, imports are looked into, too: they name no paths. */
  readonly trees?: Trees;
  /** How many to look for, at most; a past that is not loaded is an error only when it is reached. */
  readonly limit?: number;
};

/**
 * Which facts changed a path, or anything below it, newest first. Branches count that were merged, and not those whose
 * files were left aside.
 */
export async function whoChanged(
  session: Session,
  path: string,
  { trees, limit = Number.POSITIVE_INFINITY }: WhoChangedOptions = {},
): Promise<readonly ChangedBy[]> {
  const wanted = namesOf(path).join("/");
  const found: ChangedBy[] = [];
  const seen = new Set<FactId>();
  const open = [session];
  while (open.length > 0 && found.length < limit) {
    const node = newest(open);
    const { id, fact } = node;
    if (seen.has(id)) continue;
    seen.add(id);
    const change = pathsOf(node, wanted) ?? (trees && (await arrival(trees, node, wanted)));
    if (change !== undefined) {
      const of = "of" in fact && typeof fact.of === "string" ? fact.of : undefined;
      found.push({ id, type: fact.type, change, at: fact.at, by: fact.by, ...(of !== undefined && { of }) });
    }
    if (found.length < limit) open.push(...takenParents(node));
  }
  return found;
}

/** Takes out the deepest: nothing that is still to come can be newer. */
function newest(open: Session[]): Session {
  let best = 0;
  open.forEach((node, place) => {
    if (node.depth > (open[best] as Session).depth) best = place;
  });
  return open.splice(best, 1)[0] as Session;
}

/** The parents whose files are in the files of a session. */
function takenParents(session: Session): readonly Session[] {
  const { fact, parents } = session;
  if (fact.type === "branch-merge" && fact.adopt === "both") return parents;
  const taken = goesOnFrom(session);
  return taken === undefined ? [] : [taken];
}

function pathsOf({ fact }: Session, path: string): PathChange["change"] | undefined {
  if (
    fact.type !== "workspace-change" &&
    fact.type !== "workspace-merge" &&
    fact.type !== "workspace-resolve"
  )
    return undefined;
  // A list that was erased, or that did not come along, names no path.
  if (!Array.isArray(fact.paths)) return undefined;
  const exact = fact.paths.find((one) => one.path === path);
  if (exact !== undefined) return exact.change;
  return path === "" || fact.paths.some((one) => one.path.startsWith(`${path}/`)) ? "modify" : undefined;
}

/** What an import, or a root that began with files, did to a path. */
async function arrival(trees: Trees, node: Session, path: string): Promise<PathChange["change"] | undefined> {
  const { fact } = node;
  if (fact.type !== "workspace-import" && fact.type !== "session-detach") return undefined;
  const before: Digest | null = node.parents[0]?.files.tree ?? null;
  const after = fact.type === "workspace-import" ? fact.after : (fact.tree ?? null);
  const [old, now] = [await entryAt(trees, before, path), await entryAt(trees, after, path)];
  if (old === undefined) return now === undefined ? undefined : "add";
  if (now === undefined) return "delete";
  return isSame(old, now) ? undefined : "modify";
}
