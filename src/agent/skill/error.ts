import { type Json, RathError } from "../../session/index.js";
import type { Refuse } from "../../workflow/index.js";

/** An invalid option of `loadSkills`, `skilled` or `loadInstructions`. */
export class SkillOptionError extends RathError {
  constructor(use: string, reason: string, hint: string) {
    super("skill-refused", `Cannot ${use}: ${reason}.`, { hint, data: { use, reason } });
  }
}

/** Refuses options of something that skills do. */
export function refusing(use: string): Refuse {
  return (reason, hint) => new SkillOptionError(use, reason, hint);
}

/** No skill of this name was loaded. */
export class UnknownSkillError extends RathError {
  constructor(name: string, known: readonly string[], meant: string | undefined) {
    super("skill-unknown", `There is no skill ${JSON.stringify(name)}.`, {
      hint:
        meant === undefined
          ? `the skills are ${known.join(", ")}`
          : `did you mean ${JSON.stringify(meant)}? The skills are ${known.join(", ")}`,
      data: { name, known },
    });
  }
}

/** A skill's files can only be read after it was activated. */
export class SkillInactiveError extends RathError {
  constructor(name: string) {
    super("skill-inactive", `Cannot read a file of the skill ${JSON.stringify(name)}: it is not active.`, {
      hint: `activate it first: call the tool skill with { "name": ${JSON.stringify(name)} }`,
      data: { name },
    });
  }
}

/** Its SKILL.md is not the one that was loaded, so it is not what its description was shown for. */
export class SkillChangedError extends RathError {
  constructor(name: string, loaded: string, found: string) {
    super(
      "skill-changed",
      `Cannot activate the skill ${JSON.stringify(name)}: it changed since it was loaded.`,
      { hint: "load the skills again: await loadSkills(folder)", data: { name, loaded, found } },
    );
  }
}

/** An active skill does without this tool. */
export class SkillToolError extends RathError {
  constructor(tool: string, skill: string, allowed: readonly string[]) {
    super(
      "skill-tool-refused",
      `Cannot call ${JSON.stringify(tool)}: the active skill ${JSON.stringify(skill)} does not allow it.`,
      {
        hint: allowed.length > 0 ? `while it is active, use ${allowed.join(", ")}` : "it allows no tools",
        data: { tool, skill, allowed },
      },
    );
  }
}

/** A file of a skill, or an AGENTS.md, that cannot be shown. */
export class SkillFileError extends RathError {
  constructor(path: string, reason: string, hint: string, data: { [key: string]: Json } = {}) {
    super("skill-file-refused", `Cannot read ${JSON.stringify(path)}: ${reason}.`, {
      hint,
      data: { path, reason, ...data },
    });
  }
}
