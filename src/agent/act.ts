import { isDeepStrictEqual } from "node:util";
import type { Attempt, Outcome, Request } from "../runtime/index.js";
import { BudgetError, failureOf, hold, performAll, RefusedError } from "../runtime/index.js";
import type { FactId, FactInput, Failure, Json, Principal, Session } from "../session/index.js";
import { backFrom, canonical } from "../session/index.js";
import { defined, isPromise } from "../util/index.js";
import type { Module } from "../workflow/index.js";
import { enter, requireName, termsOrNone, textOrNone, texts, wrong, yesOrNo } from "../workflow/index.js";
import { AgentError } from "./error.js";
import { brokenCall, type CallRequest } from "./model/index.js";
import { lastReply, outputIn } from "./output.js";
import { stopOf } from "./stop.js";
import type { Checked, Tool, ToolContext } from "./tool/index.js";
import { checkInput, reconcileTool, runTool, ToolOutputError, unknownTool } from "./tool/index.js";
import { type Callable, type Toolbox, toolboxOf } from "./toolbox.js";

/** Why no call of a reply may be made, or why a call may not. */
export type Refusals = {
  readonly all?: Failure | undefined;
  readonly of: (call: CallRequest) => Failure | undefined;
};

/**
 * Makes the calls of a reply: records all requests in order, runs them side by side where it may. A failure
 * is an outcome that the model reads.
 */
export async function act(
  session: Session,
  calls: readonly CallRequest[],
  agent: string,
  box: Toolbox,
  refusals: Refusals,
): Promise<Session> {
  const asked = calls.map((call) => {
    const refusal = refusals.all ?? broken(call) ?? refusals.of(call);
    return refusal === undefined ? requestFor(call, agent, box) : refused(call, agent, refusal);
  });
  const isChecked = (one: Request | Promise<Request>): one is Request => !isPromise(one);
  const requests = asked.every(isChecked) ? asked : await hold(session, () => Promise.all(asked));
  try {
    return await performAll(session, requests);
  } catch (error) {
    throw error instanceof BudgetError ? spent(error, calls, agent) : error;
  }
}

export function isDone({ call }: CallRequest, before: Session, after: Session): boolean {
  const done = new Set<FactId>();
  for (const { id, fact } of backFrom(after, before)) {
    if (fact.type === "tool-result") done.add(fact.of);
    else if (fact.type === "tool-call" && fact.call === call) return done.has(id);
  }
  return false;
}

/** Time ran out before the calls could be made: they are answered all the same, or no provider would take them. */
function spent(error: BudgetError, calls: readonly CallRequest[], agent: string): BudgetError {
  const { name, code } = error;
  const failure = { name, message: "This call was not made: the budget is spent.", code };
  let { session } = error;
  const asked = calls.map((call) => {
    session = session.append(requested(call, agent, {}));
    return { call, id: session.id };
  });
  for (const { call, id } of asked)
    session = session.append({ type: "tool-failure", of: id, error: failure, by: actor(call.name) });
  return new BudgetError(session, error.data as ConstructorParameters<typeof BudgetError>[1]);
}

/** A call that was cut off or is not JSON was never meant to be made like this. */
function broken(call: CallRequest): Failure | undefined {
  const reason = brokenCall(call);
  return reason === undefined
    ? undefined
    : { name: "BrokenCallError", message: `This call was not made: ${reason}`, code: "call-broken" };
}

/** The request, or a promise of it where the schema of the tool checks asynchronously. */
function requestFor(call: CallRequest, agent: string, box: Toolbox): Request | Promise<Request> {
  const tool = box.tools.get(call.name);
  if (tool === undefined) return refused(call, agent, unknownTool(call.name, [...box.tools.keys()]));
  const checked = checkInput(tool, call.input);
  return isPromise(checked)
    ? inTime(tool, checked).then((late) => checkedRequest(call, agent, tool, late))
    : checkedRequest(call, agent, tool, checked);
}

function checkedRequest(call: CallRequest, agent: string, tool: Tool, input: Checked): Request {
  if (!input.ok) return refused(call, agent, input.failure);
  try {
    return allowed(call, agent, tool, input.value);
  } catch (error) {
    // The tool's own functions (key, conflicts, approval) could make nothing of the input.
    const { message } = failureOf(error);
    return refused(call, agent, { name: "ToolError", message, code: "tool-broken" });
  }
}

