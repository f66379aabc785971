import type { FactId, Session, View } from "../../session/index.js";

/**
 * The names of the skills that are active where a session is: those that were activated since the module that works here
 * was entered. What an agent activates ends with its work; whoever comes after it begins without.
 */
export function activeSkills(session: Session): readonly string[] {
  return session.view(activeView).at(-1)?.skills ?? [];
}

/** A module at work, and the skills activated there. */
type Frame = { readonly enter: FactId; readonly skills: readonly string[] };

const activeView: View<readonly Frame[]> = {
  start: [],
  step(frames, fact, session) {
    switch (fact.type) {
      case "run-start":
        return [];
      case "module-enter":
        return [...frames, { enter: session.id, skills: [] }];
      case "module-exit": {
        const place = frames.findLastIndex(({ enter }) => enter === fact.of);
        return place === -1 ? frames : frames.slice(0, place);
      }
      case "skill-activate":
        return withSkills(frames, [fact.name]);
      case "tool-result":
        return withSkills(frames, activatedBeside(session, fact.of));
      default:
        return frames;
    }
  },
  // Where branches meet, what any of them activated goes on: it can only narrow.
  merge([ours = [], ...others]) {
    return withSkills(
      ours,
      others.flatMap((frames) => (frames.length === ours.length ? (frames.at(-1)?.skills ?? []) : [])),
    );
  },
};

/** The skill tool works on a fork of its request, which is a parent of its result. */
function activatedBeside(session: Session, request: FactId): readonly string[] {
  const names: string[] = [];
  const [, ...sides] = session.parents;
  for (const side of sides) {
    let node: Session | undefined = side;
    while (node !== undefined && node.id !== request) {
      if (node.fact.type === "skill-activate") names.push(node.fact.name);
      // The work of a module that activated a skill for itself is over.
      if (node.fact.type === "module-exit" && exited(node) !== "skill") break;
      node = node.parents[0];
    }
  }
  return names;
}

/** The name of the module that a session left. */
function exited(session: Session): string | undefined {
  if (session.fact.type !== "module-exit") return undefined;
  const { of } = session.fact;
  for (let node: Session | undefined = session; node !== undefined; node = node.parents[0])
    if (node.id === of) return node.fact.type === "module-enter" ? node.fact.module : undefined;
  return undefined;
}

function withSkills(frames: readonly Frame[], names: readonly string[]): readonly Frame[] {
  const top = frames.at(-1) ?? { enter: "", skills: [] };
  const more = names.filter((name) => !top.skills.includes(name));
  if (more.length === 0) return frames;
  return [...frames.slice(0, -1), { ...top, skills: [...top.skills, ...more] }];
}
