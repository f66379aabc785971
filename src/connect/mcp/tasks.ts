import { randomBytes } from "node:crypto";
import type { CallToolResult, McpServer, ServerContext } from "@modelcontextprotocol/server";
import { type Module, mayAnswer, type Rath, statusOf } from "../../runtime/index.js";
import type { FactOf, Principal, Session } from "../../session/index.js";
import { defined } from "../../util/index.js";
import type { Desk } from "./conduct.js";
import { brief, loadServer } from "./error.js";
import { type Abilities, abilityFor, askable, type Given, questionsOf } from "./form.js";
import { began, gave, type Report, RUNS, reportIn, type Waiting, waitingFor } from "./served.js";
import { TASKS } from "./task.js";

/** Milliseconds after which a client should read a task again. */
const POLL_MILLISECONDS = 500;

/** Something offered that is called: what runs, and how its report is told. */
export type Call = {
  readonly of: string;
  readonly module: Module;
  readonly told: (report: Report) => CallToolResult | Promise<CallToolResult>;
};

type Live = { readonly controller: AbortController; readonly settled: Promise<void> };
type Task = { readonly taskId: string; readonly status: string; readonly [field: string]: unknown };

/**
 * Calls as tasks. A task is a run: its id is the name of the run, and its state is read from the record, so that it
 * outlives the request, the connection and this process. A task whose process ended goes on when it is next read.
 */
export class Tasks {
  readonly #rath: Rath;
  readonly #names: readonly string[] | true;
  /** Runs that are under way here. */
  readonly #live = new Map<string, Live>();
  /** Why an answer was refused, and the key under which it is asked for again: a key is never used twice. */
  readonly #again = new Map<string, { readonly problem: string; readonly key: string }>();
  /** A key that was answered in a process before this one must not come back for another try. */
  readonly #mark = randomBytes(3).toString("hex");

  constructor(rath: Rath, names: readonly string[] | true) {
    this.#rath = rath;
    this.#names = names;
  }

