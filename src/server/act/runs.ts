import { randomBytes } from "node:crypto";
import { RequestError } from "../../connect/front/index.js";
import {
  type Module,
  nameOf,
  type Rath,
  type RunStream,
  recordedRun,
  wakeTimeOf,
} from "../../runtime/index.js";
import {
  type FactId,
  type FactOf,
  type Principal,
  parentsOf,
  readFact,
  warnOf,
} from "../../session/index.js";
import { isKeptByRuntime } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { type Call, type Handlers, type Parts, placeOf, requireRole } from "../call.js";
import type { Routes } from "../contract/routes.js";
import { type Key, keyOf, requireSame } from "./repeat.js";
import { NOTE, recordRequest } from "./request.js";
import { type ActiveRun, answerOf, outcomeOf, type Ran } from "./under-way.js";

export const runHandlers: Pick<Handlers, "run" | "resume" | "stream" | "cancel"> = {
  run: async (call) => {
    const { body, identity, request } = call;
    const { turn = false, wait = false } = body;
    const module = moduleOf(call, body.module);
    if ((body.text === undefined) === (body.input === undefined))
      throw new RequestError(400, "request-refused", "A run needs either `text` or `input`.", {
        hint: 'send one of them: { "module": "clerk", "text": "Pay the invoice." }',
      });
    const text = body.text ?? JSON.stringify(body.input);
    if (turn && body.name === undefined)
      throw new RequestError(400, "request-refused", "A turn needs the name of its conversation.", {
        hint: 'send the name: { "turn": true, "name": "order-7", … }',
      });
    const key = keyOf(request, identity.principal, body);
    const name = newName(
      call,
      body.name ?? `${module.name}-${key?.key.slice(0, 12) ?? randomBytes(6).toString("hex")}`,
    );
    const before = key === undefined || turn ? undefined : await begunBefore(call, name, key);
    const run = before ?? (await begun(call, { name, module, text, turn, key }));
    return answerOf(run, wait);
  },
  resume: async (call) => {
    const { session, body } = call;
    return answerOf(await resumedFor(call, session.id, body.module), body.wait === true);
  },
  stream: async (call) => {
    const { path, body, identity, live, request, store } = call;
    const isTurn = body.text !== undefined;
    const session = isTurn
      ? undefined
      : await placeOf(store, identity, body.module === undefined ? "view" : "run", path.name);
    const name = session === undefined ? newName(call, path.name) : (session.name ?? path.name);
    const leave = live.enter(identity.principal);
    try {
      const active = await activeFor(call, name, session?.id);
      if (active !== undefined) return active.read(request.headers.get("last-event-id"), leave);
      const at = session?.id ?? (await store.resolve(name));
      const ended = endOf(outcomeOf(name, await store.load(at)));
      leave();
      return ended;
    } catch (error) {
      leave();
      throw error;
    }
  },
  cancel: async (call) => {
    const { rath, session, identity, body } = call;
    const recorded = await recordedRun(call.store, session.id);
    const name = recorded === undefined ? (session.name ?? session.id) : nameOf(recorded);
    requireRole(identity, "run", name);
    const why = `${identity.principal} cancelled it${body.why === undefined ? "" : `: ${body.why}`}`;
    if (rath.cancel(name, why, identity.principal)) return { cancelled: true };
    if (recorded === undefined || recorded.over)
      throw new RequestError(409, "not-under-way", "No run with this name is in progress.", {
        hint: "the run is over; see its outcome: GET /api/sessions/NAME",
        data: { name },
      });
    // It waits, or was cut off: it goes on, to be told that it is cancelled.
    const { module } = await recordedFor(call, session.id, body.module);
    const { principal: by } = identity;
    const reason = Object.assign(new Error(why), { by });
    const run = await goOn(call, name, module, { signal: AbortSignal.abort(reason) });
    const { state } = await run.over;
    return { cancelled: state === "cancelled" };
  },
};

