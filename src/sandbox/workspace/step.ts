import type {
  Digest,
  Fact,
  FactId,
  FactType,
  Json,
  PathChange,
  Principal,
  Session,
} from "../../session/index.js";
import { goesOnFrom, Withheld } from "../../session/index.js";
import { namesOf } from "../path.js";
import type { Trees } from "../trees.js";
import { conflictsOf } from "./conflict.js";
import { entryAt, isSame } from "./entries.js";

/** One accepted change of the files of a session: the tree after it, and what made it. */
export type Step = {
  readonly tree: Digest;
  readonly message: string;
  /** The id of the session, and so of the fact. */
  readonly session: FactId;
  readonly at: string;
  readonly by: Principal;
  /** Paths of merges that nobody has decided yet: what is in conflict is marked in the files. */
  readonly conflicts?: readonly string[];
};

const SUBJECT = 72;

/** The steps that made a session's files, oldest first. A merge follows the adopted side, else ours. */
export function stepsOf(session: Session): readonly Step[] {
  const way = wayTo(session);
  const calls = new Map<FactId, Fact>();
  const steps: Step[] = [];
  let tree: Digest | null = null;
  let marked: ReadonlyMap<FactId, readonly string[]> | undefined;
  for (const node of way) {
    const { fact } = node;
    if (fact.type === "tool-call" || fact.type === "step-call") calls.set(node.id, fact);
    const { tree: after } = node.files;
    if (after === null || (after === tree && !fact.type.startsWith("workspace-"))) continue;
    tree = after;
    const { conflicts: open } = node;
    // Most sessions have none, and need not be gone through for them.
    if (open.length > 0) marked ??= conflictsIn(session);
    const conflicts = [...new Set(open.flatMap((merge) => marked?.get(merge) ?? []))].sort();
    steps.push({
      tree,
      message: messageOf(fact, calls, node),
      session: node.id,
      at: fact.at,
      by: fact.by,
      ...(conflicts.length > 0 && { conflicts }),
    });
  }
  return steps;
}

/** The paths in conflict, by the merge that left them. */
function conflictsIn(session: Session): ReadonlyMap<FactId, readonly string[]> {
  const found = new Map<FactId, readonly string[]>();
  for (const { id, fact } of session.history())
    if (fact.type === "workspace-merge")
      found.set(
        id,
        conflictsOf(fact.conflicts as Json).map(({ path }) => path),
      );
  return found;
}

/** The sessions that the files of a session come from, oldest first. */
function wayTo(session: Session): readonly Session[] {
  const way: Session[] = [];
  for (let node: Session | undefined = session; node !== undefined; node = goesOnFrom(node)) way.push(node);
  return way.reverse();
}

/** A step in words: a subject, and details where there are any. */
function messageOf(fact: Fact, calls: ReadonlyMap<FactId, Fact>, session: Session): string {
  const of = "of" in fact && typeof fact.of === "string" ? calls.get(fact.of) : undefined;
  switch (fact.type) {
    case "workspace-import":
      return subject(`Import ${textOf(fact.source) ?? "files"}`);
    case "workspace-merge":
      return of === undefined ? subject(`Merge the files of branches into ${session.branch}`) : callOf(of);
    case "workspace-resolve":
      return explained("Resolve conflicts", fact.why);
    case "branch-merge":
      return explained(`Merge branches into ${session.branch}`, fact.why);
    case "session-detach":
      return subject(`Begin with the files of ${fact.from.slice(0, 12)}`);
    default:
      return of === undefined ? changeOf(fact) : callOf(of);
  }
}

function explained(text: string, reason: unknown): string {
  const why = textOf(reason);
  return subject(text) + (why === undefined ? "" : `\n\n${why}`);
}

/** "write src/index.ts", "shell npm test": the name of the call, and what of its input says most. */
function callOf(call: Fact): string {
  const { name, input } = call as { readonly name: string; readonly input?: Json };
  const said = wordsOf(input);
  if (said === undefined) return subject(name);
  const short = subject(`${name}: ${said}`);
  return short.endsWith("…") ? `${short}\n\n${said}` : short;
}

const TELLING = ["path", "file", "command", "title", "name", "query"];

function wordsOf(input: Json | undefined): string | undefined {
  if (input === undefined || (input as unknown) instanceof Withheld) return undefined;
  if (typeof input !== "object" || input === null) return String(input);
  if (Array.isArray(input)) return JSON.stringify(input);
  const fields = input as { readonly [field: string]: Json };
  const telling = TELLING.map((field) => fields[field]).find((value) => typeof value === "string");
  return telling === undefined ? JSON.stringify(input) : (telling as string);
}

function changeOf(fact: Fact): string {
  const paths = fact.type === "workspace-change" ? fact.paths.map(({ path }) => path) : [];
  const more = paths.length > 3 ? ` and ${paths.length - 3} more` : "";
  return subject(paths.length === 0 ? "Change files" : `Change ${paths.slice(0, 3).join(", ")}${more}`);
}

/** One line that fits. */
function subject(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > SUBJECT ? `${line.slice(0, SUBJECT - 1).toWellFormed()}…` : line;
}

/** Content of a fact may have been erased. */
function textOf(content: unknown): string | undefined {
  return typeof content === "string" && content !== "" ? content : undefined;
}

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

/** The facts that changed a path or anything below it, newest first, including merged branches. */
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

/** The parents whose files a session goes on with, the likeliest first. */
export function takenParents(session: Session): readonly Session[] {
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

/** The change of a path by an import, or by a root that began with files. */
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
