import type { Digest, Session } from "../../session/index.js";
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
  /** What it is, in a few words, for lists of formats. */
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
  /** What of the file the facts cannot say in their own words: kept in notes of the session, and told. */
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

/** What is exported: a session with its whole history, and the store that has its blobs. */
export type Subject = {
  readonly name?: string;
  readonly session: Session;
  readonly store: Store;
};

export type ExportSettings = {
  /** Formats that leave conversation, arguments and results out by default take them in. */
  readonly content?: boolean;
};
