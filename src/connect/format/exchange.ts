import { type Digest, type FactId, RathError, type Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";

/** A file of another system. */
export type Source = {
  /** The name of the file, without its folder. */
  readonly name: string;
  readonly bytes: Uint8Array;
  /** SHA-256 of the bytes. */
  readonly digest: Digest;
};

/** A format that sessions are made from. */
export type ImportFormat = {
  readonly name: string;
  /** A short description for lists of formats. */
  readonly title: string;
  /** Whether a file looks like it. Cheap, and never throws: a file that fits can still be refused when it is read. */
  fits(source: Source): boolean;
  read(source: Source): Promise<readonly Imported[]>;
};

/** A session made from a file of another system. */
export type Imported = {
  /** The name it is kept under, unless the reader chooses another. */
  readonly name: string;
  readonly session: Session;
  /** The parts of the file that facts cannot express: kept in notes of the session, and reported. */
  readonly notes: readonly string[];
  /** Warnings about parts of the file that are cut off, unreadable or missing. The record has notes at their places. */
  readonly warnings?: readonly string[];
};

/** A format that sessions are written in. */
export type ExportFormat = {
  readonly name: string;
  readonly title: string;
  /** With the dot: ".json". */
  readonly extension: string;
  write(subject: Subject, options?: ExportSettings): Promise<string | Uint8Array>;
};

/** The session to export, with its whole history, and the store that has its blobs. */
export type Subject = { readonly name?: string; readonly session: Session; readonly store: Store };

export type ExportSettings = {
  /** Formats that leave conversation, arguments and results out by default take them in. */
  readonly content?: boolean;
};

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
