import { type Awaited, type Module, mayAnswer, type Rath } from "../../../runtime/index.js";
import type { FactId, Json, Principal } from "../../../session/index.js";
import { isObject, optionNames } from "../../../util/index.js";
import { requireModule } from "../../../workflow/index.js";
import { giveReplies, isAnswerable } from "../answer.js";
import type { DoorOptions, Handler } from "../door.js";
import { FrontError, jsonOf, RequestError, refusal, requireDoor, whoSent } from "../door.js";
import { Chat } from "./chat.js";
import { idOf } from "./input.js";

export type UiApprovalsOptions = DoorOptions & {
  /** Which names it is about: those that begin with this. Default `ui/`: the chats of `uiStream`. */
  readonly under?: string;
};

/** A request for approval, and the chat that it comes from. */
export type UiAwaited = Awaited & { readonly chat: string };

const OPTIONS = optionNames<Omit<UiApprovalsOptions, keyof DoorOptions>>()("under");

/**
 * The approvers' side of `uiStream`: `GET` lists what waits for the sender, and `POST { chat, of, value }` answers it, as
 * `{ approved: true }` or `{ approved: false, why }`. The run then goes on in this process.
 */
export function uiApprovals(rath: Rath, module: Module, options: UiApprovalsOptions): Handler {
  requireModule(module, "uiApprovals");
  requireDoor("uiApprovals", options, OPTIONS);
  const { under = "ui/", selfApproval = false } = options;
  if (typeof under !== "string")
    throw new FrontError("uiApprovals", "its `under` must be a text", 'under: "ui/"');
  return async (request) => {
    try {
      const who = await whoSent(request, options);
      if (who instanceof Response) return who;
      const sender = { who, selfApproval };
      if (request.method === "GET")
        return Response.json(await waitingFor(rath, sender, under), {
          headers: { "cache-control": "no-store" },
        });
      if (request.method !== "POST")
        throw new RequestError(405, "method-refused", "This method is not answered here.", {
          hint: "GET lists what waits, POST answers it",
        });
      const { chat, of, value } = wordOf(await jsonOf(request, options));
      const waiting = await waitingFor(rath, sender, under);
      if (!waiting.some((one) => one.chat === chat && one.id === of))
        throw new RequestError(409, "answer-refused", "Cannot answer: nothing waits for you under this id.", {
          hint: "GET lists what waits",
          data: { chat, of },
        });
      await giveReplies(rath, chat, [{ of, value }], sender);
      await new Chat({ rath, module, ...sender, version: 7 }, chat).resume();
      return Response.json({ answered: of });
    } catch (error) {
      return refusal(error);
    }
  };
}

async function waitingFor(
  rath: Rath,
  sender: { readonly who: Principal; readonly selfApproval: boolean },
  under: string,
): Promise<readonly UiAwaited[]> {
  const waiting: UiAwaited[] = [];
  for (const { name, waiting: isWaiting } of await rath.unfinished()) {
    if (!isWaiting || !name.startsWith(under)) continue;
    const may = await mayAnswer(rath, name, sender);
    // Questions and signals are for the person in the chat, unless they name somebody.
    for (const one of await rath.pending(name))
      if (!one.answered && isAnswerable(one) && may(one) && isForApprovers(one, sender.who))
        waiting.push({ ...one, chat: name });
  }
  return waiting;
}

function isForApprovers(one: Awaited, who: Principal): boolean {
  if (one.doubt === true || (one.type === "approval-ask" && one.answer === undefined)) return true;
  return one.to?.includes(who) === true;
}

function wordOf(body: unknown): { readonly chat: string; readonly of: FactId; readonly value: Json } {
  if (!isObject(body))
    throw new RequestError(422, "input-broken", "The request cannot be taken: it is not an object.", {
      hint: 'send { "chat": "…", "of": "…", "value": { "approved": true } }',
    });
  const { chat, of, value = null } = body as { readonly [field: string]: unknown };
  return { chat: idOf(chat, "chat"), of: idOf(of, "of") as FactId, value: value as Json };
}
