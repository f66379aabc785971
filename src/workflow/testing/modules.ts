import { setTimeout as after } from "node:timers/promises";
import type { Module } from "../../runtime/index.js";
import { step, workflow } from "../index.js";

/** A module that says a word. */
export function says(word: string): Module {
  return workflow(word, async (session) => session.say(word, { by: "agent" }));
}

/** A module that says a word after so many milliseconds. It stops at once when it is told to. */
export function slow(word: string, milliseconds: number): Module {
  const pause = step(
    `pause-${word}`,
    async (_input, { signal }) => {
      await after(milliseconds, undefined, { signal });
    },
    { effect: "read" },
  );
  return workflow(word, { pause }, async (session, parts) =>
    (await parts.pause.call(session)).session.say(word, { by: "agent" }),
  );
}

/** A module that fails as often as it is told to, counted over its life, and then says its word. */
export function fails(word: string, times: number, milliseconds = 0): Module {
  let left = times;
  const attempt = step(
    `attempt-${word}`,
    async (_input, { signal }) => {
      await after(milliseconds, undefined, { signal });
      left -= 1;
      if (left >= 0) throw new Error(`${word} failed`);
      return word;
    },
    { effect: "read" },
  );
  return workflow(word, { attempt }, async (session, parts) =>
    (await parts.attempt.call(session.say(`${word}?`, { by: "agent" }))).session.say(word, { by: "agent" }),
  );
}
