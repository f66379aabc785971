import type { Module, Rath } from "../../../runtime/index.js";
import { defined, optionNames } from "../../../util/index.js";
import { requireModule } from "../../../workflow/index.js";
import { senderOf } from "../answer.js";
import type { DoorOptions, Handler } from "../door.js";
import { FrontError, jsonOf, namePart, RequestError, refusal, requireDoor } from "../door.js";
import { Chat } from "./chat.js";
import { idOf, inputOf } from "./input.js";
import type { UiDoor, UiOptions } from "./options.js";

const OPTIONS = optionNames<Omit<UiOptions, keyof DoorOptions>>()("name budget version");

/**
 * A module behind the AI SDK's `useChat`: a chat is a session under a name, and each message a turn of it.
 *
 * ```ts
 * const handler = uiStream(rath, clerk, { principal: (request) => whoIs(request.headers.get("authorization")) });
 * const { url } = await serve(handler, { port: 3000 });
 * ```
 *
 * `POST <api>` answers a message as a UI message stream; `GET <api>/<chat id>/stream` attaches to the answer that is under
 * way (204 without one); `GET <api>/<chat id>` gives the messages; `DELETE <api>/<chat id>` stops the answer.
 */
export function uiStream(rath: Rath, module: Module, options: UiOptions): Handler {
  requireModule(module, "uiStream");
  requireDoor("uiStream", options, OPTIONS);
  const { name, version = 7 } = options;
  if (name !== undefined && typeof name !== "function")
    throw new FrontError("uiStream", "its `name` must be a function", "name: (chatId, who) => …");
  if (![5, 6, 7].includes(version))
    throw new FrontError("uiStream", "its `version` must be 5, 6 or 7", "version: 7");
  return async (request) => {
    try {
      const sender = await senderOf(request, options);
      if (sender instanceof Response) return sender;
      const { who } = sender;
      const { maxWaiting, onDisconnect, budget } = options;
      const limits = defined({ maxWaiting, onDisconnect, budget });
      const door: UiDoor = { ...limits, ...sender, rath, module, version };
      const chatOf = (id: string) =>
        new Chat(door, name?.(id, who) ?? `ui/${encodeURIComponent(who)}/${namePart(id)}`);
      if (request.method === "POST") {
        const input = inputOf(await jsonOf(request, options));
        return await chatOf(input.thread).post(input);
      }
      const { id, isStream } = placeOf(request);
      if (request.method === "GET" && isStream)
        return (await chatOf(id).attach()) ?? new Response(null, { status: 204, headers: NOT_KEPT });
      if (request.method === "GET") {
        const messages = await chatOf(id).messages();
        if (messages !== undefined) return Response.json(messages, { headers: NOT_KEPT });
        throw new RequestError(404, "chat-unknown", "There is no such chat.", {
          hint: "begin it: POST a first message with this id",
          data: { id },
        });
      }
      if (request.method === "DELETE" && !isStream)
        return Response.json({ stopped: chatOf(id).stop() }, { headers: NOT_KEPT });
      throw new RequestError(405, "method-refused", "This method is not supported here.", {
        hint: "POST <api>, GET <api>/<chat id>/stream, GET or DELETE <api>/<chat id>",
      });
    } catch (error) {
      return refusal(error);
    }
  };
}

const NOT_KEPT = { "cache-control": "no-store" };

/** The chat that a URL names at its end. */
function placeOf({ url }: Request): { readonly id: string; readonly isStream: boolean } {
  const path = new URL(url).pathname.split("/").filter((segment) => segment !== "");
  const isStream = path.length > 1 && path.at(-1) === "stream";
  const last = path.at(isStream ? -2 : -1) ?? "";
  try {
    return { id: idOf(decodeURIComponent(last), "the chat id in the URL"), isStream };
  } catch (error) {
    if (error instanceof RequestError) throw error;
    throw new RequestError(400, "url-broken", "The chat id in the URL is not valid.", {
      hint: "encode it with encodeURIComponent",
    });
  }
}
