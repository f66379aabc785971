import type { Fact, FactId, Session } from "../../session/index.js";
import { describe } from "../describe.js";
import { Lanes } from "../lanes.js";
import type { Shell } from "../shell.js";
import { paintsOf, validationWords } from "./story.js";

/** What is drawn: what was tried, what came of it, and where the ways part and meet. */
const DRAWN: ReadonlySet<string> = new Set([
  "session-start",
  "memory-read",
  "workspace-change",
  "validation-report",
  "branch-fork",
  "branch-merge",
  "workspace-merge",
  "run-end",
]);

/** The graph of a session, newest first, without what would make it longer than a screen. */
export function picture(shell: Shell, head: Session): string {
  const shown = new Map<FactId, readonly FactId[]>();
  const rows: Session[] = [];
  for (const session of head.history()) {
    // What is left out hands on where it came from.
    const parents = [...new Set(session.parentIds.flatMap((id) => shown.get(id) ?? []))];
    const isDrawn = DRAWN.has(session.fact.type) && !isOutput(session);
    shown.set(session.id, isDrawn ? [session.id] : parents);
    if (isDrawn) rows.push(session);
  }
  const above = new Map<FactId, readonly FactId[]>();
  for (const session of rows)
    above.set(
      session.id,
      withoutPasts([...new Set(session.parentIds.flatMap((id) => shown.get(id) ?? []))], above),
    );
  const lanes = new Lanes([head.id]);
  const lines: string[] = [];
  for (const { id, fact } of rows.reverse()) {
    const { before, mark, after } = lanes.draw({ id, parents: above.get(id) ?? [] });
    lines.push(
      ...before,
      `${mark}  ${shell.id(id)} ${wordsOf(shell, fact, shell.columns - 22 - mark.length)}`,
      ...after,
    );
  }
  return lines.map((line) => `  ${line}`).join("\n");
}

function wordsOf(shell: Shell, fact: Fact, room: number): string {
  if (fact.type !== "validation-report") return describe(fact, Math.max(30, room - 18));
  const words = validationWords(fact, {
    ...paintsOf(shell),
    room: Math.max(15, (room - 20) / 2),
    failures: 0,
  });
  return `${fact.name === "review" ? "validator " : ""}${words ?? describe(fact, room)}`;
}

/** Of several parents those that are no past of another: the end of a run has every leaf as its parent. */
function withoutPasts(
  parents: readonly FactId[],
  above: ReadonlyMap<FactId, readonly FactId[]>,
): readonly FactId[] {
  if (parents.length < 2) return parents;
  const past = new Set<FactId>();
  for (const parent of parents) {
    const open = [...(above.get(parent) ?? [])];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      if (past.has(id)) continue;
      past.add(id);
      open.push(...(above.get(id) ?? []));
    }
  }
  return parents.filter((id) => !past.has(id));
}

/** Whether it only says that an answer had the right shape. */
function isOutput({ fact }: Session): boolean {
  return fact.type === "validation-report" && fact.name === "output";
}
