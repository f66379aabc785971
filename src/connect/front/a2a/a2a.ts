import type { Budget, Module, Rath } from "../../../runtime/index.js";
import type { Json } from "../../../session/index.js";
import { isObject, optionNames } from "../../../util/index.js";
import { requireModule } from "../../../workflow/index.js";
import { type FrontSender, senderOf } from "../answer.js";
import type { DoorOptions, Handler } from "../door.js";
import { FrontError, jsonOf, RequestError, refusal, requireDoor } from "../door.js";
import { A2A_VERSION, type A2aCard, CARD_PATH, cardOf } from "./card.js";
import { callOf, errorOf, idOf, RpcError, resultOf } from "./message.js";
import type { PushOptions } from "./push.js";
import { restCallOf, restError, restResult } from "./rest.js";
import { TaskServer } from "./server.js";

export type A2aOptions = DoorOptions & {
  /** The agent card, which anybody may read. */
  readonly card: A2aCard;
  /** The budget of each task. */
  readonly budget?: Budget;
  /**
   * Lets callers be told of their tasks by POST to an address of theirs, while this process runs. Default false. `true` for
   * public addresses; `{ private: true }` for those of this machine and of private networks, too.
   */
  readonly push?: boolean | PushOptions;
};

const OPTIONS = optionNames<Omit<A2aOptions, keyof DoorOptions>>()("card budget push");

/**
 * A module behind the A2A protocol, version 1.0, over JSON-RPC and over HTTP+JSON (`POST …/message:send`): the card at
 * `/.well-known/agent-card.json`, SendMessage, SendStreamingMessage, GetTask, ListTasks, CancelTask, SubscribeToTask, and push
 * notifications with `push: true`. A task is a run, its context the conversation that it continues; its state is read from the
 * record.
 *
 * ```ts
 * const handler = a2a(rath, assistant, { card, principal: (request) => whoIs(request.headers.get("authorization")) });
 * ```
 */
export function a2a(rath: Rath, module: Module, options: A2aOptions): Handler {
  requireModule(module, "a2a");
  requireDoor("a2a", options, OPTIONS);
  const { push = false } = options;
  if (typeof push !== "boolean" && !isPush(push))
    throw new FrontError(
      "a2a",
      "its `push` is neither true nor an object",
      "push: true, or push: { private: true }",
    );
  const card = cardOf(options.card, push !== false);
  const base = new URL(options.card.url).pathname.replace(/\/$/, "");
  const server = new TaskServer(rath, module, options);
  return async (request) => {
    try {
      if (request.method === "GET" && new URL(request.url).pathname.endsWith(CARD_PATH))
        return Response.json(card);
      const sender = await senderOf(request, options);
      if (sender instanceof Response) return sender;
      return (
        (await rest(request, server, sender, base, options)) ?? (await rpc(request, server, sender, options))
      );
    } catch (error) {
      return refusal(error);
    }
  };
}

/** The answer to a request by HTTP+JSON, if it is one. */
async function rest(
  request: Request,
  server: TaskServer,
  sender: FrontSender,
  base: string,
  options: A2aOptions,
): Promise<Response | undefined> {
  try {
    const call = await restCallOf(request, base, options);
    if (call === undefined) return undefined;
    requireVersion(request);
    const result = await server.serve(call, sender);
    return result instanceof Response ? result : restResult(result);
  } catch (error) {
    return restError(error);
  }
}

async function rpc(
  request: Request,
  server: TaskServer,
  sender: FrontSender,
  options: A2aOptions,
): Promise<Response> {
  let id: Json = null;
  try {
    const body = await jsonOf(request, options);
    id = idOf(body) ?? null;
    const call = callOf(body);
    requireVersion(request);
    const result = await server.serve(call, sender);
    return result instanceof Response ? result : Response.json(resultOf(id, result));
  } catch (error) {
    // Another content type and a body that is too long are errors of HTTP, and broken JSON is one of JSON-RPC.
    if (error instanceof RequestError && (error.status === 413 || error.status === 415)) throw error;
    return Response.json(errorOf(id, error));
  }
}

function requireVersion(request: Request): void {
  const version = request.headers.get("a2a-version") ?? A2A_VERSION;
  if (/^1(\.|$)/.test(version)) return;
  throw new RpcError(
    "VERSION_NOT_SUPPORTED",
    `A2A ${version} is not supported here.`,
    `send A2A-Version: ${A2A_VERSION}`,
  );
}

function isPush(push: unknown): boolean {
  return (
    isObject(push) &&
    Object.entries(push).every(([option, value]) => option === "private" && typeof value === "boolean")
  );
}
