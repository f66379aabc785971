import { createModule, enter, isModule, type Module, step } from "../../workflow/index.js";
import { type Catalogue, readCatalogue } from "./catalogue.js";
import { SkillOptionError } from "./error.js";
import { foldersOf, type Skills, skillsOf } from "./skills.js";

/**
 * A module that finds out at run time which skills there are. The catalogue goes on the record, so that a replay, on
 * another machine too, needs no folder; and skills that were added since are there in the next run.
 *
 * ```ts
 * const coder = skilled("coder", ".agents/skills", (skills) =>
 *   agent({ name: "coder", model, instructions: skills.instructions("Fix the issue."), tools: skills.tools([shellTool()]) }),
 * );
 * ```
 *
 * `make` is a pure function of the skills: a replay calls it again.
 */
export function skilled(
  name: string,
  folders: string | readonly string[],
  make: (skills: Skills) => Module,
): Module {
  const use = "make a module with skills";
  if (typeof name !== "string" || name === "")
    throw new SkillOptionError(
      use,
      "it has no name",
      'skilled("coder", ".agents/skills", (skills) => agent({ … }))',
    );
  if (typeof make !== "function")
    throw new SkillOptionError(
      use,
      `${JSON.stringify(name)} has nothing that takes them`,
      "(skills) => agent({ … })",
    );
  const list = foldersOf(folders, use);
  const load = step(
    "skills-load",
    ({ folders }: { readonly folders: readonly string[] }) => readCatalogue(folders),
    {
      effect: "read",
      origin: "file",
    },
  );
  return createModule(
    {
      name,
      kind: "skilled",
      parts: Object.freeze({ load: load as unknown as Module }),
      state: Object.freeze({ folders: Object.freeze([...list]) }),
    },
    async (entered) => {
      const { session: told, value } = await load.call(entered, { folders: list });
      const made = make(skillsOf(value as Catalogue));
      if (!isModule(made))
        throw new SkillOptionError(
          use,
          `the function of ${JSON.stringify(name)} must return a module`,
          "return an agent",
        );
      return enter(made, told);
    },
  );
}
