import { RathError } from "../../session/index.js";

/** LangGraph's own package is not installed. */
export class PeerMissingError extends RathError {
  constructor(name: string, use: string, cause: unknown) {
    super("peer-missing", `Cannot ${use}: the package ${name} is not installed.`, {
      hint: `npm install ${name}`,
      data: { package: name },
      cause,
    });
  }
}

/** A saver was given something that it cannot keep or find by. */
export class SaverInputError extends RathError {
  constructor(attempt: string, reason: string, hint: string) {
    super("langgraph-input", `Cannot ${attempt}: ${reason}.`, { hint, data: { attempt, reason } });
  }
}

/** Two graphs ran on one thread at once, and this one was told to stop rather than to go on as a branch. */
export class ThreadConflictError extends RathError {
  constructor(thread: string, checkpoint: string) {
    super(
      "langgraph-conflict",
      `Cannot go on from checkpoint ${checkpoint} of thread ${JSON.stringify(thread)}: another run went on from it meanwhile.`,
      {
        hint: 'run it again: it goes on from the newest checkpoint; or let both be kept as branches: rathSaver(store, { race: "fork" })',
        data: { thread, checkpoint },
      },
    );
  }
}

/** Under the name of a thread there is a session of another one. */
export class ThreadMismatchError extends RathError {
  constructor(thread: string, name: string, recorded: readonly string[]) {
    const others = recorded.slice(0, 3).map((each) => JSON.stringify(each.slice(0, 200).toWellFormed()));
    super(
      "langgraph-mismatch",
      `Cannot use thread ${JSON.stringify(thread)}: the session ${name} is of thread ${others.join(", ")}.`,
      {
        hint: `use the thread by its own id, or give the session another name: store.point(NAME, ID), then store.forget(${JSON.stringify(name)})`,
        data: { thread, name, recorded: recorded.slice(0, 3) },
      },
    );
  }
}

/** A checkpoint needs content that the record does not hold. */
export class CheckpointUnreadableError extends RathError {
  constructor(checkpoint: string, reason: string, hint: string) {
    super("langgraph-unreadable", `Cannot read checkpoint ${checkpoint}: ${reason}.`, {
      hint,
      data: { checkpoint, reason },
    });
  }
}
