import { type Json, Session } from "../../../session/index.js";
import type { ToolContext } from "../index.js";

/** The context of a call, and what was told on the way. */
export function callContext(signal = new AbortController().signal): ToolContext & { readonly told: Json[] } {
  const session = Session.start("hi").append({ type: "tool-call", name: "t", input: {} });
  const told: Json[] = [];
  return {
    signal,
    key: "k",
    attempt: 1,
    call: session.id,
    session,
    sandbox: () => Promise.reject(new Error("there is no sandbox in this test")),
    record: () => {},
    store: async () => {
      throw new Error("no store here");
    },
    emit: (delta) => told.push(delta),
    secret: (name) => `value of ${name}`,
    redact: (value) => value,
    told,
  };
}
