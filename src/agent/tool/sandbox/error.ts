import { type Json, RathError } from "../../../session/index.js";

/** An edit that was not made: its place is not clear, nothing would change, or the file would be broken by it. */
export class EditRefusedError extends RathError {
  constructor(
    reason: "no-match" | "many-matches" | "no-change" | "bad-place" | "syntax" | "not-text",
    path: string,
    why: string,
    data: { readonly [name: string]: Json } = {},
  ) {
    super("edit-refused", `The file ${JSON.stringify(path)} was not changed: ${why}`, {
      hint: "view the file, and edit it with the exact text that stands there now",
      data: { reason, path, ...data },
    });
  }
}

export class CommandUnstartedError extends RathError {
  constructor(command: string, why: string) {
    super("command-unstarted", `The command was not run: ${why}.`, {
      hint: "check the directory and the program: command -v <program>",
      data: { command: command.slice(0, 500), why },
    });
  }
}

/** A search that could not be made: the pattern is invalid or takes too long. */
export class SearchRefusedError extends RathError {
  constructor(pattern: string, why: string) {
    super("search-refused", `Cannot search for ${JSON.stringify(pattern.slice(0, 200))}: ${why}.`, {
      hint: "search for plain text, or for a simpler regular expression",
      data: { pattern: pattern.slice(0, 500), why },
    });
  }
}

/** A patch that was not applied. Nothing of it was: it is applied as a whole or not at all. */
export class PatchRefusedError extends RathError {
  constructor(failures: readonly PatchProblem[]) {
    const shown = failures.slice(0, 20);
    const listed = shown.map(
      ({ path, line, why }) =>
        `\n- line ${line} of the patch${path === undefined ? "" : `, ${path}`}: ${why}`,
    );
    const more = failures.length > shown.length ? `\n- and ${failures.length - shown.length} more` : "";
    super("patch-refused", `The patch was not applied, no file was changed.${listed.join("")}${more}`, {
      hint: "view the files that it names, and make the patch from what stands there now",
      data: { failures: shown },
    });
  }
}

export type PatchProblem = { readonly path?: string; readonly line: number; readonly why: string };
