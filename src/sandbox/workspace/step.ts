import type { Digest, Fact, FactId, Json, Principal, Session } from "../../session/index.js";
import { goesOnFrom, Withheld } from "../../session/index.js";
import { conflictsOf } from "./conflict.js";

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

/**
 * The steps that made the files of a session, oldest first: what was imported, changed, merged and resolved on the way that
 * was taken. Where branches came together, that is the side that was adopted, or ours; what the others brought in is
 * one step, the merge.
 */
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
    if (after === null || (after === tree && !isWorkspaceFact(fact))) continue;
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

function isWorkspaceFact(fact: Fact): boolean {
  return fact.type.startsWith("workspace-");
}

/** What a step did, in words: a subject, and where there is more to say a line for it. */
function messageOf(fact: Fact, calls: ReadonlyMap<FactId, Fact>, session: Session): string {
  const of = "of" in fact && typeof fact.of === "string" ? calls.get(fact.of) : undefined;
  switch (fact.type) {
    case "workspace-import":
      return subject(`Import ${textOf(fact.source) ?? "files"}`);
    case "workspace-merge":
      return of === undefined ? subject(`Merge the files of branches into ${session.branch}`) : callOf(of);
    case "workspace-resolve": {
      const why = textOf(fact.why);
      return subject("Resolve conflicts") + (why === undefined ? "" : `\n\n${why}`);
    }
    case "branch-merge": {
      const why = textOf(fact.why);
      return subject(`Merge branches into ${session.branch}`) + (why === undefined ? "" : `\n\n${why}`);
    }
    case "session-detach":
      return subject(`Begin with the files of ${fact.from.slice(0, 12)}`);
    default:
      return of === undefined ? changeOf(fact) : callOf(of);
  }
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
