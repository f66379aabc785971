import type { Session } from "../../session/index.js";
import { type Budget, forward, type Module } from "../index.js";

/** A module made of a body, as every builder of modules makes them. */
export function moduleOf(
  name: string,
  body: (session: Session) => Promise<Session>,
  options: {
    readonly budget?: Budget;
    readonly state?: Module["state"];
    readonly parts?: Module["parts"];
  } = {},
): Module {
  const { budget, state, parts } = options;
  const module: Module = {
    name,
    ...(state !== undefined && { state }),
    ...(parts !== undefined && { parts }),
    forward: (session) => forward(module, session, body, { budget }),
  };
  return module;
}
