import { randomUUID } from "node:crypto";
import { within } from "../../../agent/index.js";
import { textOf } from "../../../agent/model/index.js";
import { CancelledError, type Module, type Rath, RunFailedError, statusOf } from "../../../runtime/index.js";
import { type Json, type Principal, type Session, warnOf } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { giveReplies } from "../answer.js";
import { EventStream, follow } from "../event-stream.js";
import type { A2aOptions } from "./a2a.js";
import { CARD_PATH } from "./card.js";
import type { A2aMessage, Params, RpcCall } from "./message.js";
import { contentOf, errorOf, messageOf, RpcError, repliesOf, resultOf } from "./message.js";
import { type A2aTask, agentMessage, type Ids, idsIn, TASK_NOTE, taskOf } from "./task.js";

/** A task that is under way in this process; settled with what kept it from getting on the record, if anything did. */
type Live = { readonly ids: Ids; readonly controller: AbortController; readonly settled: Promise<unknown> };
type Sent = { readonly name: string; readonly live: Live; readonly run: string | undefined };
type Context = { readonly base: Session; readonly contextId: string };
type Found = { readonly name: string; readonly ids: Ids; readonly session: Session | undefined };
type Frame = { readonly [field: string]: Json };

/** Where tasks are begun, answered, told and cancelled. */
export class TaskServer {
  readonly #rath: Rath;
  readonly #module: Module;
  readonly #options: A2aOptions;
  readonly #live = new Map<string, Live>();

  constructor(rath: Rath, module: Module, options: A2aOptions) {
    this.#rath = rath;
    this.#module = module;
    this.#options = options;
  }

