import { textOf } from "../agent/model/index.js";
import { forward, type Module } from "../runtime/index.js";
import type { Json, Session } from "../session/index.js";
import {
  called,
  enter,
  type Rebuilds,
  rebuild,
  refusing,
  requireFunction,
  requireModule,
  requireName,
  requireOptions,
} from "../workflow/index.js";
import type { MemorySpace } from "./memory.js";
import { RECALL_OPTIONS, type RecallOptions } from "./recall.js";

export type RememberingOptions = RecallOptions & {
  readonly from: MemorySpace;
  /** The query. Default: the last message of the person. */
  readonly query?: (session: Session) => string;
};

const KNOWN = [...RECALL_OPTIONS, "from", "query"];

/**
 * A module before which a memory is asked about what was said last: an agent inside it reads what was found as notes.
 *
 * ```ts
 * const helper = remembering("helper", agent({ name: "coder", model }), { from: notes, limit: 3 });
 * ```
 */
export function remembering(name: string, module: Module, options: RememberingOptions): Module & Rebuilds {
  requireName(name, "remembering", 'remembering("helper", coder, { from: notes })');
  const where = called("remembering", name);
  const refuse = refusing(where);
  const body = requireModule(module, where);
  requireOptions(options, refuse, "say which memory: { from: notes }", KNOWN);
  const { from, query = saidLast, ...recall } = options;
  if (typeof from?.recall !== "function")
    throw refuse("it does not say which memory", 'from: memory({ name: "notes", scope: "project:rath" })');
  requireFunction(query, "query", refuse, "query: (session) => the text to look for");
  const made: Module & Rebuilds = {
    name,
    kind: "remembering",
    parts: Object.freeze({ [body.name]: body }),
    state: Object.freeze({ memory: from.name, ...(recall as { readonly [option: string]: Json }) }),
    forward: (given) =>
      forward(made, given, async (entered) => {
        const asked = query(entered);
        // Nothing was asked: there is nothing to look for.
        if (asked.trim() === "") return enter(body, entered);
        const { session } = await from.recall(entered, asked, recall);
        return enter(body, session);
      }),
    [rebuild]: ({ memory: _, ...state }, parts) =>
      remembering(name, parts[body.name] as Module, { from, query, ...(state as RecallOptions) }),
  };
  return Object.freeze(made);
}

function saidLast(session: Session): string {
  const last = session.transcript.findLast(({ role }) => role === "user");
  return last?.role === "user" ? textOf(last.content) : "";
}
