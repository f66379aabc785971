import type { Session } from "../../session/index.js";
import { tool } from "../tool/index.js";

const numbers = {
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
} as const;

export const add = tool({
  name: "add",
  description: "Adds two numbers.",
  input: numbers,
  effect: "pure",
  run: ({ a, b }) => (a as number) + (b as number),
});

export const broken = tool({
  name: "broken",
  description: "Never works.",
  input: { type: "object" },
  effect: "read",
  run: () => {
    throw new Error("it is broken");
  },
});

/** Whether every call that a model made has exactly one answer in the conversation: "whole", or what is wrong. */
export function answersOf(session: Session): string {
  const asked = new Map<string, number>();
  for (const message of session.transcript) {
    if (message.role === "assistant" && typeof message.content !== "string") {
      for (const part of message.content)
        if (part.type === "tool-call" && part.provider !== true) asked.set(part.call, 0);
    } else if (message.role === "tool") {
      if (!asked.has(message.call)) return `an answer to ${message.call} that nobody asked`;
      if (message.output === undefined && message.error === undefined) return `${message.call} still waits`;
      asked.set(message.call, (asked.get(message.call) ?? 0) + 1);
    }
  }
  for (const [call, answers] of asked) if (answers !== 1) return `${call} has ${answers} answers`;
  return "whole";
}
