import type { CallToolResult } from "@modelcontextprotocol/client";
import { isGivenUp } from "../../runtime/index.js";
import type { Json } from "../../session/index.js";
import type { SamplingOptions } from "./asking.js";
import type { Answers, CallContext, Called, CallSettings, Resume } from "./call.js";
import { callInRounds, emitted, ParkedCall, requestsIn } from "./call.js";
import { connect } from "./connect.js";
import { type Definition, definitionsIn, type Refused } from "./definition.js";
import {
  McpAnswerError,
  McpCallGoneError,
  McpConnectError,
  McpTimeoutError,
  McpToolChangedError,
} from "./error.js";
import { Secrets } from "./http.js";
import type { Limits } from "./limits.js";
import type { Fields, Link, LinkOptions, Root } from "./link.js";
import type { Peer } from "./peer.js";
import { awaitChange, sleep } from "./resource.js";
import type { TaskHandle } from "./task.js";
import type { Version, Watch } from "./tools.js";

/** Milliseconds between two questions for a task, unless the server says otherwise; nobody is asked more often than that. */
const POLL_MILLISECONDS = 1_000;
const SHORTEST_POLL = 50;
/** Losses of the connection in a row after which a task is given up. */
const LOSSES = 10;

export type ConnectionOptions = {
  readonly limits: Limits;
  readonly sampling: SamplingOptions | undefined;
  readonly elicitation: boolean;
  readonly tasks: boolean;
  readonly roots: readonly Root[] | undefined;
};

/** The tools that a server has now. */
export type Listed = {
  readonly tools: ReadonlyMap<string, Definition>;
  readonly refused: readonly Refused[];
  /** Whether there were more than are taken. */
  readonly more: boolean;
};

