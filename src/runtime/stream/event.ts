import type { FactId, FactOf, Failure, Json, Pending, Session } from "../../session/index.js";
import type { Status } from "../status.js";

/**
 * One event of a run. Events come in causal order: a fact is told once it is durable, and nothing is told before a fact that it
 * depends on. `module` is the name of the module that acts, `branch` the branch of its session, `call` the `model-call` of a
 * piece of an answer.
 */
export type RunEvent = {
  readonly module: string;
  readonly branch: string;
} /** A module begins, the outermost one of a run too. `id` is the same at its end. */ & (
  | { readonly type: "module-start"; readonly id: FactId; readonly session: Session }
  /** With `error` when the module threw. */
  | {
      readonly type: "module-end";
      readonly id: FactId;
      readonly session: Session;
      readonly error?: Failure;
    }
  /** A step of an agent begins: its model is asked. */
  | { readonly type: "model-call"; readonly call: FactId; readonly model: string; readonly session: Session }
  /** The model answered; with `error` in place of the answer when it failed. */
  | {
      readonly type: "model-reply";
      readonly call: FactId;
      readonly session: Session;
      readonly text?: string;
      readonly finish?: string;
      readonly usage?: FactOf<"model-reply">["usage"];
      /** In US dollars; absent when the price of the model is not known. */
      readonly cost?: number;
      readonly error?: Failure;
    }
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
  /** The model call failed and is tried again; its earlier pieces are void. */
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
  /** A handoff, or the choice of a selector. */
  | {
      readonly type: "route";
      readonly chosen: string | null;
      readonly why?: string;
      readonly session: Session;
    }
  | { readonly type: "fact"; readonly session: Session }
  | { readonly type: "suspended"; readonly session: Session; readonly pending: readonly Pending[] }
  | { readonly type: "end"; readonly session: Session; readonly status: Status }
);
