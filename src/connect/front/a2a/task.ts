import { textOf } from "../../../agent/model/index.js";
import { type Awaited, detailsOf, type Rath, type Status, statusOf } from "../../../runtime/index.js";
import type { FactId, Failure, Json, Session } from "../../../session/index.js";
import { isWorkflow, transcriptView } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { replySchema } from "../answer.js";

/** A task of A2A as it is sent: what the record says of a run. */
export type A2aTask = {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string; readonly timestamp: string; readonly message?: Json };
  readonly artifacts?: readonly Json[];
  readonly history?: readonly Json[];
};

const STATES: { readonly [status in Status]: string } = {
  finished: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  cancelled: "TASK_STATE_CANCELED",
  waiting: "TASK_STATE_INPUT_REQUIRED",
  open: "TASK_STATE_WORKING",
};

/** The states that a task can be asked for by. */
export const TASK_STATES: ReadonlySet<string> = new Set([
  ...Object.values(STATES),
  "TASK_STATE_UNSPECIFIED",
  "TASK_STATE_SUBMITTED",
  "TASK_STATE_REJECTED",
  "TASK_STATE_AUTH_REQUIRED",
]);

export const TASK_NOTE = "a2a-task";

export type Ids = { readonly taskId: string; readonly contextId: string };

/** The task that a session is the newest of. */
export async function taskOf(rath: Rath, session: Session, ids: Ids, historyLength = 100): Promise<A2aTask> {
  const status = statusOf(session);
  const said = await saidBy(rath, session, status);
  const message = said && agentMessage(`${session.id}-status`, said, ids);
  const text = status === "finished" ? answerIn(session) : undefined;
  return {
    id: ids.taskId,
    contextId: ids.contextId,
    status: { state: STATES[status], timestamp: session.fact.at, ...defined({ message }) },
    ...(text !== undefined && { artifacts: [{ artifactId: "answer", name: "answer", parts: [{ text }] }] }),
    ...(historyLength !== 0 && { history: historyOf(session, ids).slice(-historyLength) }),
  };
}

/** The ids that were noted when a task began. */
export function idsIn(session: Session): Ids | undefined {
  for (let node: Session | undefined = session; node !== undefined; node = node.parents[0]) {
    const { fact } = node;
    if (fact.type === "note" && fact.kind === TASK_NOTE)
      return { taskId: String(fact.taskId), contextId: String(fact.contextId) };
  }
  return undefined;
}

export function agentMessage(messageId: string, parts: readonly Json[], { taskId, contextId }: Ids): Json {
  return { messageId, role: "ROLE_AGENT", parts, taskId, contextId };
}

/** The message in the status of a task: the questions that it waits for, or its failure. */
async function saidBy(rath: Rath, session: Session, status: Status): Promise<readonly Json[] | undefined> {
  if (status === "waiting") {
    const pending = (await rath.pending(session.id)).filter(({ answered }) => !answered);
    const text = pending.map(({ what }) => what).join("\n");
    return [{ text }, { data: { pending: pending.map(askedOf) } }];
  }
  if (status !== "failed") return undefined;
  const { error } = session.fact as { readonly error?: Failure };
  return [{ text: error?.message ?? "It failed." }];
}

function askedOf(one: Awaited): Json {
  return {
    id: one.id,
    type: one.doubt === true ? "in-doubt" : one.type,
    what: one.what,
    ...detailsOf(one),
    ...defined({ expires: one.expires, schema: replySchema(one) }),
  };
}

/** The last message of the agent, if it came after the last question. */
function answerIn({ transcript }: Session): string | undefined {
  const asked = transcript.findLastIndex(({ role }) => role === "user");
  const last = transcript.findLast(
    (message, place) => place > asked && message.role === "assistant" && textOf(message.content) !== "",
  );
  return last?.role === "assistant" ? textOf(last.content) : undefined;
}

function historyOf(session: Session, { taskId, contextId }: Ids): readonly Json[] {
  const { settled, open } = session.view(transcriptView);
  const ids = [...settled, ...open].map(({ id }) => id);
  const asked = askedInside(session);
  return session.transcript.flatMap((message, place) => {
    if ((message.role !== "user" && message.role !== "assistant") || asked.has(ids[place] ?? "")) return [];
    const text = textOf(message.content);
    if (text === "") return [];
    const role = message.role === "user" ? "ROLE_USER" : "ROLE_AGENT";
    return [{ messageId: `${contextId}-${place}`, role, parts: [{ text }], taskId, contextId }];
  });
}

/** Messages of bodies to their agents: a model reads them as the user's, but the sender of the task did not send them. */
function askedInside(session: Session): ReadonlySet<FactId> {
  const asked = new Set<FactId>();
  for (const { id, fact } of session.history())
    if (fact.type === "message-say" && fact.role === "user" && isWorkflow(fact.by)) asked.add(id);
  return asked;
}
