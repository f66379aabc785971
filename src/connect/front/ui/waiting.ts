import { type Awaited, detailsOf } from "../../../runtime/index.js";
import type { FactId, Json, Session } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { answerable, type Reply, replySchema } from "../answer.js";
import { RequestError } from "../door.js";
import type { UiChunk } from "./chunk.js";
import type { UiInput } from "./input.js";
import type { UiDoor } from "./options.js";
import type { UiTeller } from "./teller.js";

/** The requests that a run waits for, as parts of its message: an approval at its tool call, and each as a data part. */
export async function awaitedChunks(
  door: UiDoor,
  name: string,
  session: Session,
  teller: UiTeller,
): Promise<readonly UiChunk[]> {
  if (session.fact.type !== "run-suspend") return [];
  const { rath } = door;
  const may = await answerable(rath, name, door);
  const chunks: UiChunk[] = [];
  for (const one of await rath.pending(name)) {
    if (one.answered) continue;
    const call = await callOf(rath, one);
    const toolCallId = call === undefined ? undefined : teller.callId(call);
    if (one.type === "approval-ask" && one.answer === undefined && toolCallId !== undefined)
      chunks.push({
        type: "tool-approval-request",
        approvalId: one.id,
        toolCallId,
        ...defined({ reason: one.why }),
      });
    const kind = one.doubt === true ? "in-doubt" : one.answer !== undefined ? "question" : KINDS[one.type];
    const schema = replySchema(one);
    const data = {
      ...defined({ kind: kind ?? one.type, what: one.what, toolCallId, schema, expires: one.expires }),
      ...detailsOf(one),
      mayAnswer: may(one),
    };
    chunks.push({ type: "data-awaited", id: one.id, data: data as { readonly [field: string]: Json } });
  }
  return chunks;
}

const KINDS: { readonly [type: string]: string } = {
  "approval-ask": "approval",
  "signal-await": "signal",
  "timer-set": "timer",
};

/**
 * The answers in what a front end posts to what the run waits for now. Its messages hold every earlier answer too, so
 * what nobody waits for is left out.
 */
export async function repliesIn(
  input: UiInput,
  { rath }: Pick<UiDoor, "rath">,
  pending: readonly Awaited[],
  callIn: (id: string) => FactId | undefined,
): Promise<readonly Reply[]> {
  const open = pending.filter(({ answered }) => !answered);
  const replies: Reply[] = [...input.answers];
  for (const { id, approved, reason } of input.approvals) {
    const one = open.find((asked) => asked.id === id);
    if (one !== undefined) replies.push({ of: one.id, value: { approved, ...defined({ why: reason }) } });
  }
  const calls = new Map<FactId | undefined, Awaited>();
  for (const one of open) calls.set((await callOf(rath, one))?.id, one);
  for (const { call, output, error } of input.outputs) {
    const id = callIn(call);
    const one = id === undefined ? undefined : calls.get(id);
    if (one === undefined) continue;
    // A call whose result the client gives: a question, a tool without `execute`, or an approval that is taken over.
    if (one.type === "signal-await") replies.push({ of: one.id, value: output ?? { error: error ?? "" } });
    else if (error === undefined)
      replies.push({ of: one.id, value: { approved: false, instead: output ?? null } });
    else replies.push({ of: one.id, value: { approved: false, why: error } });
  }
  const twice = replies.find(({ of }, place) => replies.findIndex((reply) => reply.of === of) !== place);
  if (twice !== undefined)
    throw new RequestError(422, "answer-unclear", "Cannot answer: two answers to one request.", {
      hint: "answer each request once",
      data: { of: twice.of },
    });
  return replies;
}

/** Tells of calls that wait inside an agent which is used as a tool: without them nobody could answer there. */
export async function tellCalls(rath: UiDoor["rath"], name: string, teller: UiTeller): Promise<void> {
  for (const one of await rath.pending(name)) {
    const call = await callOf(rath, one);
    if (call !== undefined) teller.callId(call);
  }
}

/** The tool call that something is awaited for. */
async function callOf(rath: UiDoor["rath"], { id }: Awaited): Promise<Session | undefined> {
  const store = await rath.store();
  const asked = await store.load(id);
  const { of } = asked.fact as { readonly of?: unknown };
  const call = asked.fact.type === "tool-call" || typeof of !== "string" ? asked : await store.load(of);
  return call.fact.type === "tool-call" ? call : undefined;
}
