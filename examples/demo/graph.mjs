// @ts-check
import { describeReport } from "./story.mjs";

/**
 * @typedef {import("openrath").FactId} FactId
 * @typedef {import("openrath").Session} Session
 */

/** What was tried, what came of it, and where the branches part and meet. */
const DRAWN = new Set([
  "session-start",
  "memory-read",
  "workspace-change",
  "validation-report",
  "branch-fork",
  "branch-merge",
  "workspace-merge",
  "run-end",
]);

/**
 * The graph of a session, newest first, short enough for a screen.
 *
 * @param {import("./demo.mjs").Surroundings} surroundings
 * @param {Session} head
 */
export function drawGraph({ shell, words }, head) {
  /** The drawn facts that stand for a fact: itself, or where it came from. @type {Map<FactId, readonly FactId[]>} */
  const standsFor = new Map();
  /** @type {Map<FactId, readonly FactId[]>} */
  const parentsOf = new Map();
  /** @type {Session[]} */
  const rows = [];
  for (const session of head.history()) {
    const parents = [...new Set(session.parentIds.flatMap((id) => standsFor.get(id) ?? []))];
    const { fact } = session;
    // Such a report only says that an answer had the right shape.
    const isShape = fact.type === "validation-report" && fact.name === "output";
    const isDrawn = DRAWN.has(fact.type) && !isShape;
    standsFor.set(session.id, isDrawn ? [session.id] : parents);
    if (!isDrawn) continue;
    parentsOf.set(session.id, withoutAncestors(parents, parentsOf));
    rows.push(session);
  }
  const lanes = new words.Lanes([head.id]);
  return rows
    .reverse()
    .flatMap(({ id, fact }) => {
      const { before, mark, after } = lanes.draw({ id, parents: parentsOf.get(id) ?? [] });
      const text = describeRow(shell, words, fact, shell.columns - 22 - mark.length);
      return [...before, `${mark}  ${shell.id(id)} ${text}`, ...after];
    })
    .map((line) => `  ${line}`)
    .join("\n");
}

/**
 * @param {import("./demo.mjs").Shell} shell
 * @param {import("./demo.mjs").Words} words
 * @param {import("openrath").Fact} fact
 * @param {number} room
 */
function describeRow(shell, { brief, describe }, fact, room) {
  if (fact.type !== "validation-report") return describe(fact, Math.max(30, room - 18));
  const text = describeReport(fact, shell, brief, Math.max(15, (room - 20) / 2), 0);
  return `${fact.name === "review" ? "validator " : ""}${text ?? describe(fact, room)}`;
}

/**
 * The parents that are not ancestors of another parent: the end of a run has every leaf as its parent.
 *
 * @param {readonly FactId[]} parents
 * @param {ReadonlyMap<FactId, readonly FactId[]>} parentsOf
 */
function withoutAncestors(parents, parentsOf) {
  if (parents.length < 2) return parents;
  const ancestors = new Set();
  const open = parents.flatMap((id) => parentsOf.get(id) ?? []);
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (ancestors.has(id)) continue;
    ancestors.add(id);
    open.push(...(parentsOf.get(id) ?? []));
  }
  return parents.filter((id) => !ancestors.has(id));
}