  async serve({ id, method, params }: RpcCall, who: Principal): Promise<Json | Response> {
    switch (method) {
      case "SendMessage": {
        const { name, live } = await this.#send(messageOf(params.message), who);
        const { returnImmediately, historyLength } = Object(params.configuration) as Params;
        if (returnImmediately !== true) await over(live);
        return { task: await this.#task(name, live.ids, lengthOf(historyLength)) };
      }
      case "SendStreamingMessage": {
        const { name, live, run } = await this.#send(messageOf(params.message), who);
        return this.#stream(id, name, live, run);
      }
      case "GetTask": {
        const { name, ids } = await this.#find(params.id, who);
        return await this.#task(name, ids, lengthOf(params.historyLength));
      }
      case "ListTasks":
        return this.#list(params, who);
      case "CancelTask":
        return this.#cancel(params.id, who);
      case "SubscribeToTask": {
        const { name, session } = await this.#find(params.id, who);
        const live = this.#live.get(name);
        if (live !== undefined) return this.#stream(id, name, live, session?.fact.run);
        throw new RpcError(
          "UNSUPPORTED_OPERATION",
          "Nothing of this task is under way.",
          "read it with GetTask",
        );
      }
      case "GetExtendedAgentCard":
        throw new RpcError("UNSUPPORTED_OPERATION", "There is no further card.", `read ${CARD_PATH}`);
    }
    if (method.includes("PushNotification"))
      throw new RpcError(
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
        "Nobody is notified from here.",
        "use SubscribeToTask",
      );
    throw new RpcError(
      "METHOD_NOT_FOUND",
      `There is no method ${JSON.stringify(method)}.`,
      "such as SendMessage, GetTask",
    );
  }

  /** Begins a task with a message, or goes on with one that waits. */
  async #send(message: A2aMessage, who: Principal): Promise<Sent> {
    if (message.taskId !== undefined) return this.#answer(message, message.taskId, who);
    const { budget } = this.#options;
    const taskId = randomUUID();
    const name = taskName(who, taskId);
    const { base, contextId } = await this.#context(message.contextId, who);
    const { messageId } = message;
    const told = base
      .append({ type: "note", kind: TASK_NOTE, taskId, contextId, messageId, by: "runtime" })
      .say(contentOf(message), { by: who });
    const live = this.#begin(name, { taskId, contextId }, who, (signal) =>
      this.#rath.run(this.#module, told, { name, signal, by: who, ...defined({ budget }) }),
    );
    return { name, live, run: undefined };
  }

  async #answer(message: A2aMessage, taskId: string, who: Principal): Promise<Sent> {
    const { name, ids, session } = await this.#find(taskId, who);
    if (message.contextId !== undefined && message.contextId !== ids.contextId)
      throw new RpcError(
        "INVALID_PARAMS",
        "The task is of another context.",
        `send contextId ${ids.contextId}`,
      );
    if (session === undefined || this.#live.has(name) || statusOf(session) !== "waiting")
      throw new RpcError(
        "UNSUPPORTED_OPERATION",
        "The task waits for nothing.",
        `begin another in its context: leave out taskId, and send contextId ${ids.contextId}`,
      );
    const { selfApproval = false } = this.#options;
    const replies = repliesOf(message, await this.#rath.pending(name));
    await giveReplies(this.#rath, name, replies, { who, selfApproval });
    const live = this.#begin(name, ids, who, (signal) => this.#rath.resume(name, this.#module, { signal }));
    return { name, live, run: session.fact.run };
  }

  /** Where a new task begins: at the end of the newest that is over in its context, or with nothing. */
  async #context(contextId: string | undefined, who: Principal): Promise<Context> {
    if (contextId === undefined) {
      const base = this.#rath.start();
      await this.#rath.save(base, contextName(who, base.id));
      return { base, contextId: base.id };
    }
    const name = contextName(who, contextId);
    if ((await (await this.#rath.store()).head(name)) === undefined)
      throw new RpcError("INVALID_PARAMS", "There is no such context.", "leave out contextId to begin one");
    return { base: await this.#rath.load(name), contextId };
  }

  #begin(name: string, ids: Ids, who: Principal, go: (signal: AbortSignal) => Promise<Session>): Live {
    const controller = new AbortController();
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
        this.#live.delete(name);
      }
    };
    const broken = (error: unknown): unknown => {
      warnOf(error, "OPENRATH_FRONT");
      return error;
    };
    const live: Live = { ids, controller, settled: work().catch(broken) };
    this.#live.set(name, live);
    return live;
  }

  async #find(taskId: unknown, who: Principal): Promise<Found> {
    const name = taskName(who, String(taskId));
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

  async #cancel(taskId: unknown, who: Principal): Promise<Json> {
    const { name, ids, session } = await this.#find(taskId, who);
    const waits = session !== undefined && statusOf(session) === "waiting";
    const resume = (signal: AbortSignal) => this.#rath.resume(name, this.#module, { signal });
    const live = this.#live.get(name) ?? (waits ? this.#begin(name, ids, who, resume) : undefined);
    live?.controller.abort(new Error(`${who} cancelled the task`));
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
    const { contextId, status, pageSize = 50, pageToken, historyLength = 0 } = params;
    const { includeArtifacts, statusTimestampAfter } = params;
    const size = Number(pageSize);
    if (!Number.isSafeInteger(size) || size < 1 || size > 100)
      throw new RpcError("INVALID_PARAMS", "A page holds 1 to 100 tasks.", 'send "pageSize": 50');
    const names = await (await this.#rath.store()).names({ under: taskName(who, "") });
    const found: A2aTask[] = [];
    for (const { name } of names) {
      const session = await this.#rath.load(name);
      const ids = idsIn(session);
      if (ids === undefined || (isText(contextId) && ids.contextId !== contextId)) continue;
      const { artifacts, ...task } = await taskOf(this.#rath, session, ids, lengthOf(historyLength));
      const { state, timestamp } = task.status;
      if (isText(status) && status !== "TASK_STATE_UNSPECIFIED" && state !== status) continue;
      if (isText(statusTimestampAfter) && Date.parse(timestamp) < Date.parse(statusTimestampAfter)) continue;
      found.push({ ...task, ...(includeArtifacts === true && defined({ artifacts })) });
    }
    found.sort((one, other) => (keyOf(one) < keyOf(other) ? 1 : -1));
    const after = isText(pageToken) ? found.filter((task) => keyOf(task) < pageToken) : found;
    const tasks = after.slice(0, size);
    const last = tasks.at(-1);
    return {
      tasks,
      nextPageToken: after.length > size && last !== undefined ? keyOf(last) : "",
      pageSize: tasks.length,
      totalSize: found.length,
    };
  }

  /** Tells what happens to a task, from how it is now to its end, or until it waits. */
  async #stream(id: Json, name: string, live: Live, run: string | undefined): Promise<Response> {
    const { ids } = live;
    const { taskId, contextId } = ids;
    const stream = new EventStream<Frame>(this.#options, live.controller, {
      late: () =>
        errorOf(id, new RpcError("UNSUPPORTED_OPERATION", "The reader is too slow.", "use SubscribeToTask")),
    });
    const send = (result: Frame): void => stream.send(resultOf(id, result));
    const working = (timestamp: string, message?: Json): void => {
      const status = { state: "TASK_STATE_WORKING", timestamp, ...defined({ message }) };
      send({ statusUpdate: { taskId, contextId, status } });
    };
    // The first event is the state of the task; events that come meanwhile follow it.
    const early: (() => void)[] = [];
    let telling = false;
    const unfollow = follow(this.#rath, { name, run }, (observation) => {
      if (observation.kind === "delta") return;
      const { session } = observation;
      const { fact } = session;
      const tell = (): void => {
        if (fact.type === "run-start") working(fact.at);
        if (fact.type !== "model-reply" || within(session) !== undefined) return;
        const text = textOf(fact.content);
        if (text !== "") working(fact.at, agentMessage(session.id, [{ text }], ids));
      };
      if (telling) tell();
      else early.push(tell);
    });
    const work = async (): Promise<void> => {
      try {
        send({ task: await this.#task(name, ids) });
        telling = true;
        for (const tell of early) tell();
        await over(live);
        const { status, artifacts = [] } = await this.#task(name, ids, 0);
        for (const artifact of artifacts)
          send({ artifactUpdate: { taskId, contextId, artifact, append: false, lastChunk: true } });
        send({ statusUpdate: { taskId, contextId, status } });
      } catch (error) {
        stream.send(errorOf(id, error));
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
  return `a2a/${encodeURIComponent(who)}/task/${encodeURIComponent(taskId)}`;
}

function contextName(who: Principal, contextId: string): string {
  return `a2a/${encodeURIComponent(who)}/context/${encodeURIComponent(contextId)}`;
}

/** Newest first, and no two alike. */
function keyOf({ status, id }: A2aTask): string {
  return `${status.timestamp} ${id}`;
}

function lengthOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

async function over({ settled }: Live): Promise<void> {
  const error = await settled;
  if (error !== undefined) throw error;
}