function allowed(call: CallRequest, agent: string, tool: Tool, input: unknown): Request {
  const { effect, timeout, retry, module } = tool;
  const by = actor(tool.name);
  const where = `tool "${tool.name}"`;
  const key = textOrNone(tool.key?.(input), "key", where);
  const conflicts = texts(tool.conflicts(input), "conflicts", where);
  const agreed = termsOrNone(tool.approval(input), "approval", where);
  // The terms of a tool that a client does say who may give the result.
  const terms = tool.client === true ? (agreed ?? {}) : agreed;
  const shown = shownOf(tool.name, call.input, input);
  return {
    fact: requested(call, agent, { effect, ...defined({ key, source: tool.source }) }),
    effect,
    act: (attempt) =>
      orLost(tool, async (): Promise<Outcome> => {
        const output = await runTool(tool, input, contextOf(attempt));
        return { type: "tool-result", output, by, ...defined({ origin: tool.origin }) };
      }),
    failed: (error) => ({ type: "tool-failure", error, by }),
    schema: tool.input.json,
    shown,
    async edit(changed) {
      const checked = await inTime(tool, checkInput(tool, changed));
      return checked.ok ? allowed({ ...call, input: changed }, agent, tool, checked.value) : checked.failure;
    },
    ...defined({ presumed: tool.presumed, answer: tool.question?.(input), timeout, retry }),
    ...(tool.client === true && { client: { origin: tool.origin ?? "tool" } }),
    ...(conflicts.length > 0 && { conflicts }),
    ...(tool.touches !== undefined && { touches: touchesOf(tool.touches(input), where) }),
    ...(tool.reversible !== undefined && {
      reversible: yesOrNo(tool.reversible(input), "reversible", where),
    }),
    ...(terms !== undefined && { approval: { what: shown, terms } }),
    ...(module !== undefined && { inside: insideOf(tool, module, input, agent) }),
    ...(tool.reconcile !== undefined && {
      reconcile: (attempt: Attempt) =>
        orLost(tool, async (): Promise<Outcome | "again" | "unknown"> => {
          const found = await reconcileTool(tool, input, contextOf(attempt));
          return typeof found === "string" ? found : { type: "tool-result", output: found.value, by };
        }),
    }),
  };
}

/** The input that a person approves, with the parsed input where the schema changes it. */
function shownOf(tool: string, asked: Json, input: unknown): Json {
  const shown = { tool, input: asked };
  if (isDeepStrictEqual(input, asked)) return shown;
  try {
    const used = JSON.parse(JSON.stringify(input ?? null)) as Json;
    return canonical(used) === canonical(asked) ? shown : { ...shown, used };
  } catch {
    // It holds what JSON has no words for.
    return shown;
  }
}

/** A check that never ends must not keep a run from going on. */
async function inTime(tool: Tool, check: Checked | Promise<Checked>): Promise<Checked> {
  if (!isPromise(check)) return check;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<Checked>((resolve) => {
    const message = `The input schema of the tool ${tool.name} does not come to an end.`;
    const failure = { name: "ToolSchemaError", message, code: "tool-schema-refused" };
    timer = setTimeout(() => resolve({ ok: false, failure }), CHECK);
  });
  return Promise.race([check, late]).finally(() => clearTimeout(timer));
}

/** Milliseconds that checking an input may take: far more than any check needs, since a replay must come to the same answer. */
const CHECK = 10_000;

function touchesOf(touched: unknown, where: string): NonNullable<Request["touches"]> {
  if (typeof touched !== "object" || touched === null || isPromise(touched))
    throw wrong(touched, "touches", where, "what the call touches: { paths, commands, hosts, amount }");
  return touched;
}

/** A write stays done when its output cannot be used: the model is told, and the call is not tried again. */
function orLost<Found>(tool: Tool, find: () => Promise<Found>): Promise<Found | Outcome> {
  if (tool.effect !== "write") return find();
  return find().catch((error: unknown): Outcome => {
    if (!(error instanceof ToolOutputError)) throw error;
    return { type: "tool-failure", error: failureOf(error), by: actor(tool.name) };
  });
}

