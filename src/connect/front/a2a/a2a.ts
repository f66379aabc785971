import type { Budget, Module, Rath } from "../../../runtime/index.js";
import type { Json } from "../../../session/index.js";
import { optionNames } from "../../../util/index.js";
import { requireModule } from "../../../workflow/index.js";
import { type DoorOptions, type Handler, jsonOf, refusal, requireDoor, whoSent } from "../door.js";
import { A2A_VERSION, type A2aCard, CARD_PATH, cardOf } from "./card.js";
import { callOf, errorOf, RpcError, resultOf } from "./message.js";
import { TaskServer } from "./server.js";

export type A2aOptions = DoorOptions & {
  /** The agent card, which anybody may read. */
  readonly card: A2aCard;
  /** The budget of each task. */
  readonly budget?: Budget;
};

const OPTIONS = optionNames<Omit<A2aOptions, keyof DoorOptions>>()("card budget");

/**
 * A module behind the A2A protocol, version 1.0, over JSON-RPC: the card at `/.well-known/agent-card.json`, and SendMessage,
 * SendStreamingMessage, GetTask, ListTasks, CancelTask and SubscribeToTask. A task is a run, its context the root of the
 * session it goes on from; its state is read from the record.
 *
 * ```ts
 * const handler = a2a(rath, assistant, { card, principal: (request) => whoIs(request.headers.get("authorization")) });
 * ```
 */
export function a2a(rath: Rath, module: Module, options: A2aOptions): Handler {
  requireModule(module, "a2a");
  requireDoor("a2a", options, OPTIONS);
  const card = cardOf(options.card);
  const server = new TaskServer(rath, module, options);
  return async (request) => {
    try {
      if (request.method === "GET" && new URL(request.url).pathname.endsWith(CARD_PATH))
        return Response.json(card);
      const who = await whoSent(request, options);
      if (who instanceof Response) return who;
      const body = await jsonOf(request, options);
      const version = request.headers.get("a2a-version") ?? A2A_VERSION;
      let id: Json = null;
      try {
        const call = callOf(body);
        id = call.id;
        if (!/^1(\.|$)/.test(version))
          throw new RpcError(
            "VERSION_NOT_SUPPORTED",
            `A2A ${version} is not spoken here.`,
            `send A2A-Version: ${A2A_VERSION}`,
          );
        const result = await server.serve(call, who);
        return result instanceof Response ? result : Response.json(resultOf(id, result));
      } catch (error) {
        return Response.json(errorOf(id, error));
      }
    } catch (error) {
      return refusal(error);
    }
  };
}
