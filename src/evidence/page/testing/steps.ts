import type { Session } from "../../../session/index.js";

/** A clock that goes on by a second each time it is asked. */
export function clock(): () => string {
  let seconds = 0;
  return () => new Date(Date.UTC(2026, 0, 2, 3, 5, seconds++)).toISOString();
}

/** A step of an agent: a reply of a model that calls a tool, and its result. */
export function step(session: Session, tool: string, output: string, at: () => string): Session {
  const asked = session.append({ type: "model-call", model: "small-1", at: at() });
  const replied = asked.append({
    type: "model-reply",
    of: asked.id,
    content: `I call ${tool}.`,
    finish: "tool-calls",
    usage: { input: 10, output: 2 },
    cost: 0.5,
    milliseconds: 20,
    at: at(),
  });
  const called = replied.append({ type: "tool-call", name: tool, input: { file: "a" }, at: at() });
  return called.append({ type: "tool-result", of: called.id, output, milliseconds: 5, at: at() });
}
