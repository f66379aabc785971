import { randomUUID } from "node:crypto";
import { CancelledError, type Module, type Rath, RunFailedError, statusOf } from "../../../runtime/index.js";
import { type Json, type Principal, type Session, warnOf } from "../../../session/index.js";
import { FencedError } from "../../../store/index.js";
import { defined, isObject } from "../../../util/index.js";
import { type FrontSender, giveReplies } from "../answer.js";
import { namePart } from "../door.js";
import { EventStream, follow } from "../event-stream.js";
import { takenOver } from "../take-over.js";
import type { A2aOptions } from "./a2a.js";
import { CARD_PATH } from "./card.js";
import { listTasks } from "./list.js";
import type { A2aMessage, Params, RpcCall } from "./message.js";
import { contentOf, countOf, errorOf, messageOf, RpcError, repliesOf, resultOf, textIn } from "./message.js";
import { PushNotifications } from "./push.js";
import { restErrorBody } from "./rest.js";
import { type A2aTask, type Ids, idsIn, TASK_NOTE, taskOf } from "./task.js";
import { endOf, type Frame, updateIn } from "./updates.js";

/** A task that is under way in this process; settled with what kept it from getting on the record, if anything did. */
type Live = { readonly ids: Ids; readonly controller: AbortController; readonly settled: Promise<unknown> };
type Sent = { readonly name: string; readonly live: Live; readonly run: string | undefined };
type Context = { readonly base: Session; readonly contextId: string };
type Found = { readonly name: string; readonly ids: Ids; readonly session: Session | undefined };

/** Where tasks are begun, answered, told and cancelled. */
export class TaskServer {
  readonly #rath: Rath;
  readonly #module: Module;
  readonly #options: A2aOptions;
  readonly #push: PushNotifications | undefined;
  readonly #live = new Map<string, Live>();

  constructor(rath: Rath, module: Module, options: A2aOptions) {
    const { push = false } = options;
    this.#push = push === false ? undefined : new PushNotifications(push === true ? {} : push);
    this.#rath = rath;
    this.#module = module;
    this.#options = options;
  }

  async serve(call: RpcCall, sender: FrontSender): Promise<Json | Response> {
    const { method, params } = call;
    const { who } = sender;
    switch (method) {
      case "SendMessage": {
        const { name, live } = await this.#send(params, sender);
        const { returnImmediately, historyLength } = Object(params.configuration) as Params;
        if (returnImmediately !== true) await over(live);
        return { task: await this.#task(name, live.ids, countOf(historyLength, "historyLength")) };
      }
      case "SendStreamingMessage": {
        const { name, live, run } = await this.#send(params, sender);
        return this.#stream(call, name, live, run);
      }
      case "GetTask": {
        const found = await this.#find(textIn(params, "id"), who);
        await this.#underWay(found, who);
        return await this.#task(found.name, found.ids, countOf(params.historyLength, "historyLength"));
      }
      case "ListTasks":
        return this.#list(params, who);
      case "CancelTask":
        return this.#cancel(textIn(params, "id"), who);
      case "SubscribeToTask": {
        const found = await this.#find(textIn(params, "id"), who);
        const live = await this.#underWay(found, who);
        if (live !== undefined) return this.#stream(call, found.name, live, found.session?.fact.run);
        throw new RpcError(
          "UNSUPPORTED_OPERATION",
          "This task has no run under way.",
          "read it with GetTask",
        );
      }
      case "GetExtendedAgentCard":
        throw new RpcError("UNSUPPORTED_OPERATION", "There is no extended card.", `read ${CARD_PATH}`);
      case "CreateTaskPushNotificationConfig":
      case "GetTaskPushNotificationConfig":
      case "ListTaskPushNotificationConfigs":
      case "DeleteTaskPushNotificationConfig":
        return this.#notifications(method, params, who);
    }
    throw new RpcError(
      "METHOD_NOT_FOUND",
      `There is no method ${JSON.stringify(method)}.`,
      "such as SendMessage, GetTask",
    );
  }

  async #notifications(method: string, params: Params, who: Principal): Promise<Json> {
    const push = this.#requirePush();
    const { name, ids } = await this.#find(textIn(params, "taskId"), who);
    if (method === "GetTaskPushNotificationConfig") return push.get(name, params);
    if (method === "ListTaskPushNotificationConfigs") return push.list(name);
    if (method === "DeleteTaskPushNotificationConfig") return push.delete(name, params);
    return push.set(name, ids.taskId, params);
  }

  #requirePush(): PushNotifications {
    if (this.#push !== undefined) return this.#push;
    throw new RpcError(
      "PUSH_NOTIFICATION_NOT_SUPPORTED",
      "This server sends no push notifications.",
      "use SubscribeToTask",
    );
  }

