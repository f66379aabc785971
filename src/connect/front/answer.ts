import { type Awaited, mayAnswer, type Rath, type Sender } from "../../runtime/index.js";
import { delegationOf } from "../../runtime/policy/index.js";
import type { FactId, Json, Principal, Session, Settlement } from "../../session/index.js";
import { type DoorOptions, RequestError, whoSent } from "./door.js";

/** The sender of a request. Without `principal` nobody knows who they are: then they neither approve nor settle. */
export type FrontSender = Sender & { readonly isKnown?: boolean };

/** The sender of a request, or the response that refuses it. */
export async function senderOf(request: Request, options: DoorOptions): Promise<FrontSender | Response> {
  const who = await whoSent(request, options);
  if (who instanceof Response) return who;
  const { mayApprove } = options;
  return {
    who,
    selfApproval: options.selfApproval === true,
    isKnown: options.principal !== undefined,
    ...(mayApprove && { mayApprove: (name) => mayApprove(request, name) }),
  };
}

/** Whether a session acts for somebody. */
export function isRequester(session: Session, who: Principal): boolean {
  return delegationOf(session).includes(who);
}

/** Says of what a run waits for whether a sender may answer it. */
export async function answerable(
  rath: Rath,
  name: string,
  sender: FrontSender,
): Promise<(one: Awaited) => boolean> {
  const may = await mayAnswer(rath, name, sender);
  return (one) => may(one) && (sender.isKnown !== false || isQuestion(one));
}

/** Whether it is a question or a signal, and nothing that anybody approves or settles. */
export function isQuestion(one: Awaited): boolean {
  return one.doubt !== true && (one.type !== "approval-ask" || one.answer !== undefined);
}

/** An answer from outside to something that a run waits for. */
export type Reply = { readonly of: FactId; readonly value: Json };

const YES_OR_NO: Json = {
  type: "object",
  properties: {
    approved: { type: "boolean" },
    why: { type: "string" },
    edit: { description: "With approved: true, the arguments to use in place of those that were shown." },
    instead: {
      description: "With approved: false, what came of it when a person did it themselves, or answered.",
    },
  },
  required: ["approved"],
};
const WHAT_BECAME: Json = {
  type: "object",
  properties: {
    decision: {
      enum: ["done", "failed", "again"],
      description: "done: it happened; failed: it did not happen; again: it is executed once more.",
    },
    value: {},
    why: { type: "string" },
  },
  required: ["decision"],
};

/** The schema of a reply; undefined where any value is allowed. */
export function replySchema(one: Awaited): { readonly [key: string]: Json } | undefined {
  const schema =
    one.doubt === true ? WHAT_BECAME : (one.answer ?? (one.type === "approval-ask" ? YES_OR_NO : undefined));
  return schema as { readonly [key: string]: Json } | undefined;
}

/** Whether anybody can answer it at all: a timer answers itself. */
export function isAnswerable(one: Awaited): boolean {
  return one.doubt === true || one.type === "approval-ask" || one.type === "signal-await";
}

/**
 * Gives replies to what a run waits for. All of them are looked at before the first is given. The id of an approval covers
 * every byte of what was shown, so an answer that names it names exactly that.
 */
export async function giveReplies(
  rath: Rath,
  name: string,
  replies: readonly Reply[],
  sender: FrontSender,
): Promise<void> {
  const { who: by } = sender;
  const may = replies.length === 0 ? () => true : await answerable(rath, name, sender);
  const pending = new Map((await rath.pending(name)).map((one) => [one.id, one]));
  const given = replies.map((reply) => {
    const one = pending.get(reply.of);
    if (one === undefined || one.answered || !isAnswerable(one))
      throw new RequestError(409, "answer-refused", "Cannot answer: no request waits for it.", {
        hint: "answer what is asked, once, by its id",
        data: { of: reply.of, waiting: [...pending.keys()] },
      });
    const value = checked(one, reply.value);
    // Anybody who is asked may say no.
    if (!may(one) && (one.to !== undefined || !isRefusal(one, value)))
      throw new RequestError(403, "answer-refused", `Cannot answer: ${by} may not decide this.`, {
        hint:
          one.to === undefined
            ? `another person must decide: rath.${one.doubt === true ? "settle(name, { by, decision })" : "approve(name, { by })"}; or let senders approve their own requests: selfApproval: true`
            : `it is for ${one.to.join(" or ")} to decide`,
        data: { of: one.id, ...(one.to !== undefined && { to: one.to }) },
      });
    return { one, value };
  });
  for (const { one, value } of given) {
    if (one.doubt === true) {
      const { decision, value: outcome, why } = value as { decision: Settlement; value?: Json; why?: string };
      await rath.settle(name, {
        by,
        of: one.id,
        decision,
        ...(outcome !== undefined && { value: outcome }),
        ...(typeof why === "string" && { why }),
      });
    } else if (one.type === "approval-ask" && !isAnswer(one, value)) {
      const { approved, why, edit, instead } = value as Word;
      const decision = { by, ask: one.id, ...(typeof why === "string" && { why }) };
      if (approved) await rath.approve(name, { ...decision, ...(edit !== undefined && { edit }) });
      else if (instead !== undefined) await rath.takeOver(name, { ...decision, value: instead });
      else await rath.reject(name, decision);
    } else await rath.answer(name, one.id, value, by);
  }
}

/** Whether a value answers a question itself, and is not wrapped as the answer to an approval is. */
function isAnswer(one: Awaited, value: Json): boolean {
  return isQuestion(one) && typeof (Object(value) as Partial<Word>).approved !== "boolean";
}

function isRefusal(one: Awaited, value: Json): boolean {
  const { approved, instead } = Object(value) as Partial<Word>;
  return one.type === "approval-ask" && approved === false && instead === undefined;
}

/** The answer to an approval. */
type Word = {
  readonly approved: boolean;
  readonly why?: Json;
  readonly edit?: Json;
  readonly instead?: Json;
};

/** Refuses an ambiguous answer. */
function checked(one: Awaited, value: Json): Json {
  const fields = Object(value) as Partial<Word> & { readonly decision?: Json };
  const fits =
    one.doubt === true
      ? ["done", "failed", "again"].includes(String(fields.decision))
      : one.type !== "approval-ask" ||
        isAnswer(one, value) ||
        (fields.approved === true && fields.instead === undefined) ||
        (fields.approved === false && fields.edit === undefined);
  if (fits) return value;
  throw new RequestError(422, "answer-unclear", "Cannot answer: the answer is neither yes nor no.", {
    hint:
      one.doubt === true
        ? 'say what became of it: { "decision": "done" | "failed" | "again" }'
        : 'say { "approved": true }, with "edit" for other arguments, or { "approved": false, "why": "…" }, with "instead" for what a person did',
    data: { of: one.id },
  });
}
