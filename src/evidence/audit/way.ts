import { textOf } from "../../agent/model/index.js";
import { adoptedSide, type FactId, goesOnFrom, type Session } from "../../session/index.js";

/** The merges that the line of a session went through, newest first, as far back as it is loaded. */
export function mergesBefore(session: Session, horizon: (at: Session) => void): readonly Session[] {
  const found: Session[] = [];
  for (let node: Session | undefined = session; node !== undefined; node = goesOnFrom(node)) {
    if (node.atHorizon) {
      horizon(node);
      break;
    }
    if (node.fact.type === "branch-merge") found.push(node);
  }
  return found;
}

/** A session on the way, and the side by which it goes on. */
export type Passed = { readonly node: Session; readonly side: number };

/** The sessions from a head back to one in its past, with the side by which each goes on to it. */
export function wayTo(head: Session, target: Session): readonly Passed[] | undefined {
  const from = new Map<Session, Passed | undefined>([[head, undefined]]);
  const open = [head];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.id === target.id) return unwound(from, node);
    if (node.depth <= target.depth) continue;
    const adopted = adoptedSide(node.fact, node.parents.length);
    const sides = [...node.parents.entries()].sort(([one], [other]) =>
      // The last element is taken first: the adopted side.
      one === adopted ? 1 : other === adopted ? -1 : other - one,
    );
    for (const [side, parent] of sides)
      if (!from.has(parent)) {
        from.set(parent, { node, side });
        open.push(parent);
      }
  }
  return undefined;
}

function unwound(from: ReadonlyMap<Session, Passed | undefined>, end: Session): readonly Passed[] {
  const way: Passed[] = [];
  for (let at = from.get(end); at !== undefined; at = from.get(at.node)) way.push(at);
  return way;
}

/** The fork that the branch of a session began with. */
export function forkOf(session: Session): FactId | undefined {
  let node: Session | undefined = session;
  while (node !== undefined && node.fact.type !== "branch-fork") {
    // Behind what is loaded, the lineage still knows it.
    if (node.atHorizon)
      return node.lineage.findLast(({ kind, branch }) => kind === "fork" && branch === session.branch)?.id;
    node = goesOnFrom(node);
  }
  return node?.id;
}

/** The last words of a conversation that a model, or somebody as the assistant, said. */
export function lastWords(session: Session): Session | undefined {
  let spoken: Session | undefined;
  for (let node: Session | undefined = session; node !== undefined; node = goesOnFrom(node)) {
    const { fact } = node;
    const speaks = fact.type === "model-reply" || (fact.type === "message-say" && fact.role === "assistant");
    if (!speaks) continue;
    if (wordsIn(fact.content) !== "") return node;
    spoken ??= node;
  }
  return spoken;
}

function wordsIn(content: unknown): string {
  return typeof content === "string" ? content : Array.isArray(content) ? textOf(content) : "withheld";
}

/** A session and the loaded part of its past. */
export function* reachable(head: Session): Generator<Session> {
  const met = new Set([head]);
  for (const node of met) {
    yield node;
    if (!node.atHorizon) for (const parent of node.parents) met.add(parent);
  }
}
