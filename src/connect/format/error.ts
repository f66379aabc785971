import { type FactId, RathError } from "../../session/index.js";
import type { Source } from "./exchange.js";

/** Where in a file of another system it is not what its format says, and why it is refused. */
export type ImportProblem = {
  /** A path into the file, such as "steps[3].source" or "line 12"; "" is the whole file. */
  readonly where: string;
  readonly reason: string;
  readonly hint?: string;
  readonly cause?: unknown;
};

/** A file of another system that cannot be read as what it claims to be: nothing of it is taken over. */
export class ImportError extends RathError {
  constructor(
    format: string,
    source: Pick<Source, "name">,
    { where, reason, hint = `check the file with the tool that wrote it: ${reason}`, cause }: ImportProblem,
  ) {
    const place = where === "" ? "" : ` at ${brief(where)}`;
    super("import-refused", `Cannot read ${brief(source.name)} as ${format}${place}: ${brief(reason)}.`, {
      hint: brief(hint),
      data: { format, source: source.name, where, reason: brief(reason) },
      ...(cause !== undefined && { cause }),
    });
  }
}

/** A session that has not what a format needs: nothing is written. */
export class ExportError extends RathError {
  constructor(format: string, session: FactId, reason: string, hint: string, cause?: unknown) {
    super("export-refused", `Cannot write ${session.slice(0, 12)} as ${format}: ${brief(reason)}.`, {
      hint,
      data: { format, session, reason: brief(reason) },
      ...(cause !== undefined && { cause }),
    });
  }
}

/** A name or a place may be anything that stands in a file of others: it must not bury the message. */
function brief(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