/** The run that a stream is of: begun or continued first, where the request says so. */
async function activeFor(
  call: Call<Routes["stream"]>,
  name: string,
  session: FactId | undefined,
): Promise<ActiveRun | undefined> {
  const { acts, body, request, identity } = call;
  const { text } = body;
  if (text !== undefined) {
    const module = moduleOf(call, body.module ?? "");
    // A repeated request reads the run that the first one began.
    const act = async (): Promise<Response> => {
      await begun(call, { name, module, text, turn: true, key: undefined });
      return Response.json({});
    };
    await acts.repeats.once(keyOf(request, identity.principal, body), identity, act, async (ran) => ran);
  } else if (session !== undefined && body.module !== undefined) {
    return resumedFor(call, session, body.module);
  }
  return acts.underWay.find(name);
}

/** The run of a session: under way, or resumed now. The run does not say who resumes it, so the request is on record by itself. */
async function resumedFor(call: Call, id: FactId, given: string | undefined): Promise<ActiveRun> {
  const { name, module } = await recordedFor(call, id, given);
  const underWay = call.acts.underWay.find(name);
  if (underWay !== undefined) return underWay;
  const run = await goOn(call, name, module, { by: call.identity.principal });
  await recordRequest(call, "resume", name);
  return run;
}

type Begin = {
  readonly name: string;
  readonly module: Module;
  readonly text: string;
  readonly turn: boolean;
  readonly key: Key | undefined;
};

/** Begins a run in the name of the sender. The session says which request it came of, so that this is known after a restart too. */
function begun(
  { rath, identity, acts }: Pick<Call, "rath" | "identity" | "acts">,
  given: Begin,
): Promise<ActiveRun> {
  const { name, module, text, turn, key } = given;
  const by = identity.principal;
  const start = (): RunStream => {
    if (turn) return rath.stream.turn(module, name, text, { by });
    const session = rath.start(text, { by });
    const from =
      key === undefined ? session : session.append({ type: "note", kind: NOTE, ...key, by: "runtime" });
    return rath.stream(module, from, { name, by });
  };
  return resting({ rath, acts }, name, module, start, by);
}

/** Goes on with a run in this process. */
export function goOn(
  { rath, acts }: Pick<Parts, "rath" | "acts">,
  name: string,
  module: Module,
  { by, signal }: { readonly by?: Principal; readonly signal?: AbortSignal } = {},
): Promise<ActiveRun> {
  const start = (): RunStream => rath.stream.resume(name, module, defined({ signal }));
  return resting({ rath, acts }, name, module, start, by);
}

/** Begins a run that this server goes on with when it waits for a time. */
async function resting(
  { rath, acts }: Pick<Parts, "rath" | "acts">,
  name: string,
  module: Module,
  start: () => RunStream,
  by: Principal | undefined,
): Promise<ActiveRun> {
  acts.alarms.clear(name);
  const run = await acts.underWay.begin(name, module, start, by);
  const rest = async ({ state, id }: Ran): Promise<void> => {
    const store = await rath.store();
    const due = state === "waiting" ? await wakeTimeOf(store, (await store.load(id)).fact) : undefined;
    if (due !== undefined) acts.alarms.set({ rath, acts }, name, module, due);
  };
  run.over.then(rest).catch((error: unknown) => warnOf(error, "OPENRATH_SERVER"));
  return run;
}

/** Goes on with the runs that nobody has under way and that need not wait, all at once, as far as their modules are here. */
export async function resumeAll(parts: Waking): Promise<readonly string[]> {
  const begun = (await parts.rath.unfinished()).map((one) => wake(parts, one));
  return (await Promise.all(begun)).flat();
}

type Unfinished = Awaited<ReturnType<Rath["unfinished"]>>[number];
export type Waking = Pick<Parts, "rath" | "modules" | "acts">;

