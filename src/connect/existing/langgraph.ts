import { isObject, parseJson } from "../../util/index.js";
import type { ExistingSource } from "./source.js";
import { type Row, sqliteTable } from "./table.js";

/**
 * The checkpoints of LangGraph's SqliteSaver: a thread is a session, and a checkpoint comes after its parent.
 *
 * ```ts
 * langgraphThreads("checkpoints.db");
 * ```
 */
export function langgraphThreads(path: string): ExistingSource {
  const source = sqliteTable(path, "checkpoints", {
    session: "thread_id",
    parent: parentOf,
    at: ({ checkpoint }: Row) => fieldsOf(checkpoint).ts,
    step: ({ metadata }: Row) => `checkpoint: ${String(fieldsOf(metadata).source ?? "of a thread")}`,
  });
  return Object.freeze<ExistingSource>({ ...source, format: "langgraph" });
}

/** The key of the checkpoint before: of a subgraph that begins, the one of the graph around it. */
function parentOf({ thread_id, checkpoint_ns, parent_checkpoint_id, metadata }: Row): string | undefined {
  if (typeof parent_checkpoint_id === "string")
    return JSON.stringify([thread_id, checkpoint_ns ?? "", parent_checkpoint_id]);
  const { parents } = fieldsOf(metadata);
  const around = isObject(parents) ? parents[""] : undefined;
  return typeof around === "string" ? JSON.stringify([thread_id, "", around]) : undefined;
}

/** The fields of a value that the saver wrote as JSON. Those of other serializers say nothing here. */
function fieldsOf(value: unknown): { readonly [field: string]: unknown } {
  const text = value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : value;
  const found = typeof text === "string" ? parseJson(text) : undefined;
  return isObject(found) ? found : {};
}
