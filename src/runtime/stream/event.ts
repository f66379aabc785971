import type { FactId, Failure, Json, Pending, Session } from "../../session/index.js";
import type { Status } from "../status.js";

/**
 * One event of a run. Events come in causal order: a fact is told once it is durable, and nothing is told before a fact that it
 * depends on. `module` is the name of the module that acts, `branch` the branch of its session, `call` the `model-call` of a
 * piece of an answer.
 */
export type RunEvent = { readonly module: string; readonly branch: string } & (
  | { readonly type: "text" | "reasoning"; readonly text: string; readonly call: FactId }
  /** A piece of the input of a tool call, while the model writes it. `id` is the model's own id of that call. */
  | {
      readonly type: "tool-input";
      readonly id: string;
      readonly tool: string;
      readonly text: string;
      readonly call: FactId;
    }
  /** The structured output as far as it has come; not checked yet. */
  | { readonly type: "object"; readonly object: Json; readonly call: FactId }
  /** The model call failed and is tried again: what came of it so far is void. */
  | { readonly type: "retry"; readonly call: FactId; readonly error: Failure }
  | { readonly type: "tool-call"; readonly id: FactId; readonly tool: string; readonly input: Json }
  /** `id` is that of the `tool-call`; with `error` in place of `output` when the tool failed. */
  | {
      readonly type: "tool-result";
      readonly id: FactId;
      readonly tool: string;
      readonly output?: Json;
      readonly error?: Failure;
    }
  | { readonly type: "fact"; readonly session: Session }
  | { readonly type: "suspended"; readonly session: Session; readonly pending: readonly Pending[] }
  | { readonly type: "end"; readonly session: Session; readonly status: Status }
);
