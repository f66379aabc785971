import { diffTrees } from "../../../sandbox/index.js";
import { digestOf, type FactId, isPerson, RathError, type Session } from "../../../session/index.js";
import { ExportError } from "../error.js";
import type { ExportFormat, Subject } from "../exchange.js";
import type { Fields } from "../fields.js";
import { millisecondsOf } from "../time.js";
import { Lines } from "../trajectory/line.js";
import { type Accepted, requireAccepted } from "../trajectory/patch.js";
import { blamed, type Stretch, versionsOf } from "./blame.js";

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
