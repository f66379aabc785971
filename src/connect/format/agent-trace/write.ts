import { isUtf8 } from "node:buffer";
import { changedLines, diffTrees, entryAt, linesOf, type Trees, whoChanged } from "../../../sandbox/index.js";
import type { Digest, FactId, Session } from "../../../session/index.js";
import { digestOf, isPerson, RathError } from "../../../session/index.js";
import { ExportError, type ExportFormat, type Subject } from "../exchange.js";
import type { Fields } from "../fields.js";
import { millisecondsOf } from "../intake.js";
import { Lines, type Told } from "../trajectory/line.js";
import { type Accepted, requireAccepted } from "../trajectory/patch.js";

/** How far back from a change the model is looked for that was asked. */
const STEPS_BACK = 10_000;
const MODEL_LENGTH = 250;

/** Which lines of the accepted patch came from which conversation, and who wrote them: a model or a person. */
export const agentTraceExport: ExportFormat = {
  name: "agent-trace",
  title: "Agent Trace 0.1.0: the lines of the accepted patch, by conversation and contributor",
  extension: ".json",
  async write(subject: Subject): Promise<string> {
    const lines = await Lines.of(subject);
    const { head } = lines;
    const accepted = await requireAccepted("agent-trace", lines, subject.store);
    const record = {
      version: "0.1.0",
      id: uuidOf(head.id),
      timestamp: new Date(millisecondsOf(head.fact.at)).toISOString(),
      tool: { name: "openrath", version: "unknown" },
      files: await filesOf(lines, accepted),
      metadata: {
        "dev.openrath": {
          session: head.id,
          ...(subject.name !== undefined && { name: subject.name }),
          before: accepted.before,
          after: accepted.after,
        },
      },
    };
    return `${JSON.stringify(record, null, 2)}\n`;
  },
};

async function filesOf(
  { head, main }: Lines,
  { trees, before, after }: Accepted,
): Promise<readonly Fields[]> {
  const versions = versionsOf(main, head, after);
  const sessions = new Map<FactId, Session>();
  for (const session of head.history()) sessions.set(session.id, session);
  const files: Fields[] = [];
  for (const { path, change } of await diffTrees(trees, before, after)) {
    if (change === "delete") continue;
    try {
      const stretches = await blamed(trees, path, before, versions);
      files.push({ path, conversations: conversationsOf(stretches ?? [], head, sessions) });
    } catch (error) {
      if (!(error instanceof RathError)) throw error;
      const [reason = ""] = error.message.split("\n");
      throw new ExportError("agent-trace", head.id, `${path} cannot be told (${reason})`, error.hint, error);
    }
  }
  return files;
}

/** The lines of a file by who wrote them. */
function conversationsOf(
  stretches: readonly Stretch[],
  head: Session,
  sessions: ReadonlyMap<FactId, Session>,
): readonly Fields[] {
  const found = new Map<string, { contributor: Fields; ranges: Fields[]; facts: Set<FactId> }>();
  for (const { from, to, text, by } of stretches) {
    const contributor = contributorOf(sessions.get(by));
    const key = JSON.stringify(contributor);
    const one = found.get(key) ?? { contributor, ranges: [], facts: new Set<FactId>() };
    found.set(key, one);
    one.ranges.push({ start_line: from, end_line: to, content_hash: `sha256:${digestOf(text)}` });
    one.facts.add(by);
  }
  return [...found.values()].map(({ contributor, ranges, facts }) => ({
    url: `urn:openrath:session:${head.id}`,
    contributor,
    ranges,
    related: [...facts].map((fact) => ({ type: "fact", url: `urn:openrath:fact:${fact}` })),
  }));
}

function contributorOf(session: Session | undefined): Fields {
  if (session === undefined) return { type: "unknown" };
  if (isPerson(session.fact.by)) return { type: "human" };
  let node: Session | undefined = session;
  for (let step = 0; node !== undefined && step < STEPS_BACK; step++, node = node.parents[0])
    if (node.fact.type === "model-call")
      return { type: "ai", model_id: node.fact.model.slice(0, MODEL_LENGTH) };
  return { type: session.fact.by.startsWith("agent") ? "ai" : "unknown" };
}

/** The same session gives the same record: an id of the kind that anybody may make by a rule of their own. */
function uuidOf(id: FactId): string {
  const hex = digestOf(`agent-trace ${id}`);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

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

/** The facts that added the new lines of a file; undefined when it is not text. */
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
