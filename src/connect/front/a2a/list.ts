import type { Rath } from "../../../runtime/index.js";
import type { Json } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { countOf, type Params, RpcError } from "./message.js";
import { type A2aTask, idsIn, TASK_STATES, taskOf } from "./task.js";

/** The tasks of these sessions that a call asks for: newest first, a page of them. */
export async function listTasks(rath: Rath, names: readonly string[], params: Params): Promise<Json> {
  const { includeArtifacts } = params;
  const contextId = textOrNone(params, "contextId");
  const pageToken = textOrNone(params, "pageToken");
  const status = textOrNone(params, "status");
  const since = textOrNone(params, "statusTimestampAfter");
  const size = countOf(params.pageSize, "pageSize", 1, 100) ?? 50;
  const historyLength = countOf(params.historyLength, "historyLength") ?? 0;
  if (status !== undefined && !TASK_STATES.has(status)) throw wrong("status", "TASK_STATE_WORKING");
  if (since !== undefined && (!TIME.test(since) || Number.isNaN(Date.parse(since))))
    throw wrong("statusTimestampAfter", "2030-01-01T09:00:00Z");
  if (pageToken !== undefined && !TOKEN.test(pageToken)) throw wrong("pageToken", "the nextPageToken before");
  const found: A2aTask[] = [];
  for (const name of names) {
    const session = await rath.load(name);
    const ids = idsIn(session);
    if (ids === undefined || (contextId !== undefined && ids.contextId !== contextId)) continue;
    const { artifacts, ...task } = await taskOf(rath, session, ids, historyLength);
    const { state, timestamp } = task.status;
    if (status !== undefined && status !== "TASK_STATE_UNSPECIFIED" && state !== status) continue;
    if (since !== undefined && Date.parse(timestamp) < Date.parse(since)) continue;
    found.push({ ...task, ...(includeArtifacts === true && defined({ artifacts })) });
  }
  found.sort((one, other) => (keyOf(one) < keyOf(other) ? 1 : -1));
  const after = pageToken === undefined ? found : found.filter((task) => keyOf(task) < pageToken);
  const tasks = after.slice(0, size);
  const last = tasks.at(-1);
  return {
    tasks,
    nextPageToken: after.length > size && last !== undefined ? keyOf(last) : "",
    pageSize: tasks.length,
    totalSize: found.length,
  };
}

/** Newest first, and no two alike. */
function keyOf({ status, id }: A2aTask): string {
  return `${status.timestamp} ${id}`;
}

/** RFC 3339: Date.parse also reads other texts, such as "-1". */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i;
const TOKEN = /^\d{4}-\S+ \S+$/;

function textOrNone(params: Params, field: string): string | undefined {
  const value = params[field];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw wrong(field, "a text");
}

function wrong(field: string, example: string): RpcError {
  return new RpcError("INVALID_PARAMS", `The ${field} cannot be read.`, `such as ${example}`);
}
