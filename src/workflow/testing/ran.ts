import { expect } from "vitest";
import { type Module, openRath, type Rath, type RathOptions, RunFailedError } from "../../runtime/index.js";
import type { Fact, FactOf, FactType, Session } from "../../session/index.js";

/** Runs a module on a new session, replays the record to the same id, and gives back where it ended. */
export async function ran(module: Module, text = "go", options: RathOptions = {}): Promise<Session> {
  const rath = openRath({ store: "memory:", ...options });
  try {
    const given = rath.start(text);
    const session = await rath.run(module, given);
    expect(session.descendsFrom(given)).toBe(true);
    await replayed(rath, module, session);
    return session;
  } finally {
    await rath.close();
  }
}

/** Runs a module that shall throw, replays the record to the same id, and gives back what it threw and where it ended. */
export async function failed(
  module: Module,
  text = "go",
): Promise<{ readonly error: unknown; readonly session: Session }> {
  const rath = openRath({ store: "memory:" });
  try {
    const thrown: unknown = await rath.run(module, rath.start(text)).then(
      (session) => expect.fail(`it ended in ${session.fact.type}`),
      (error: unknown) => error,
    );
    if (!(thrown instanceof RunFailedError)) throw thrown;
    await replayed(rath, module, thrown.session);
    return { error: thrown.cause, session: thrown.session };
  } finally {
    await rath.close();
  }
}

async function replayed(rath: Rath, module: Module, session: Session): Promise<void> {
  const again = await rath.replay(session.id, module, { mode: "verify" });
  expect(again.id).toBe(session.id);
}

/** The facts of a session, oldest first. */
export function factsOf(session: Session): readonly Fact[] {
  return [...session.history()].map(({ fact }) => fact);
}

export function typesOf(session: Session): readonly FactType[] {
  return factsOf(session).map(({ type }) => type);
}

/** The facts of one type. */
export function all<Type extends FactType>(session: Session, type: Type): readonly FactOf<Type>[] {
  return factsOf(session).filter((fact): fact is FactOf<Type> => fact.type === type);
}

/** What was said, in order. */
export function saidIn(session: Session): readonly string[] {
  return session.transcript.map((message) =>
    message.role === "tool" ? `tool ${message.name}` : String(message.content),
  );
}
