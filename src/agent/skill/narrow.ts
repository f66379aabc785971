import type { Session } from "../../session/index.js";
import { isModule, type Module, type Rebuilds, rebuild } from "../../workflow/index.js";
import type { Tool, ToolContext } from "../tool/index.js";
import type { Callable } from "../toolbox.js";
import { activeSkills } from "./active.js";
import { SkillToolError } from "./error.js";
import type { Skill } from "./skill.js";

/** What a tool is called in a SKILL.md, and what it is called here: `{ Bash: "shell", Read: "view" }`. */
export type ToolAliases = { readonly [written: string]: string };

/**
 * The same tools, which refuse to be called while a skill is active that does not list them. Every active skill with
 * `allowed-tools` must list a tool: a further skill narrows further, and never gives back what another one took. An entry
 * with a pattern, such as `Bash(git:*)`, lists nothing: what a pattern means for an input is not ours to guess.
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
      : guardedTool(callable as unknown as Tool, refuse),
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
    ...(module !== undefined && { module: guardedModule(module as Module, name, refuse) }),
  }) as unknown as Callable;
}

function guardedModule(module: Module, tool: string, refuse: Refuse): Module {
  const again = (module as Partial<Rebuilds>)[rebuild]?.bind(module);
  return Object.freeze({
    ...module,
    name: module.name,
    // What `parts` and `state` are may be found out when they are first asked for.
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
