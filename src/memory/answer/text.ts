import type { FactId } from "../../session/index.js";
import { amount } from "../../util/index.js";
import { scopeText } from "../scope.js";
import { brief } from "./fact-line.js";
import type { Influence } from "./influence.js";
import type { Why, WhyEdge } from "./why.js";

/** The chain of evidence as a tree for a terminal: a line for each fact, under what rests on it. */
export function whyText({ memory, space, versions, nodes, edges, more }: Why): string {
  const below = new Map<FactId, WhyEdge[]>();
  for (const edge of edges) below.set(edge.from, [...(below.get(edge.from) ?? []), edge]);
  const lines = [`memory ${short(memory)} in "${brief(space)}"`];
  for (const { id, type, by, at, text, source, scope } of versions) {
    const learnt = source === undefined ? "" : `, learnt from: ${brief(source)}`;
    const holds = scope === undefined ? "" : `, for ${brief(scopeText(scope).slice(0, -1))}`;
    lines.push(`  ${type} ${short(id)} by ${brief(by)} at ${brief(at)}${learnt}${holds}: ${text}`);
  }
  lines.push("because");
  const told = new Set<FactId>([memory]);
  // Kept on a list of its own: a chain of evidence may be longer than the call stack.
  const open = [...(below.get(memory) ?? [])].reverse().map((edge) => ({ edge, depth: 1 }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { edge, depth } = next;
    const node = nodes.get(edge.to);
    if (node === undefined) continue;
    const ground = node.ground === undefined ? "" : ` [${node.ground}]`;
    const who = node.by === undefined ? "" : ` by ${brief(node.by)} at ${brief(node.at)}`;
    const again = told.has(node.id);
    const what = again ? " (see above)" : `${who}${ground}: ${node.text}`;
    // So deep that it would not be seen is not set further in.
    lines.push(`${"  ".repeat(Math.min(depth, 40))}${edge.relation} ${node.type} ${short(node.id)}${what}`);
    if (again) continue;
    told.add(node.id);
    for (const one of [...(below.get(node.id) ?? [])].reverse()) open.push({ edge: one, depth: depth + 1 });
  }
  if (more) lines.push("… and more than was followed");
  return `${lines.join("\n")}\n`;
}

/** The influence of a memory, for a terminal. */
export function influenceText(influence: Influence): string {
  const { memory, reads, sessions, decisions, memories, counts, totals, unresolved } = influence;
  const lines = [
    `memory ${short(memory)} reached ${amount(totals.facts, "fact")}: ${amount(totals.reads, "reading")}, ${amount(sessions.length, "session")}, ${amount(totals.decisions, "decision")} (${totals.direct} in the turn of a reading), ${amount(totals.memories, "later memory", "later memories")}`,
  ];
  const list = (title: string, told: readonly string[], all: number): void => {
    if (all === 0) return;
    lines.push(title, ...told.map((line) => `  ${line}`));
    if (all > told.length) lines.push(`  … and ${all - told.length} more`);
  };
  list(
    "read by",
    reads.map(
      ({ id, space, at, by, branch, module, shown }) =>
        `memory-read ${short(id)} of "${brief(space)}" by ${brief(by)}${module === undefined ? "" : ` in ${brief(module.join(" › "))}`} at ${brief(at)}${branch === undefined ? "" : ` on ${brief(branch)}`}${shown ? "" : ", not shown"}`,
    ),
    totals.reads,
  );
  list(
    "sessions",
    sessions.map(
      ({ name, id, first, before }) =>
        `${brief(name)} ${short(id)}, from ${short(first)} on${before === undefined ? "" : `; before: ${short(before)}`}`,
    ),
    sessions.length,
  );
  list(
    "decisions",
    decisions.map(
      ({ id, type, by, at, direct, text }) =>
        `${direct ? "in that turn" : "later"}: ${type} ${short(id)} by ${brief(by)} at ${brief(at)}: ${text}`,
    ),
    totals.decisions,
  );
  list(
    "later memories",
    memories.map(
      ({ id, space, text, from, because, read }) =>
        `${short(id)}${space === undefined ? "" : ` in "${brief(space)}"`} because of ${short(because)}, from ${short(from)}${read === undefined ? "" : ` through ${short(read)}`}${text === undefined ? "" : `: ${text}`}`,
    ),
    totals.memories,
  );
  list(
    "facts by type",
    Object.entries(counts).map(([type, n]) => `${brief(type)} ${n}`),
    Object.keys(counts).length,
  );
  if (unresolved > 0)
    lines.push(`of ${amount(unresolved, "fact")} the content is not there, so their influence is unknown`);
  return `${lines.join("\n")}\n`;
}

function short(id: FactId): string {
  return id.slice(0, 12);
}
