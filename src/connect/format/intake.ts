import { type Content, type Json, type Principal, Session, secretFrom } from "../../session/index.js";
import { defined } from "../../util/index.js";
import type { Source } from "./exchange.js";

/** Stands in for a time that the source does not tell: the same file must give the same ids whenever it is read. */
export const UNKNOWN_TIME = "1970-01-01T00:00:00.000Z";

export type StartedImport = {
  /** Tells the sessions of one file apart. */
  readonly name: string;
  /** The task of the session, in the words of the source. */
  readonly text?: Content | undefined;
  /** When it began, if the source says so. */
  readonly at?: string | undefined;
  /** The author of its beginning. Default: the user who gave the task, else the runtime. */
  readonly by?: Principal;
  /** Versions, ids and the harness, as the source names them. */
  readonly detail?: Json | undefined;
};

/** Begins a session from a file: where it is from stands in its second fact, with the digest of the file. */
export function startImport(
  source: Source,
  format: string,
  { name, text, at = UNKNOWN_TIME, by = text === undefined ? "runtime" : "user", detail }: StartedImport,
): Session {
  const secret = secretFrom(source.bytes, name);
  return Session.start(text, { nonce: `${source.digest}/${name}`, at, by, secret }).append({
    type: "record-import",
    format,
    source: source.name,
    digest: source.digest,
    ...defined({ detail }),
    at,
    by: "runtime",
  });
}

/** Keeps a part that cannot be read as it came: `what` is the place in the file, `why` the reason. */
export function keepUnreadable(session: Session, what: string, why: string, value: Json): Session {
  const { at } = session.fact;
  return session.append({ type: "note", kind: "import-unreadable", what, why, value, at, by: "runtime" });
}

/** Keeps what facts have no words for, so that nothing of the source is lost. */
export function keepRest(session: Session, what: string, value: Json, at = session.fact.at): Session {
  return session.append({ type: "note", kind: "import-rest", what, value, at, by: "runtime" });
}

/** Milliseconds since 1970 of a fact's time, or NaN. Without a zone it is UTC, on every machine. */
export function millisecondsOf(at: string): number {
  return Date.parse(WITHOUT_ZONE.test(at) ? `${at}Z` : at);
}

const WITHOUT_ZONE = /[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/;