/** A call that is recorded and answered and never made. */
function refused(call: CallRequest, agent: string, error: Failure): Request {
  const outcome: Outcome = { type: "tool-failure", error, by: actor(call.name) };
  return {
    fact: requested(call, agent, {}),
    effect: "pure",
    act: async () => outcome,
    failed: (failure) => ({ ...outcome, error: failure }),
  };
}

function requested(
  call: CallRequest,
  agent: string,
  more: Pick<Request<"tool-call">["fact"], "effect" | "key" | "source">,
): Request<"tool-call">["fact"] {
  const { name, input, call: id } = call;
  return { type: "tool-call", by: `agent:${agent}`, name, input, call: id, ...more };
}

/** The module works on a fork where it is told its task; the caller gets its last words. */
function insideOf(tool: Tool, module: Module, input: unknown, agent: string): NonNullable<Request["inside"]> {
  let since: FactId | undefined;
  return {
    branch: tool.name,
    body: (fork) => {
      since = fork.id;
      const task = tool.say?.(input) ?? JSON.stringify(input);
      return enter(module, fork.say(task, { by: `agent:${agent}` }));
    },
    outcome: (session) => ({
      type: "tool-result",
      output: tool.answer?.(session) ?? answered(module, session, since),
      by: actor(tool.name),
    }),
  };
}

function answered(module: Module, session: Session, since: FactId | undefined): Json {
  const output = outputIn(module, session);
  if (output !== undefined) return output;
  const answer = lastReply(session, since) ?? `${module.name} ended without an answer.`;
  const stop = stopOf(session);
  // A text that was said on the way is not the answer, and the caller must not take it for the answer.
  return stop === undefined ? answer : `${answer}\n[${module.name} stopped before it was done: ${stop}.]`;
}

function contextOf(attempt: Attempt): ToolContext {
  const { key, number, request, emit, secret, redact, sandbox, store } = attempt;
  const record = (fact: FactInput): void => {
    // The runtime records file changes and commands: it observed them. A tool may record what it recalled, but not what
    // prompts show of it.
    const read = fact?.type === "memory-read" && fact.shown === undefined;
    if (fact?.type !== "validation-report" && fact?.type !== "note" && !read)
      throw new RefusedError(
        "record evidence",
        `a tool cannot leave ${JSON.stringify(fact?.type)}`,
        'it can leave what it found: record({ type: "validation-report", name, passed }), or record({ type: "note", kind, … })',
      );
    attempt.record(fact);
  };
  return {
    get signal() {
      return attempt.signal;
    },
    attempt: number,
    call: request.id,
    session: request,
    record,
    key,
    store,
    emit,
    secret,
    redact,
    sandbox,
  };
}

/** Models invent names, the empty one too. */
function actor(tool: string): Principal {
  return tool === "" ? "tool" : `tool:${tool}`;
}

/** A call that a program makes: the tool by its name, and what it is given. */
export type ToolRequest = { readonly tool: string; readonly input?: Json };

/**
 * Calls tools from a workflow, as an agent would: all requests on the record in order, each decided about by the policies,
 * agreed to where it must be, done as its effect allows, and answered whatever comes of it. `by` is who calls.
 *
 * ```ts
 * session = await callTools(session, [{ tool: "search", input: { query: "bees" } }], { by: "librarian", tools: [search] });
 * ```
 */
export function callTools(
  session: Session,
  calls: readonly ToolRequest[],
  { by, tools }: { readonly by: string; readonly tools: readonly Callable[] },
): Promise<Session> {
  requireName(
    by,
    "caller of tools",
    'callTools(session, [{ tool: "search" }], { by: "librarian", tools: [search] })',
  );
  if (!Array.isArray(calls) || calls.length === 0)
    throw new AgentError(
      by,
      "it calls no tools",
      'name what to call: [{ tool: "search", input: { query } }]',
    );
  const requests = calls.map(
    ({ tool, input = {} }, place): CallRequest => ({
      type: "tool-call",
      // Calls are told apart within one session by where they were made from.
      call: `call_${session.id.slice(0, 16)}_${place}`,
      name: tool,
      input,
    }),
  );
  return act(session, requests, by, toolboxOf(by, tools, []), { of: () => undefined });
}