/** The way to one server: connected when it is first needed, used again, and connected anew when it was lost. */
export class Connection {
  readonly name: string;
  readonly secrets = new Secrets();
  readonly sampling: SamplingOptions | undefined;
  readonly #peer: Peer;
  readonly #options: ConnectionOptions;
  readonly #parked = new Map<string, ParkedCall>();
  #roots: readonly Root[] | undefined;
  #link: Promise<Link> | undefined;
  #listed: { readonly link: Link; readonly listed: Promise<Listed> } | undefined;
  /** The end of the line of those that only one at a time may be. */
  #turn: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(peer: Peer, options: ConnectionOptions) {
    this.name = peer.name;
    this.#peer = peer;
    this.#options = options;
    this.sampling = options.sampling;
    this.#roots = options.roots;
  }

  /** The connection as it is, or a new one. */
  async link(): Promise<Link> {
    if (this.#closed) throw new McpConnectError(this.name, "its connection was closed here");
    const known = this.#link;
    if (known !== undefined) {
      const link = await known.catch(() => undefined);
      if (link?.open === true) return link;
      if (this.#link === known) this.#link = undefined;
      void link?.close();
    }
    this.#link ??= connect(this.#linkOptions()).then(async (link) => {
      if (!this.#closed) return link;
      await link.close();
      throw new McpConnectError(this.name, "its connection was closed here");
    });
    return this.#link;
  }

  /** The tools of the server: listed once for each connection, and again when the server says that they changed. */
  async listed(link: Link): Promise<Listed> {
    if (this.#listed?.link !== link || link.changed) {
      link.changed = false;
      const listed = this.#list(link);
      listed.catch(() => {
        if (this.#listed?.listed === listed) this.#listed = undefined;
      });
      this.#listed = { link, listed };
    }
    return this.#listed.listed;
  }

  async #list(link: Link): Promise<Listed> {
    if (!link.has("tools")) return { tools: new Map(), refused: [], more: false };
    const { items, more } = await link.list("tools/list", "tools");
    const { tools, refused } = definitionsIn(items.map((one) => this.secrets.json(one as Json)));
    return { tools: new Map(tools.map((one) => [one.name, one])), refused, more };
  }

  /** Does something with the connection; once more if the server had forgotten it and nothing was begun. */
  async use<Value>(act: (link: Link) => Promise<Value>): Promise<Value> {
    const known = await this.#link?.catch(() => undefined);
    const link = await this.link();
    try {
      return await act(link);
    } catch (error) {
      if (link !== known || !(error instanceof McpConnectError)) throw error;
      return act(await this.link());
    }
  }

  /** Calls a tool, unless its definition has changed since it was agreed to. */
  async call(definition: Definition, input: Json, context: CallContext): Promise<Called> {
    return this.use(async (link) => {
      await this.#verify(link, definition);
      if (link.era === "modern") return callInRounds(link, definition, input, this.#settings(), context);
      return this.#alone(link, definition, { input }, context);
    });
  }

  /** Waits for a task of the server, however often the connection is lost meanwhile. */
  async follow(definition: Definition, task: TaskHandle, context: CallContext): Promise<Called> {
    const link = await this.link();
    const cancel = (): void => {
      // A run whose process ends, or that another process took over, waits for the task again.
      if (isGivenUp(context.signal)) return;
      void this.#askOf(task, "tasks/cancel").catch(() => {});
    };
    context.signal.addEventListener("abort", cancel, { once: true });
    try {
      if (link.era === "modern") return await this.#poll(definition, task, context);
      return await this.#alone(link, definition, { task, milliseconds: this.#options.limits.task }, context);
    } finally {
      context.signal.removeEventListener("abort", cancel);
    }
  }

  /** Answers what a task asked. The server ignores what it was told before. */
  async reply(task: TaskHandle, answers: Answers): Promise<Called> {
    await this.#askOf(task, "tasks/update", { inputResponses: answers });
    return { task: { ...task, answered: [...(task.answered ?? []), ...Object.keys(answers)] } };
  }

  /** Gives a resource as soon as its digest is another than that of `after`. */
  async awaitResource(watch: Watch, signal: AbortSignal): Promise<Version> {
    const end = performance.now() + (watch.wait ?? this.#options.limits.deadline);
    return this.use((link) =>
      awaitChange(link, watch, { server: this.name, secrets: this.secrets, end }, signal),
    );
  }

  /** Asks for a task until it is over, or wants to know something. */
  async #poll(definition: Definition, task: TaskHandle, context: CallContext): Promise<Called> {
    const what = `the call of ${JSON.stringify(definition.name)}`;
    const settings = this.#settings();
    const end = performance.now() + this.#options.limits.task;
    let message: unknown;
    for (let losses = 0; ; ) {
      let found: Fields;
      try {
        found = await this.#askOf(task, "tasks/get", {}, context.signal);
        losses = 0;
      } catch (error) {
        // Reading a task changes nothing: it is read again, perhaps of another process of the server.
        losses += 1;
        if (error instanceof McpAnswerError || context.signal.aborted || losses > LOSSES) throw error;
        await sleep(POLL_MILLISECONDS, context.signal);
        continue;
      }
      const { status, result, error, inputRequests, statusMessage, pollIntervalMs } = found;
      if (status === "completed") {
        if (typeof result === "object" && result !== null) return { result: result as CallToolResult };
        throw new McpAnswerError(this.name, what, "its task is completed without a result");
      }
      if (status === "cancelled") throw new McpAnswerError(this.name, what, "its task was cancelled");
      if (status === "failed") {
        const { code, message: words, data } = (error ?? {}) as Fields;
        throw new McpAnswerError(this.name, what, this.secrets.text(String(words ?? statusMessage)), {
          ...(typeof code === "number" && { code }),
          ...(data !== undefined && { data: this.secrets.json(data as Json) }),
        });
      }
      if (status === "input_required") {
        const open = Object.entries((inputRequests ?? {}) as Fields).filter(
          ([key]) => task.answered?.includes(key) !== true,
        );
        const { questions, samples, given } = requestsIn(Object.fromEntries(open), settings);
        if (questions.length + samples.length > 0) return { questions, samples, resume: { task, given } };
        if (Object.keys(given).length > 0) return this.reply(task, given);
      } else if (status !== "working")
        throw new McpAnswerError(this.name, what, `its task is ${JSON.stringify(status)}`);
      if (statusMessage !== undefined && statusMessage !== message)
        context.emit(
          emitted(this.name, this.secrets.json({ status: status as string, message: String(statusMessage) })),
        );
      message = statusMessage;
      const pause = Number(pollIntervalMs ?? task.poll ?? POLL_MILLISECONDS);
      const left = end - performance.now();
      if (left <= 0) throw new McpTimeoutError(this.name, what, this.#options.limits.task);
      await sleep(
        Math.min(Math.max(pause, SHORTEST_POLL), left, this.#options.limits.deadline),
        context.signal,
      );
    }
  }

  #askOf(task: TaskHandle, method: string, more: Fields = {}, signal?: AbortSignal): Promise<Fields> {
    return this.use((link) =>
      link.ask(method, { taskId: task.id, ...more }, signal === undefined ? {} : { signal }),
    );
  }

  /** Goes on with a call whose questions were answered. */
  async answer(
    definition: Definition,
    input: Json,
    context: CallContext,
    answers: { readonly resume: Resume; readonly of: Answers },
  ): Promise<Called> {
    const { parked, task } = answers.resume;
    if (parked === undefined)
      return this.use(async (link) => {
        await this.#verify(link, definition);
        return callInRounds(link, definition, input, this.#settings(), context, answers);
      });
    const call = this.#parked.get(parked);
    if (call === undefined) {
      // A call without effects can be made again, with the same answers; a task is there without us.
      if (definition.effect === "write" && task === undefined)
        throw new McpCallGoneError(this.name, definition.name);
      const again = await (task === undefined
        ? this.call(definition, input, context)
        : this.follow(definition, task, context));
      if (!("resume" in again) || again.resume.parked === undefined) return again;
      return this.answer(definition, input, context, { ...answers, resume: again.resume });
    }
    this.#parked.delete(parked);
    call.answer(answers.of);
    return this.#followed(call, context);
  }

  /** Gives up a call whose question nobody is going to answer. */
  drop(parked: string, why: unknown): void {
    const call = this.#parked.get(parked);
    if (call === undefined) return;
    this.#parked.delete(parked);
    call.drop(why instanceof Error ? why : new Error(String(why)));
    void call.link.close();
  }

  /** Sets the roots whose files the server may see. */
  async setRoots(roots: readonly Root[]): Promise<void> {
    this.#roots = roots;
    const link = await this.#link?.catch(() => undefined);
    if (link?.open !== true) return;
    await link.rootsChanged();
  }

  async close(): Promise<void> {
    this.#closed = true;
    const link = await this.#link?.catch(() => undefined);
    const links = new Set([...this.#parked.values()].map((call) => call.link));
    if (link !== undefined) links.add(link);
    this.#parked.clear();
    await Promise.all([...links].map((one) => one.close()));
  }

  async #verify(link: Link, { name, digest }: Definition): Promise<void> {
    const current = (await this.listed(link)).tools.get(name);
    if (current?.digest !== digest)
      throw new McpToolChangedError(this.name, name, digest, current?.digest ?? null);
  }

  /** Before 2026 nothing says which call a question belongs to: where questions are allowed, calls go one by one. */
  async #alone(
    link: Link,
    definition: Definition,
    of: ConstructorParameters<typeof ParkedCall>[2],
    context: CallContext,
  ): Promise<Called> {
    const { sampling, elicitation } = this.#options;
    if (sampling === undefined && !elicitation)
      return "input" in of
        ? callInRounds(link, definition, of.input, this.#settings(), context)
        : new ParkedCall(link, definition, of, this.#settings(), context).next(context);
    const before = this.#turn;
    let done: () => void = () => {};
    this.#turn = new Promise<void>((resolve) => {
      done = resolve;
    });
    try {
      await before;
      // The call before may have kept the connection.
      const free = await this.link();
      await this.#verify(free, definition);
      return await this.#followed(new ParkedCall(free, definition, of, this.#settings(), context), context);
    } finally {
      done();
    }
  }

  /** A call that asks keeps its connection to itself; others get a new one. */
  async #followed(call: ParkedCall, context: CallContext): Promise<Called> {
    let called: Called | undefined;
    try {
      called = await call.next(context);
      return called;
    } finally {
      const known = await this.#link?.catch(() => undefined);
      if (called !== undefined && "questions" in called) {
        if (known === call.link) this.#link = undefined;
        this.#parked.set(call.id, call);
      } else {
        call.link.helper = undefined;
        if (known !== call.link) void call.link.close();
      }
    }
  }

  #settings(): CallSettings {
    return {
      server: this.name,
      sampling: this.sampling !== undefined,
      elicitation: this.#options.elicitation,
      roots: this.#roots,
      deadline: this.#options.limits.deadline,
    };
  }

  #linkOptions(): LinkOptions {
    const { limits, sampling, elicitation, tasks } = this.#options;
    return {
      peer: this.#peer,
      limits,
      secrets: this.secrets,
      sampling: sampling !== undefined,
      elicitation,
      tasks,
      roots: this.#options.roots === undefined ? undefined : () => this.#roots ?? [],
    };
  }
}
