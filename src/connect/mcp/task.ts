import type { Transport } from "@modelcontextprotocol/client";

/** The extension of the protocol by which a call is answered with a task, which the client reads until it is over. */
export const TASKS = "io.modelcontextprotocol/tasks";

/** A call that a server goes on with by itself, as it is recorded before anybody waits for it. */
export type TaskHandle = {
  readonly id: string;
  /** Milliseconds after which the server wants to be asked. */
  readonly poll?: number;
  /** The questions that were answered: the server may show them for a while longer. */
  readonly answered?: readonly string[];
};

/** The task that a result stands for, if it does. */
export function taskIn(result: unknown): TaskHandle | undefined {
  const { _meta } = fieldsOf(result);
  const { taskId, pollIntervalMs, pollInterval } = fieldsOf(fieldsOf(_meta)[TASKS]);
  if (typeof taskId !== "string") return undefined;
  const poll = Number(pollIntervalMs ?? pollInterval);
  return { id: taskId, ...(poll > 0 && { poll }) };
}

/**
 * Makes the results that stand for tasks pass: the package knows no result of their type, so what they say is put where a
 * result may hold anything. A task of 2026 has its fields in the result, one of 2025 in a field of it.
 */
export function foldTasks<Given extends Transport>(transport: Given): Given {
  let listener = transport.onmessage;
  Object.defineProperty(transport, "onmessage", {
    configurable: true,
    get: () =>
      listener &&
      ((message: unknown, extra: unknown) => listener?.(folded(message) as never, extra as never)),
    set: (next: typeof listener) => {
      listener = next;
    },
  });
  return transport;
}

function folded(message: unknown): unknown {
  const { result } = fieldsOf(message);
  const { resultType, task, _meta, ...fields } = fieldsOf(result);
  const told = resultType === "task" ? fields : typeof fieldsOf(task).taskId === "string" ? task : undefined;
  if (told === undefined) return message;
  return {
    ...fieldsOf(message),
    result: {
      ...(resultType !== undefined && { resultType: "complete" }),
      content: [],
      _meta: { ...fieldsOf(_meta), [TASKS]: told },
    },
  };
}

function fieldsOf(value: unknown): { readonly [field: string]: unknown } {
  return typeof value === "object" && value !== null ? (value as { readonly [field: string]: unknown }) : {};
}