/** Goes on with a run that need not wait, and gives its name; one that waits for a time goes on when it is due. */
export async function wake(
  { rath, modules, acts }: Waking,
  { name, module, waiting, due }: Omit<Unfinished, "run">,
): Promise<readonly string[]> {
  const found = Object.values(modules).find((one) => one.name === module);
  if (found === undefined || acts.underWay.find(name) !== undefined) return [];
  try {
    const isDue = due !== undefined && Date.parse(due) <= Date.now();
    if (waiting && !isDue && !(await rath.pending(name)).some(({ answered }) => answered)) {
      if (due !== undefined) acts.alarms.set({ rath, acts }, name, found, due);
      return [];
    }
    await goOn({ rath, acts }, name, found);
    return [name];
  } catch (error) {
    // Another process has it under way, or it cannot go on: the others do.
    if (!isUnderWay(error)) warnOf(error, "OPENRATH_SERVER");
    return [];
  }
}

/** Somebody else in this process came first. */
export function isUnderWay(error: unknown): boolean {
  return error instanceof RequestError && error.code === "run-under-way";
}

/** The run that a request with this key began before, as the record has it. */
async function begunBefore(
  { store, rath, acts }: Pick<Call, "store" | "rath" | "acts">,
  name: string,
  key: Key,
): Promise<ActiveRun | Ran | undefined> {
  if ((await store.head(name)) === undefined) return undefined;
  const recorded = await recordedRun(store, name);
  const start = recorded === undefined ? undefined : await store.line(recorded.root);
  const [base] = start === undefined ? [] : parentsOf(start);
  const line = base === undefined ? undefined : await store.line(base);
  if (line === undefined) return undefined;
  const fact = readFact(line, undefined) as FactOf<"note"> & Partial<Key>;
  if (fact.type !== "note" || fact.kind !== NOTE || fact.key !== key.key) return undefined;
  requireSame(key, String(fact.body));
  return acts.underWay.find(name) ?? outcomeOf(name, await rath.load(name));
}

/** The run of a session, and the module that goes on with it. */
export async function recordedFor(
  call: Pick<Call, "store" | "modules" | "identity">,
  id: string,
  given: string | undefined,
): Promise<{ readonly name: string; readonly module: Module }> {
  const recorded = await recordedRun(call.store, id);
  if (recorded === undefined)
    throw new RequestError(409, "not-a-run", "This session was not made by a run.", {
      hint: "start one: POST /api/runs",
    });
  const name = nameOf(recorded);
  requireRole(call.identity, "run", name);
  return { name, module: moduleOf(call, given ?? recorded.fact.module) };
}

export function moduleOf({ modules }: Pick<Parts, "modules">, name: string): Module {
  const module = Object.hasOwn(modules, name)
    ? modules[name]
    : Object.values(modules).find((one) => one.name === name);
  if (module !== undefined) return module;
  throw new RequestError(404, "module-unknown", "The server has no module with this name.", {
    hint: `its modules: ${Object.keys(modules).join(", ") || "none: rath serve --modules FILE"}`,
    data: { modules: Object.keys(modules) },
  });
}

/** The name of a new session, for somebody who may run it. */
export function newName({ identity }: Pick<Call, "identity">, name: string): string {
  if (name === "")
    throw new RequestError(400, "request-refused", "The new session needs a name.", {
      hint: 'send { "as": "…" }',
    });
  requireRole(identity, "run", name);
  if (!isKeptByRuntime(name) && !/[\p{Cc}~@]|^unnamed\/|^-/u.test(name) && name.length <= 512) return name;
  throw new RequestError(422, "name-refused", "This cannot be the name of a session.", {
    hint: 'choose a name without ~ and @ that does not begin with a dot, "run/", "answer/" or "standing/"',
  });
}

/** A stream of the end alone, of a run that is over. */
function endOf(ran: Ran): Response {
  const text = `event: end\ndata: ${JSON.stringify(ran)}\n\n`;
  return new Response(text, { headers: { "content-type": "text/event-stream; charset=utf-8" } });
}
