import { clip } from "../util/index.js";
import type { FactId } from "./fact/index.js";
import { frozen } from "./json.js";
import { operatorOf } from "./lineage.js";
import { requireSession, type Session } from "./session.js";

/**
 * The coarse shape of a history: where it began, branched and came together, with the straight stretches
 * between folded into one node each. Derived from the facts, so it is never out of date.
 */
export type SessionGraph = {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly { readonly from: FactId; readonly to: FactId }[];
  readonly spans: readonly Span[];
};

export type GraphNode = {
  /** The id of the operator, or of the last session of a stretch. */
  readonly id: FactId;
  readonly kind: "start" | "detach" | "fork" | "merge" | "stretch";
  readonly branch: string;
  readonly label: string;
  /** How many facts are folded in here, and how many of each type. */
  readonly facts: number;
  readonly types: { readonly [type: string]: number };
  readonly from: string;
  readonly until: string;
};

/** A run or a module at work, from its fact of entering to its fact of leaving. */
export type Span = {
  readonly kind: "run" | "module";
  readonly name: string;
  readonly start: FactId;
  readonly end?: FactId;
  readonly failed?: boolean;
};

type Draft<Value> = { -readonly [Key in keyof Value]: Value[Key] };
type NodeDraft = Draft<GraphNode> & { readonly types: { [type: string]: number } };

/** The graph of one session, or of many together. */
export function graph(heads: Session | readonly Session[]): SessionGraph {
  const all = new Map<FactId, Session>();
  for (const head of Array.isArray(heads) ? (heads as readonly Session[]) : [heads as Session])
    for (const session of requireSession(head, "graph").history()) all.set(session.id, session);
  const children = new Map<FactId, number>();
  for (const session of all.values())
    for (const parent of session.parentIds) children.set(parent, (children.get(parent) ?? 0) + 1);

  const nodeOf = new Map<FactId, NodeDraft>();
  const nodes: NodeDraft[] = [];
  const spans: Draft<Span>[] = [];
  const openSpans = new Map<FactId, Draft<Span>>();
  const links: [NodeDraft, NodeDraft][] = [];

  for (const session of all.values()) {
    const { fact } = session;
    const kind = operatorOf(fact);
    const [first, ...others] = session.parentIds;
    const before = first === undefined ? undefined : nodeOf.get(first);
    // A stretch goes on while nothing else hangs from its last session.
    if (
      kind === undefined &&
      others.length === 0 &&
      before?.kind === "stretch" &&
      before.id === first &&
      children.get(first) === 1
    ) {
      before.id = session.id;
      grow(before, session);
      nodeOf.set(session.id, before);
    } else {
      const node: NodeDraft = {
        id: session.id,
        kind: kind ?? "stretch",
        branch: session.branch,
        label: labelOf(session),
        facts: 0,
        types: Object.create(null),
        from: fact.at,
        until: fact.at,
      };
      grow(node, session);
      nodes.push(node);
      nodeOf.set(session.id, node);
      for (const parent of session.parentIds) links.push([nodeOf.get(parent) as NodeDraft, node]);
    }
    if (fact.type === "run-start" || fact.type === "module-enter") {
      const kind = fact.type === "run-start" ? "run" : "module";
      const span: Draft<Span> = { kind, name: fact.module, start: session.id };
      spans.push(span);
      openSpans.set(session.id, span);
    } else if (fact.type === "run-end" || fact.type === "module-exit") {
      const span = openSpans.get(fact.of);
      if (span !== undefined) {
        span.end = session.id;
        if (fact.error !== undefined) span.failed = true;
      }
    }
  }
  return frozen({ nodes, edges: links.map(([from, to]) => ({ from: from.id, to: to.id })), spans });
}

/** How a node is drawn: between these in Mermaid, and as this shape in DOT. */
const SHAPES = {
  start: ['(["', '"])', "oval"],
  detach: ['(["', '"])', "oval"],
  fork: ['{{"', '"}}', "hexagon"],
  merge: ['{"', '"}', "diamond"],
  stretch: ['["', '"]', "box"],
} as const;

/** The graph as Mermaid text, for Markdown and notebooks. */
export function toMermaid(picture: SessionGraph): string {
  const names = new Map(picture.nodes.map((node, index) => [node.id, `n${index}`]));
  const nodes = picture.nodes.map((node) => {
    const [open, close] = SHAPES[node.kind];
    return `  ${names.get(node.id)}${open}${mermaidText(caption(node))}${close}`;
  });
  const edges = picture.edges.map((edge) => `  ${names.get(edge.from)} --> ${names.get(edge.to)}`);
  return ["flowchart TD", ...nodes, ...edges, ""].join("\n");
}

/** The graph as DOT text, for Graphviz. */
export function toDot(picture: SessionGraph): string {
  const nodes = picture.nodes.map(
    (node) => `  "${node.id}" [shape=${SHAPES[node.kind][2]}, label="${dotText(caption(node))}"];`,
  );
  const edges = picture.edges.map((edge) => `  "${edge.from}" -> "${edge.to}";`);
  return ["digraph session {", "  rankdir=TB;", ...nodes, ...edges, "}", ""].join("\n");
}

function grow(node: NodeDraft, session: Session): void {
  const { fact } = session;
  node.facts += 1;
  node.types[fact.type] = (node.types[fact.type] ?? 0) + 1;
  if (fact.at < node.from) node.from = fact.at;
  if (fact.at > node.until) node.until = fact.at;
}

function labelOf(session: Session): string {
  const { fact } = session;
  if (fact.type === "branch-fork") return `fork ${fact.name}`;
  if (fact.type === "branch-merge") return `merge, adopt ${fact.adopt}`;
  return operatorOf(fact) ?? session.branch;
}

function caption(node: GraphNode): string {
  if (node.kind !== "stretch") return `${node.label} · ${node.id.slice(0, 8)}`;
  const types = Object.entries(node.types).map(([type, count]) => (count === 1 ? type : `${count} ${type}`));
  return `${node.branch}: ${types.join(", ")} · ${node.id.slice(0, 8)}`;
}

/** Mermaid reads entities; names are other people's words and must not become its syntax. */
function mermaidText(text: string): string {
  return plain(text).replace(/[^\p{L}\p{N} .,:·_-]/gu, (character) => `#${character.codePointAt(0)};`);
}

function dotText(text: string): string {
  return plain(text).replaceAll("\\", "\\\\").replaceAll('"', '\\"');
}

function plain(text: string): string {
  return clip(text.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " "), 201);
}
