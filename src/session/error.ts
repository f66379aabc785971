import type { Json } from "./json.js";
import type { Session } from "./session.js";

/**
 * Every error of this library: what was attempted and what stood in the way (`message`), the next thing to
 * type (`hint`), and JSON for programs (`code`, which never changes, and `data`).
 */
export class RathError extends Error {
  readonly code: string;
  declare readonly hint: string;
  readonly data: { readonly [key: string]: Json };

  constructor(
    code: string,
    message: string,
    more: { hint: string; data?: { [key: string]: Json }; cause?: unknown },
  ) {
    super(`${message}\n  hint: ${more.hint}`, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = new.target.name;
    this.code = code;
    // The message has it already: an error that is printed with its properties shows it once.
    Object.defineProperty(this, "hint", { value: more.hint, enumerable: false });
    this.data = more.data ?? {};
  }

  toJSON(): Json {
    return { name: this.name, code: this.code, message: this.message, hint: this.hint, data: this.data };
  }
}

/** An error in the middle of work: `session` holds everything that happened up to it. */
export class SessionError extends RathError {
  readonly session: Session;

  constructor(session: Session, ...rest: ConstructorParameters<typeof RathError>) {
    super(...rest);
    this.session = session;
  }
}

/** Content that the record cannot hold exactly, so it is refused before anything is recorded. */
export class ContentError extends RathError {
  constructor(path: string, reason: string, hint: string, cause?: unknown) {
    super("content-refused", `Cannot record ${path}: ${reason}.`, { hint, data: { path, reason }, cause });
  }
}

/** A fact that is not of the closed union: unknown type, missing field, wrong kind of field. */
export class FactError extends RathError {
  constructor(type: string, reason: string, hint: string) {
    super("fact-refused", `Cannot append a fact of type ${JSON.stringify(type)}: ${reason}.`, {
      hint,
      data: { type, reason },
    });
  }
}

/** A line that is not a record line: damaged, foreign, or of a newer format. */
export class RecordError extends RathError {
  constructor(
    reason: string,
    data: { [key: string]: Json } = {},
    hint = "see docs/format.md for what a record line holds",
  ) {
    super("record-refused", `This is not a record line that can be trusted: ${reason}.`, {
      hint,
      data: { reason, ...data },
    });
  }
}

/** A merge that has no meaning: with itself, with nothing, or adopting a side that is not there. */
export class MergeError extends RathError {
  constructor(reason: string, hint: string) {
    super("merge-refused", `Cannot merge these sessions: ${reason}.`, { hint, data: { reason } });
  }
}

/** Both sides of a merge moved to different places since they parted, and nobody said which to adopt. */
export class PlacementMismatchError extends RathError {
  constructor(ours: string, theirs: string) {
    super(
      "placement-mismatch",
      `Cannot merge a session placed on "${theirs}" into one placed on "${ours}".`,
      {
        hint: `move one side first: ours.merge(theirs.to("${ours}")), or choose a side: { adopt: "ours" }`,
        data: { ours, theirs },
      },
    );
  }
}

/** The question reaches into the part of the past that was not loaded. */
export class BeyondHorizonError extends RathError {
  constructor(question: string, id: string) {
    super("beyond-horizon", `Cannot answer ${question}: the past before ${id.slice(0, 12)} is not loaded.`, {
      hint: "load it with store.load(id, { fetch: true }), which reads what a question needs, or walk it with `for await (… of store.history(id))`",
      data: { question, horizon: id },
    });
  }
}
