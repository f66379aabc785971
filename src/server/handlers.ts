import { againHandlers } from "./act/again.js";
import { answerHandlers } from "./act/answers.js";
import { branchHandlers } from "./act/branches.js";
import { eraseHandlers } from "./act/erase.js";
import { runHandlers } from "./act/runs.js";
import type { Handlers } from "./call.js";
import { identityHandlers } from "./identity/handlers.js";
import { readHandlers } from "./read/handlers.js";

/** The functions of the operations. */
export const handlers: Handlers = {
  ...identityHandlers,
  ...readHandlers,
  ...runHandlers,
  ...answerHandlers,
  ...branchHandlers,
  ...againHandlers,
  ...eraseHandlers,
  events: ({ live, identity, request }) => live.open(identity, request.headers.get("last-event-id")),
};
