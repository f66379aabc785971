import { type JsonObject, type Tool, tool } from "../../../agent/tool/index.js";
import {
  asJson,
  type FactInput,
  type Json,
  type Session,
  type View,
  Withheld,
} from "../../../session/index.js";
import { isObject, optionNames } from "../../../util/index.js";
import { requireOptions } from "../../../workflow/index.js";
import { FrontError } from "../door.js";
import { type PatchOperation, patched, patchOf } from "./patch.js";

/** The note of what a front end sent of its app: the state, tools and context that changed. */
export const APP_NOTE = "agui-app";
const PATCH_NOTE = "agui-patch";

/** The key of the app's state under which ours is sent. */
export const OWN_KEY = "openrath";

/**
 * The state that an app shares with its agents by AG-UI: as the front end sent it last, with the patches of `stateTool`.
 * Without one it is an empty object.
 *
 * ```ts
 * const cook = agent({ name: "cook", model, tools: [stateTool()], instructions: (session) => `The recipe: ${JSON.stringify(appState(session))}` });
 * ```
 */
export function appState(session: Session): Json {
  return session.view(stateView);
}

const stateView: View<Json> = {
  start: Object.freeze({}),
  step(state, fact) {
    if (fact.type !== "note") return state;
    if (fact.kind === APP_NOTE && fact.state !== undefined) return known(fact.state);
    const operations = patchIn(fact);
    if (operations === undefined) return state;
    const next = patched(state, operations);
    return "value" in next ? next.value : state;
  },
};

/** A state that was erased is empty. */
function known(state: unknown): Json {
  return state instanceof Withheld ? {} : (state as Json);
}

/** The operations of a patch that an agent made, if the fact is one. */
export function patchIn(fact: {
  readonly type: string;
  readonly kind?: unknown;
  readonly patch?: unknown;
}): readonly PatchOperation[] | undefined {
  return fact.type === "note" && fact.kind === PATCH_NOTE ? patchOf(fact.patch) : undefined;
}

/** The state of the app as it is sent, with ours under its own key. A state that is not an object is left as it is. */
export function withOwn(state: Json, own: Json): Json {
  return isObject(state) ? { ...(state as JsonObject), [OWN_KEY]: own } : state;
}

/** The state of the app alone. */
export function withoutOwn(state: Json): Json {
  if (!isObject(state)) return state;
  const { [OWN_KEY]: _, ...rest } = state as JsonObject;
  return rest;
}

export type StateToolOptions = {
  /** Default "update_state". */
  readonly name?: string;
  readonly description?: string;
};

const OPTIONS = optionNames<StateToolOptions>()("name description");

/** A tool with which an agent changes the state of the app: the front end receives a STATE_DELTA. */
export function stateTool(options: StateToolOptions = {}): Tool {
  const refuse = (reason: string, hint: string): Error => new FrontError("stateTool", reason, hint);
  requireOptions(options, refuse, "stateTool({ name })", OPTIONS);
  const { name = "update_state", description = DESCRIPTION } = options;
  return tool({
    name,
    description,
    input: INPUT,
    effect: "idempotent",
    origin: "trusted",
    conflicts: ["agui-state"],
    run: ({ patch }, { session, record }) => {
      const operations = patchOf(patch);
      if (operations === undefined) throw new Error("`patch` must be a list of add, replace and remove");
      if (operations.some(({ path }) => path === `/${OWN_KEY}` || path.startsWith(`/${OWN_KEY}/`)))
        throw new Error(`"/${OWN_KEY}" is not a part of the state of the app`);
      const state = appState(session);
      const next = patched(state, operations);
      if ("fault" in next)
        throw new Error(`${next.fault} does not fit the state, which is ${JSON.stringify(state)}`);
      record({ type: "note", kind: PATCH_NOTE, patch: asJson(operations) } as FactInput);
      return "The state is updated.";
    },
  }) as Tool;
}

const DESCRIPTION =
  "Changes the state that the user sees in the app, with the operations of JSON Patch (RFC 6902): add, replace, remove.";

const INPUT = {
  type: "object",
  properties: {
    patch: {
      type: "array",
      items: {
        type: "object",
        properties: {
          op: { type: "string", enum: ["add", "replace", "remove"] },
          path: {
            type: "string",
            description: 'Where, as a JSON Pointer, such as "/recipe/title" or "/items/-".',
          },
          value: { description: "The new value, for add and replace." },
        },
        required: ["op", "path"],
      },
    },
  },
  required: ["patch"],
} as const;