  /** Begins a task with a message, or goes on with one that waits. */
  async #send(params: Params, sender: FrontSender): Promise<Sent> {
    const message = messageOf(params.message);
    const { taskPushNotificationConfig } = Object(params.configuration) as Params;
    const tells = isObject(taskPushNotificationConfig) ? this.#requirePush() : undefined;
    if (message.taskId !== undefined) {
      const found = await this.#find(message.taskId, sender.who);
      const { name, ids, session } = found;
      await this.#requireAnswer(message, name, ids, session, sender);
      await tells?.set(name, ids.taskId, taskPushNotificationConfig);
      return { name, live: this.#resume(found, sender.who), run: session?.fact.run };
    }
    const { who } = sender;
    const { budget } = this.#options;
    const taskId = randomUUID();
    const name = taskName(who, taskId);
    await tells?.set(name, taskId, taskPushNotificationConfig);
    const { base, contextId } = await this.#context(message.contextId, who);
    const { messageId } = message;
    const told = base
      .append({ type: "note", kind: TASK_NOTE, taskId, contextId, messageId, by: "runtime" })
      .say(contentOf(message), { by: who });
    const live = this.#begin(name, { taskId, contextId }, { who, run: undefined }, (signal) =>
      this.#rath.run(this.#module, told, { name, signal, by: who, ...defined({ budget }) }),
    );
    return { name, live, run: undefined };
  }

  /** Gives the answers of a message to the task that waits for them. */
  async #requireAnswer(
    message: A2aMessage,
    name: string,
    { contextId }: Ids,
    session: Session | undefined,
    sender: FrontSender,
  ): Promise<void> {
    if (message.contextId !== undefined && message.contextId !== contextId)
      throw new RpcError(
        "INVALID_PARAMS",
        "The task belongs to another context.",
        `send contextId ${contextId}`,
      );
    if (session === undefined || this.#live.has(name) || statusOf(session) !== "waiting")
      throw new RpcError(
        "UNSUPPORTED_OPERATION",
        "The task does not wait for an answer.",
        `begin another in its context: leave out taskId, and send contextId ${contextId}`,
      );
    const replies = repliesOf(message, await this.#rath.pending(name));
    await giveReplies(this.#rath, name, replies, sender);
  }

  /** Where a new task begins: at the end of the newest that is over in its context, or with nothing. */
  async #context(given: string | undefined, who: Principal): Promise<Context> {
    if (given !== undefined) {
      const name = contextName(who, given);
      if ((await (await this.#rath.store()).head(name)) !== undefined)
        return { base: await this.#rath.load(name), contextId: given };
    }
    const base = this.#rath.start();
    const contextId = given ?? base.id;
    await this.#rath.save(base, contextName(who, contextId));
    return { base, contextId };
  }

  /** A task as it is under way here. One whose process ended, or whose answers came in another way, goes on. */
  async #underWay(found: Found, who: Principal): Promise<Live | undefined> {
    const { name, session } = found;
    if (session === undefined || this.#live.has(name)) return this.#live.get(name);
    const status = statusOf(session);
    const goesOn =
      status === "open" ||
      (status === "waiting" && (await this.#rath.pending(name)).every(({ answered }) => answered));
    return this.#live.get(name) ?? (goesOn ? this.#resume(found, who) : undefined);
  }

  #resume({ name, ids, session }: Found, who: Principal): Live {
    const rath = this.#rath;
    return this.#begin(name, ids, { who, run: session?.fact.run }, async (signal) => {
      const resume = () => rath.stream.resume(name, this.#module, { signal });
      return (await takenOver(rath, name, resume, () => {}, signal)).result;
    });
  }

  #begin(
    name: string,
    ids: Ids,
    { who, run }: { readonly who: Principal; readonly run: string | undefined },
    go: (signal: AbortSignal) => Promise<Session>,
  ): Live {
    const controller = new AbortController();
    const push = this.#push;
    const unfollow = follow(this.#rath, { name, run }, (observation) => {
      const update = updateIn(observation, ids);
      if (update !== undefined) push?.send(name, update);
    });
    const work = async (): Promise<void> => {
      try {
        await go(controller.signal).catch((error: unknown) => {
          // The outcome is on the record, also when it failed.
          if (!(error instanceof RunFailedError || error instanceof CancelledError)) throw error;
        });
        const store = await this.#rath.store();
        if ((await store.head(name)) === undefined) return;
        const ended = await this.#rath.load(name);
        // Of two tasks side by side the later one to end is what the context goes on from.
        if (!["waiting", "open"].includes(statusOf(ended)))
          await store.save(ended, { name: contextName(who, ids.contextId), force: true });
      } finally {
        unfollow();
        this.#live.delete(name);
        if (push !== undefined)
          for (const frame of endOf(await this.#task(name, ids, 0))) push.send(name, frame);
      }
    };
    const broken = (error: unknown): unknown => {
      // Another process has the task.
      if (!(error instanceof FencedError)) warnOf(error, "OPENRATH_FRONT");
      return error;
    };
    const live: Live = { ids, controller, settled: work().catch(broken) };
    this.#live.set(name, live);
    return live;
  }

  async #find(taskId: string, who: Principal): Promise<Found> {
    const name = taskName(who, taskId);
    const live = this.#live.get(name);
    const known = (await (await this.#rath.store()).head(name)) !== undefined;
    const session = known ? await this.#rath.load(name) : undefined;
    const ids = live?.ids ?? (session === undefined ? undefined : idsIn(session));
    if (ids === undefined) throw new RpcError("TASK_NOT_FOUND", "There is no such task.", "see ListTasks");
    return { name, ids, session };
  }

  async #task(name: string, ids: Ids, historyLength?: number): Promise<A2aTask> {
    const known = (await (await this.#rath.store()).head(name)) !== undefined;
    if (known) return taskOf(this.#rath, await this.#rath.load(name), ids, historyLength);
    const timestamp = this.#rath.services.time();
    return { id: ids.taskId, contextId: ids.contextId, status: { state: "TASK_STATE_SUBMITTED", timestamp } };
  }

  async #cancel(taskId: string, who: Principal): Promise<Json> {
    const found = await this.#find(taskId, who);
    const { name, ids, session } = found;
    const isOver = session !== undefined && !["waiting", "open"].includes(statusOf(session));
    const why = `${who} cancelled the task`;
    // A run that this process continues without a request of this handler ends by itself.
    const isOthers = !this.#live.has(name) && this.#rath.cancel(name, why, who);
    const live =
      this.#live.get(name) ?? (isOver || session === undefined ? undefined : this.#resume(found, who));
    if (!isOthers) live?.controller.abort(new Error(why));
    await live?.settled;
    const task = await this.#task(name, ids);
    if (live === undefined || task.status.state !== "TASK_STATE_CANCELED")
      throw new RpcError(
        "TASK_NOT_CANCELABLE",
        "The task is over and cannot be cancelled.",
        "read it with GetTask",
      );
    return task;
  }

  async #list(params: Params, who: Principal): Promise<Json> {
    const names = await (await this.#rath.store()).names({ under: taskName(who, "") });
    return listTasks(
      this.#rath,
      names.map(({ name }) => name),
      params,
    );
  }

  /** Tells what happens to a task, from how it is now to its end, or until it waits. */
  async #stream({ id }: RpcCall, name: string, live: Live, run: string | undefined): Promise<Response> {
    const { ids } = live;
    const failed = (error: unknown): Frame => (id === undefined ? restErrorBody(error) : errorOf(id, error));
    const stream = new EventStream<Frame>(this.#options, live.controller, {
      late: () =>
        failed(new RpcError("UNSUPPORTED_OPERATION", "The reader is too slow.", "use SubscribeToTask")),
    });
    const send = (frame: Frame): void => stream.send(id === undefined ? frame : resultOf(id, frame));
    // The first event is the state of the task; events that come meanwhile follow it.
    const early: Frame[] = [];
    let telling = false;
    const unfollow = follow(this.#rath, { name, run }, (observation) => {
      const frame = updateIn(observation, ids);
      if (frame === undefined) return;
      if (telling) send(frame);
      else early.push(frame);
    });
    const work = async (): Promise<void> => {
      try {
        send({ task: await this.#task(name, ids) });
        telling = true;
        for (const frame of early) send(frame);
        await over(live);
        for (const frame of endOf(await this.#task(name, ids, 0))) send(frame);
      } catch (error) {
        stream.send(failed(error));
      } finally {
        unfollow();
        stream.end();
      }
    };
    work().catch((error: unknown) => warnOf(error, "OPENRATH_FRONT"));
    return stream.response();
  }
}

function taskName(who: Principal, taskId: string): string {
  return `a2a/${encodeURIComponent(who)}/task/${namePart(taskId)}`;
}

function contextName(who: Principal, contextId: string): string {
  return `a2a/${encodeURIComponent(who)}/context/${namePart(contextId)}`;
}

async function over({ settled }: Live): Promise<void> {
  const error = await settled;
  if (error !== undefined) throw error;
}
