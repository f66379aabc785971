import type { Awaited, Module, Rath } from "../../runtime/index.js";
import type { FactId, Json } from "../../session/index.js";
import { defined, isObject, optionNames } from "../../util/index.js";
import { isModule } from "../../workflow/index.js";
import {
  answerable,
  type FrontSender,
  giveReplies,
  isAnswerable,
  isQuestion,
  replySchema,
  senderOf,
} from "./answer.js";
import {
  type DoorOptions,
  FrontError,
  type Handler,
  jsonOf,
  RequestError,
  refusal,
  requireDoor,
} from "./door.js";
import { Chat } from "./ui/chat.js";

export type ApprovalsOptions = Omit<DoorOptions, "open" | "maxWaiting" | "onDisconnect"> & {
  /** The sessions that it is about: those whose names begin with this. Default: all. */
  readonly under?: string;
  /** The module of a run, by the name of its session: with it, a run goes on in this process once it is answered. */
  readonly module?: (name: string) => Module | undefined;
};

/** Something that waits for a person, and the name of the session that it comes from. */
export type AwaitedAnswer = Awaited & { readonly name: string; readonly schema?: Json };

const OPTIONS = optionNames<Omit<ApprovalsOptions, keyof DoorOptions>>()("under module");

/**
 * The door of approvers, beside the doors of those who ask: let in approvers alone. `GET` lists what waits for the sender, in all sessions: approvals,
 * calls in doubt, and questions that name them. `POST { name, of, value }` answers one: `{ approved: true }`, or with `edit`;
 * `{ approved: false, why }`, or with `instead`; `{ decision: "done" | "failed" | "again" }` for a call in doubt; and anything
 * for a question. `digest` refuses the answer if something else was shown.
 *
 * ```ts
 * const handler = approvals(rath, { principal: (request) => whoIs(request.headers.get("authorization")) });
 * ```
 */
export function approvals(rath: Rath, options: ApprovalsOptions): Handler {
  requireDoor("approvals", options, OPTIONS);
  const { under = "", module } = options;
  if (options.principal === undefined)
    throw new FrontError("approvals", "nobody knows who approves", 'principal: (request) => "user:ada"');
  if (typeof under !== "string")
    throw new FrontError("approvals", "its `under` must be a text", 'under: "agui/"');
  if (module !== undefined && typeof module !== "function")
    throw new FrontError("approvals", "its `module` must be a function", "module: (name) => clerk");
  return async (request) => {
    try {
      const sender = await senderOf(request, options);
      if (sender instanceof Response) return sender;
      if (request.method === "GET")
        return Response.json({ awaited: await waitingFor(rath, sender, under) }, { headers: FRESH });
      if (request.method !== "POST")
        throw new RequestError(405, "method-refused", "This method is not supported here.", {
          hint: "GET lists what waits, POST answers it",
        });
      const { name, of, value, digest } = wordOf(await jsonOf(request, options));
      const one = (await waitingFor(rath, sender, under)).find((one) => one.name === name && one.id === of);
      if (one === undefined || (digest !== undefined && digest !== one.digest))
        throw new RequestError(409, "answer-refused", "Cannot answer: no such request waits for you.", {
          hint: "GET lists what waits, with its digest",
          data: { name, of },
        });
      await giveReplies(rath, name, [{ of, value }], sender);
      const next = module?.(name);
      // The run goes on as an answer of a chat, so that the readers of a chat can attach to it.
      if (isModule(next)) await new Chat({ rath, module: next, ...sender, version: 7 }, name).resume();
      return Response.json({ answered: of }, { headers: FRESH });
    } catch (error) {
      return refusal(error);
    }
  };
}

const FRESH = { "cache-control": "no-store" };

/** The requests that a sender may decide, and the questions that name them. */
async function waitingFor(rath: Rath, sender: FrontSender, under: string): Promise<readonly AwaitedAnswer[]> {
  const found: AwaitedAnswer[] = [];
  for (const { name, waiting } of await rath.unfinished()) {
    if (!waiting || !name.startsWith(under)) continue;
    const may = await answerable(rath, name, sender);
    for (const one of await rath.pending(name)) {
      if (one.answered || !isAnswerable(one) || !may(one)) continue;
      if (isQuestion(one) && one.to?.includes(sender.who) !== true) continue;
      found.push({ ...one, name, ...defined({ schema: replySchema(one) }) });
    }
  }
  return found;
}

type Word = { readonly name: string; readonly of: FactId; readonly value: Json; readonly digest?: string };

function wordOf(body: unknown): Word {
  const fields = isObject(body) ? body : {};
  const { name, of, value, digest } = fields;
  if (typeof name === "string" && typeof of === "string" && value !== undefined)
    return { name, of, value: value as Json, ...(typeof digest === "string" && { digest }) };
  throw new RequestError(422, "input-broken", "Cannot read the answer: it does not name a request.", {
    hint: 'send { "name": "…", "of": "…", "value": { "approved": true } }, with the name and id that GET lists',
  });
}
