import { within } from "../../../agent/index.js";
import { textOf } from "../../../agent/model/index.js";
import type { Observation } from "../../../runtime/index.js";
import type { Json } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { type A2aTask, agentMessage, type Ids } from "./task.js";

/** A piece of what is told of a task: the protocol's StreamResponse. */
export type Frame = { readonly [field: string]: Json };

/** The update of a task that an observation of its run makes. */
export function updateIn(observation: Observation, ids: Ids): Frame | undefined {
  if (observation.kind === "delta") return undefined;
  const { session } = observation;
  const { fact } = session;
  if (fact.type === "run-start") return working(ids, fact.at);
  if (fact.type !== "model-reply" || within(session) !== undefined) return undefined;
  const text = textOf(fact.content);
  return text === "" ? undefined : working(ids, fact.at, agentMessage(session.id, [{ text }], ids));
}

function working({ taskId, contextId }: Ids, timestamp: string, message?: Json): Frame {
  const status = { state: "TASK_STATE_WORKING", timestamp, ...defined({ message }) };
  return { statusUpdate: { taskId, contextId, status } };
}

/** The end of what is told of a task, or of a part of it that waits: its artifacts, and its status. */
export function endOf({ id: taskId, contextId, status, artifacts = [] }: A2aTask): readonly Frame[] {
  return [
    ...artifacts.map((artifact) => ({
      artifactUpdate: { taskId, contextId, artifact, append: false, lastChunk: true },
    })),
    { statusUpdate: { taskId, contextId, status } },
  ];
}