  /** Whether a call is a task: the server decides, but only for a client that says it knows tasks. */
  takes(of: string, { extensions }: Abilities): boolean {
    return extensions?.[TASKS] !== undefined && (this.#names === true || this.#names.includes(of));
  }

  /** Begins a task, and returns it once its run is on the record. */
  async begin(
    desk: Desk,
    { of, module }: Call,
    input: { readonly task: string; readonly session?: string | undefined },
  ): Promise<CallToolResult> {
    const run = `${RUNS}${of}/${randomBytes(16).toString("hex")}`;
    const given = { task: input.task, ...defined({ session: input.session }) };
    let stop: () => void = () => {};
    const recorded = new Promise<void>((resolve) => {
      stop = this.#rath.observe((event) => {
        const { fact } = event.kind === "fact" ? event.session : event.request;
        if (fact.type === "run-start" && fact.name === run) resolve();
      });
    });
    let refused: unknown;
    const live = this.#follow(run, (signal) =>
      began(this.#rath, module, run, given, desk, signal).catch((error: unknown) => {
        refused = error;
      }),
    );
    try {
      await Promise.race([recorded, live.settled]);
    } finally {
      stop();
    }
    const session = await this.#find(desk.by, run);
    if (session === undefined) throw refused;
    // The fields of a task stand where those of a result would.
    return { resultType: "task", ...common(session, run), status: "working" } as never;
  }

  /** Answers the methods of the extension. */
  async offer(server: McpServer, desk: Desk, calls: () => ReadonlyMap<string, Call>): Promise<void> {
    const { MissingRequiredClientCapabilityError, ProtocolError, ProtocolErrorCode } = await loadServer();
    const known = (context: ServerContext): void => {
      if (desk.abilities(context).extensions?.[TASKS] === undefined)
        throw new MissingRequiredClientCapabilityError({
          requiredCapabilities: { extensions: { [TASKS]: {} } },
        });
    };
    const handle = (
      method: string,
      act: (taskId: string, context: ServerContext) => Promise<{ readonly [field: string]: unknown }>,
    ): void =>
      server.server.setRequestHandler(
        method,
        { params: NAMED },
        (params: unknown, context: ServerContext) => {
          known(context);
          const { taskId } = (params ?? {}) as { readonly taskId?: unknown };
          if (typeof taskId !== "string")
            throw new ProtocolError(ProtocolErrorCode.InvalidParams, "The task has no taskId.");
          return act(taskId, context);
        },
      );
    handle("tasks/get", async (taskId, context) => {
      const session = await this.#find(desk.by, taskId);
      if (session !== undefined) return this.#read(desk, session, taskId, calls(), context);
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "There is no task of this id.");
    });
    // The protocol wants both of these acknowledged, whether the task is there or not.
    handle("tasks/update", async (taskId, context) => {
      const module = await this.#unfinished(desk.by, taskId, calls());
      if (module !== undefined) await this.#answer(desk, taskId, module, context);
      return {};
    });
    handle("tasks/cancel", async (taskId) => {
      const module = await this.#unfinished(desk.by, taskId, calls());
      if (module === undefined) return {};
      const live = this.#live.get(taskId) ?? this.#goOn(taskId, module);
      live.controller.abort(new Error(`${desk.by} cancelled the task`));
      return {};
    });
  }

  /** A task as its record shows it. */
  async #read(
    desk: Desk,
    session: Session,
    run: string,
    calls: ReadonlyMap<string, Call>,
    context: ServerContext,
  ): Promise<Task> {
    const task = common(session, run);
    const status = statusOf(session);
    if (status === "cancelled") return { ...task, status };
    const call = calls.get(ofRun(run));
    if (call === undefined)
      return failed(task, -32603, `${JSON.stringify(ofRun(run))} is no longer offered.`);
    if (status === "finished" || status === "failed")
      return { ...task, status: "completed", result: await call.told(reportIn(session, run)) };
    const pending = await this.#rath.pending(run);
    const may = await mayAnswer(this.#rath, run, desk.sender);
    // Until the run has come to rest, a call without an outcome is under way, or cut off: nobody is asked about it.
    const rests = status === "waiting";
    const open = waitingFor(
      pending.filter(({ answered, doubt }) => !answered && (rests || doubt !== true)),
      may,
    ).map((one) => ({ ...one, ...defined({ problem: this.#again.get(one.id)?.problem }) }));
    const abilities = desk.abilities(context);
    const asked = askable(open, abilities);
    const missing = asked.map((one) => abilityFor(one)).find((one) => one && abilities[one] === undefined);
    if (missing !== undefined)
      return failed(task, -32021, `The client lacks the capability "${missing}".`, {
        requiredCapabilities: { [missing]: {} },
      });
    if (asked.length > 0) {
      const { inputRequests } = questionsOf(asked, await loadServer(), (one) => this.#keyOf(one));
      return { ...task, status: "input_required", inputRequests };
    }
    // A process that ended left it, or an answer came in another way. A timer that is not due suspends it again.
    if (
      !this.#live.has(run) &&
      (!rests || open.length === 0 || open.some(({ kind }) => kind === "timer-set"))
    )
      this.#goOn(run, call.module);
    const waits = open.map(({ kind, name }) => `${kind} ${name}`.trim()).join(", ");
    return {
      ...task,
      status: "working",
      ...(waits !== "" && { statusMessage: brief(`It waits for somebody: ${waits}`, 500) }),
    };
  }

  /** Gives the answers that fit, and goes on. A run that is under way is answered when it has come to rest. */
  async #answer(desk: Desk, run: string, module: Module, context: ServerContext): Promise<void> {
    const responses = Object.entries(context.mcpReq.inputResponses ?? {});
    const give = async (): Promise<void> => {
      const answers = new Map<string, Given>();
      for (const one of waitingFor(await this.#rath.pending(run), () => true)) {
        const found = responses.find(([key]) => key === this.#keyOf(one));
        if (found !== undefined) answers.set(one.id, found[1] as Given);
      }
      if (answers.size === 0) return;
      const problems = await gave(this.#rath, run, answers, desk.sender);
      for (const [id, problem] of problems)
        this.#again.set(id, { problem, key: randomBytes(3).toString("hex") });
      if (problems.size < answers.size) this.#goOn(run, module);
    };
    const live = this.#live.get(run);
    if (live === undefined) await give();
    else void live.settled.then(give).catch(() => {});
  }

  #keyOf({ id, name }: Waiting): string {
    return `${name === "" ? "ask" : name}-${id.slice(0, 12)}-${this.#again.get(id)?.key ?? this.#mark}`;
  }

  #goOn(run: string, module: Module): Live {
    return this.#follow(run, (signal) => this.#rath.resume(run, module, { signal }));
  }

  /** Lets a run go on without anybody who waits for it. How it came out is on the record, or another process has it. */
  #follow(run: string, act: (signal: AbortSignal) => Promise<unknown>): Live {
    const controller = new AbortController();
    const before = this.#live.get(run)?.settled ?? Promise.resolve();
    const settled = before
      .then(() => act(controller.signal))
      .then(
        () => {},
        () => {},
      )
      .finally(() => {
        if (this.#live.get(run) === live) this.#live.delete(run);
      });
    const live = { controller, settled };
    this.#live.set(run, live);
    return live;
  }

  /** The run of a task that is not over, as what it runs. */
  async #unfinished(
    by: Principal,
    taskId: string,
    calls: ReadonlyMap<string, Call>,
  ): Promise<Module | undefined> {
    const session = await this.#find(by, taskId);
    if (session === undefined || !["open", "waiting"].includes(statusOf(session))) return undefined;
    return calls.get(ofRun(taskId))?.module;
  }

  /** The run of a task, if the caller began it. */
  async #find(by: Principal, taskId: string): Promise<Session | undefined> {
    if (!TASK_ID.test(taskId)) return undefined;
    const store = await this.#rath.store();
    if ((await store.head(taskId)) === undefined) return undefined;
    const session = await this.#rath.load(taskId);
    const start = startOf(session);
    return start?.by === by && start.name === taskId ? session : undefined;
  }
}

const TASK_ID = /^mcp\/[a-zA-Z0-9_-]{1,64}\/[0-9a-f]{32}$/;

/** A schema that takes any parameters: they are looked at by the handler. */
const NAMED = {
  "~standard": { version: 1 as const, vendor: "openrath", validate: (value: unknown) => ({ value }) },
};

function ofRun(run: string): string {
  return run.split("/")[1] ?? "";
}

function startOf(session: Session): FactOf<"run-start"> | undefined {
  for (const { fact } of session.history())
    if (fact.type === "run-start" && fact.nonce === session.fact.run) return fact;
  return undefined;
}

function common(session: Session, run: string): Omit<Task, "status"> & { readonly taskId: string } {
  return {
    taskId: run,
    createdAt: startOf(session)?.at ?? session.fact.at,
    lastUpdatedAt: session.fact.at,
    // The record is not thrown away.
    ttlMs: null,
    pollIntervalMs: POLL_MILLISECONDS,
  };
}

function failed(
  task: Omit<Task, "status"> & { readonly taskId: string },
  code: number,
  message: string,
  data?: object,
): Task {
  return {
    ...task,
    status: "failed",
    statusMessage: message,
    error: { code, message, ...defined({ data }) },
  };
}
