import { backFrom, type FactId, type Session, type View } from "../../session/index.js";
import { isModule, type Module, type Rebuilds, rebuild } from "../../workflow/index.js";
import type { Tool, ToolContext } from "../tool/index.js";
import type { Callable } from "../toolbox.js";
import { SkillToolError } from "./error.js";
import type { Skill } from "./skill.js";

/** The names of the skills activated since the current module was entered; they end with its work. */
export function activeSkills(session: Session): readonly string[] {
  return session.view(activeView).at(-1)?.skills ?? [];
}

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
    for (const node of backFrom(side)) {
      if (node.id === request) break;
      if (node.fact.type === "skill-activate") names.push(node.fact.name);
      // The work of a module that activated a skill for itself is over.
      if (node.fact.type === "module-exit" && exited(node, node.fact.of) !== "skill") break;
    }
  }
  return names;
}

function exited(session: Session, entry: FactId): string | undefined {
  for (const { id, fact } of backFrom(session))
    if (id === entry) return fact.type === "module-enter" ? fact.module : undefined;
  return undefined;
}

function withSkills(frames: readonly Frame[], names: readonly string[]): readonly Frame[] {
  const top = frames.at(-1) ?? { enter: "", skills: [] };
  const more = names.filter((name) => !top.skills.includes(name));
  if (more.length === 0) return frames;
  return [...frames.slice(0, -1), { ...top, skills: [...top.skills, ...more] }];
}

/** Names of tools in a SKILL.md, and their names here: `{ Bash: "shell", Read: "view" }`. */
export type ToolAliases = { readonly [written: string]: string };

/**
 * The same tools, refused while an active skill with `allowed-tools` does not list them. Every active skill
 * must list a tool. A pattern such as `Bash(git:*)` lists nothing.
 */
export function narrowed(
  callables: readonly Callable[],
  skills: ReadonlyMap<string, Skill>,
  aliases: ToolAliases,
): readonly Callable[] {
  const refuse = (tool: string, session: Session): void => {
    for (const name of activeSkills(session)) {
      const allowed = skills.get(name)?.allowedTools?.map((written) => aliases[written] ?? written);
      if (allowed !== undefined && !allowed.includes(tool)) throw new SkillToolError(tool, name, allowed);
    }
  };
  return callables.map((callable) =>
    isModule(callable)
      ? guardedModule(callable, callable.name, refuse)
      : guardedTool(callable as Tool, refuse),
  );
}

type Refuse = (tool: string, session: Session) => void;

function guardedTool(tool: Tool, refuse: Refuse): Callable {
  const { name, module } = tool;
  return Object.freeze({
    ...tool,
    run: (input: unknown, context: ToolContext) => {
      refuse(name, context.session);
      return tool.run(input, context);
    },
    ...(module !== undefined && { module: guardedModule(module, name, refuse) }),
  }) as Callable;
}

function guardedModule(module: Module, tool: string, refuse: Refuse): Module {
  const again = (module as Partial<Rebuilds>)[rebuild]?.bind(module);
  return Object.freeze({
    ...module,
    name: module.name,
    // `parts` and `state` may be computed at first use.
    get parts() {
      return module.parts;
    },
    get state() {
      return module.state;
    },
    async forward(session: Session): Promise<Session> {
      refuse(tool, session);
      return module.forward(session);
    },
    ...(again !== undefined && {
      [rebuild]: (...given: Parameters<Rebuilds[typeof rebuild]>) =>
        guardedModule(again(...given), tool, refuse),
    }),
  }) as Module;
}
