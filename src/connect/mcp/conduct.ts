import { randomBytes } from "node:crypto";
import type { InputRequiredResult, RequestStateCodec, ServerContext } from "@modelcontextprotocol/server";
import type { Module, Rath, Sender } from "../../runtime/index.js";
import type { Principal } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { loadServer, McpOptionError } from "./error.js";
import { type Abilities, askable, type Given, questionsOf } from "./form.js";
import { began, type Report, RUNS, wentOn } from "./served.js";
import type { Tasks } from "./tasks.js";

/** The state that a client receives with its questions and returns with the answers. */
export type State = {
  readonly run: string;
  /** Whose call it is: what is offered under the same name may be a tool or a prompt. */
  readonly of: string;
  readonly asks: { readonly [key: string]: string };
};

/** Where the calls of one connection, or of one request, are made. */
export type Desk = {
  readonly rath: Rath;
  readonly by: Principal;
  readonly store: boolean;
  readonly sender: Sender;
  readonly codec: RequestStateCodec<State>;
  readonly abilities: (context: ServerContext) => Abilities;
  /** The calls that become tasks, for clients that know tasks. */
  readonly tasks: Tasks | undefined;
};

/**
 * Runs a module for a client: begins, or goes on with what was answered. The questions of the run go to the client as
 * far as it can help; `told` makes a result of everything else.
 */
export async function conduct<Result extends object>(
  desk: Desk,
  call: {
    readonly of: string;
    readonly module: Module;
    readonly task: string;
    readonly session?: string | undefined;
  },
  context: ServerContext,
  told: (report: Report) => Result | Promise<Result>,
): Promise<Result | InputRequiredResult> {
  const { rath, sender, codec } = desk;
  const { of, module, task, session } = call;
  const { signal } = context.mcpReq;
  const state = context.mcpReq.requestState<State>();
  const run = state === undefined ? `${RUNS}${of}/${randomBytes(6).toString("hex")}` : runOf(state, of);
  const stop = await follow(rath, run, state !== undefined, context);
  let report: Report;
  try {
    if (state === undefined) {
      report = await began(rath, module, run, { task, ...defined({ session }) }, desk, signal);
      const early = earlyIn(context, report);
      if (early.size > 0) report = await wentOn(rath, module, run, early, sender, signal);
    } else
      report = await wentOn(
        rath,
        module,
        run,
        answersIn(context, Object.entries(state.asks)),
        sender,
        signal,
      );
  } finally {
    stop();
  }
  const asked = askable(report.waiting, desk.abilities(context));
  if (report.status !== "waiting" || asked.length === 0) return told(report);
  const { inputRequired } = await loadServer();
  const { inputRequests, asks } = questionsOf(asked, { inputRequired });
  return inputRequired({
    inputRequests,
    requestState: await codec.mint({ run: report.run, of, asks }, context),
  });
}

/** Tells the client of its run, and of no other: of every fact as progress, of what is said on the way as a log. */
async function follow(rath: Rath, name: string, known: boolean, context: ServerContext): Promise<() => void> {
  const token = context.mcpReq._meta?.progressToken;
  let nonce = known ? (await rath.load(name)).fact.run : undefined;
  let count = 0;
  return rath.observe((event) => {
    const { fact } = event.kind === "fact" ? event.session : event.request;
    if (fact.type === "run-start" && fact.name === name) nonce = fact.run;
    // Runs of others are not reported.
    if (nonce === undefined || fact.run !== nonce) return;
    if (event.kind === "delta") {
      // A model's words come in pieces: only who wants to hear everything hears those.
      const level = fact.type === "model-call" ? "debug" : "info";
      void context.mcpReq.log(level, event.delta, "run").catch(() => {});
    } else if (token !== undefined) {
      count += 1;
      const params = { progressToken: token, progress: count, message: fact.type };
      void context.mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
    }
  });
}

/** Refuses the state of another tool's call. */
function runOf({ run, of }: State, called: string): string {
  if (of === called) return run;
  throw new McpOptionError("served here", "this state belongs to another call", `call ${of} with it`);
}

/** Answers that come with the first call. Nobody agrees to what was not shown, so approvals are not among them. */
function earlyIn(context: ServerContext, { waiting }: Report): ReadonlyMap<string, Given> {
  const signals = waiting.filter(({ kind }) => kind === "signal").map(({ id, name }) => [name, id] as const);
  return answersIn(context, signals);
}

/** The answers of the client, by the ids of the questions. */
function answersIn(
  context: ServerContext,
  asks: readonly (readonly [key: string, id: string])[],
): ReadonlyMap<string, Given> {
  const responses = context.mcpReq.inputResponses ?? {};
  return new Map(
    asks.flatMap(([key, id]) => (Object.hasOwn(responses, key) ? [[id, responses[key] as Given]] : [])),
  );
}
