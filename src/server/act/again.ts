import { createHash } from "node:crypto";
import { RequestError } from "../../connect/front/index.js";
import type { Pages } from "../../evidence/page/index.js";
import {
  type Awaited,
  canonical,
  DivergenceError,
  digestOfModule,
  type Module,
  nameOf,
  recordedRun,
  TapeEndedError,
  VerificationError,
} from "../../runtime/index.js";
import type { Policy } from "../../runtime/policy/index.js";
import { type FactId, type Json, type Principal, parentsOf, readFact, typeOf } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { type Call, factWithin, type Handlers } from "../call.js";
import type { Routes } from "../contract/routes.js";
import { pagesFor } from "../pages.js";
import { problemOf } from "../problem.js";
import { type Mark, once } from "./request.js";
import { goOn, moduleOf, newName, recordedFor } from "./runs.js";
import type { Ran } from "./under-way.js";

type Rerun = Call<Routes["rerun"]>;
type Plan = Resolved<ReturnType<Pages["rerunPlan"]>>;
type Resolved<Value> = Value extends Promise<infer Inner> ? Inner : Value;

export const againHandlers: Pick<Handlers, "replay" | "whatIf" | "rerun" | "rerunPlan"> = {
  replay: async (call) => {
    const { rath, session, body, request } = call;
    const { name, module } = await recordedFor(call, session.id, body.module);
    const until =
      body.until === undefined ? undefined : await factWithin(call as unknown as Call, body.until);
    const { signal } = request;
    try {
      const same = await rath.replay(
        session.name === undefined ? session.id : name,
        module,
        until === undefined ? { mode: "verify", signal } : { until, signal },
      );
      return { same: true, id: same.id };
    } catch (error) {
      const isOther =
        error instanceof DivergenceError ||
        error instanceof VerificationError ||
        error instanceof TapeEndedError;
      if (!isOther) throw error;
      const { detail, code, data } = problemOf(error);
      return {
        same: false,
        id: session.id,
        difference: { code, detail, ...(data !== undefined && { data }) },
      };
    }
  },
  whatIf: (call) => rerun(call),
  rerun: (call) => rerun(call),
  rerunPlan: async (call) => {
    const prepared = await prepare(call);
    return { ...prepared.plan, digest: prepared.digest } as never;
  },
};

type Change = "instruction" | "input" | "answer" | "again";
type Prepared = {
  readonly change: Change;
  readonly name: string;
  readonly module: Module;
  /** The fact that the new run goes on from: of an edit the request that it is about. */
  readonly from: FactId;
  readonly plan: Plan;
  readonly digest: string;
};

/** The effects of a rerun, and a digest of exactly this: of the record as it stands, the program, the name and the change. */
async function prepare(call: Rerun | Call<Routes["rerunPlan"]>): Promise<Prepared> {
  const { store, session, identity, body } = call;
  const given = (["instruction", "input", "answer"] as const).filter((kind) => body[kind] !== undefined);
  if (given.length > 1)
    throw new RequestError(400, "request-refused", "A rerun can change only one thing.", {
      hint: "send instruction, input or answer; or none of them to repeat the step unchanged",
    });
  const [change = "again"] = given as readonly Change[];
  const name = newName(call, body.as ?? body.name ?? "");
  const named = await factWithin(call as unknown as Call, body.from);
  const from = await placeFor(store, named, change);
  const recorded = await recordedRun(store, named);
  const module = moduleOf(call, body.module ?? recorded?.fact.module ?? "");
  const plan = await pagesFor(store, identity).rerunPlan(session.name ?? session.id, from, { kind: change });
  const whole = {
    plan: plan.digest,
    change: (body[change as "input"] ?? null) as Json,
    module: digestOfModule(module),
    name,
  };
  const digest = createHash("sha256").update(canonical(whole)).digest("hex");
  return { change, name, module, from, plan, digest };
}

const CALLS = /^(tool|step|model)-call$/;

/** The place of a change: an edit is about a request, and an instruction is said where nothing is open. */
async function placeFor(store: Store, id: FactId, change: Change): Promise<FactId> {
  const line = (await store.line(id)) ?? "";
  if (change === "again") return id;
  if (change !== "instruction") {
    const { of } = readFact(line, undefined) as { readonly of?: FactId };
    const request = CALLS.test(typeOf(line)) ? id : (of ?? "");
    const about = typeOf((request === "" ? undefined : await store.line(request)) ?? '{"fact":{"type":""');
    if (change === "input" ? about === "tool-call" || about === "step-call" : CALLS.test(about))
      return request;
    throw new RequestError(422, "rerun-refused", `This fact has no ${change} that could be changed.`, {
      hint: `choose ${change === "input" ? "a call of a tool or a step" : "a call, or its outcome"}, or change the instruction`,
      data: { from: id },
    });
  }
  for (let at: FactId | undefined = id; at !== undefined; ) {
    const { fact, pending } = await store.load(at);
    const isOpen =
      pending.length > 0 || fact.type === "model-call" || fact.type === "run-suspend" || hasCalls(fact);
    if (!isOpen) return at;
    at = parentsOf((await store.line(at)) ?? "")[0];
  }
  return id;
}

/** An answer of a model whose calls are still to be made. */
function hasCalls(fact: object): boolean {
  const { type, content } = fact as { readonly type: string; readonly content?: unknown };
  return (
    type === "model-reply" && Array.isArray(content) && content.some((part) => part?.type === "tool-call")
  );
}

/** Begins the run that the caller saw the plan of. Any difference from it is refused, and nothing is recorded. */
function rerun(call: Rerun | Call<Routes["whatIf"]>): Promise<Ran | Response> {
  const { body } = call;
  const name = newName(call, body.as ?? body.name ?? "");
  return once(call as Call, "rerun", name, (mark) => begin(call as Rerun, mark));
}

async function begin(call: Rerun, mark: Mark): Promise<Ran | Response> {
  const { rath, store, identity, body, acts, session } = call;
  const { change, name, module, from, plan, digest } = await prepare(call);
  if (body.digest !== digest)
    throw refused("the record, the program or the change is not what the plan was made of", {
      digest,
      sentence: plan.sentence,
    });
  const allowed = new Set(body.allowed ?? []);
  const open = plan.writes.filter(({ id }) => !allowed.has(id));
  if (open.length > 0)
    throw refused("writes on the host must be allowed one by one", { writes: open as unknown as Json });
  if (plan.doubts.length > 0)
    throw refused("calls in doubt must be settled first", { doubts: plan.doubts as unknown as Json });
  const by = identity.principal;
  if ((await store.head(name)) !== undefined)
    throw new RequestError(409, "name-conflict", "A session with this name exists.", {
      hint: "choose another name for the rerun",
      data: { name },
    });
  if (change === "instruction") {
    const base = (await rath.load(from)).fork(name, { by }).say(String(body.instruction), { by });
    const start = () => rath.stream(module, base, { name, by });
    const run = await mark.begin(() => acts.underWay.begin(name, module, start, by));
    return body.wait === true ? run.over : running(run.name, run.head);
  }
  const recorded = await recordedRun(store, from);
  if (recorded === undefined) throw refused("the fact was not made by a run", { from });
  const source = session.name === undefined ? session.id : nameOf(recorded);
  const policy = change === "again" ? undefined : askAbout(from, by);
  const start = () =>
    rath.stream.replay(source, module, { mode: "what-if", name, from, by, ...defined({ policy }) });
  const run = await mark.begin(() => acts.underWay.begin(name, module, start, by));
  if (change === "again") return body.wait === true ? run.over : running(run.name, run.head);
  const ran = await run.over;
  const ask = ran.state === "waiting" ? (await rath.pending(name)).find(isOurs) : undefined;
  if (ask === undefined) return ran;
  if (change === "input") await rath.approve(name, { by, ask: ask.id, edit: body.input as Json, why: WHY });
  else await rath.takeOver(name, { by, ask: ask.id, value: body.answer as Json, why: WHY });
  const next = await goOn(call, name, module);
  return body.wait === true ? next.over : running(name, next.head);
}

const RULE = "rerun";
const WHY = "changed in a rerun";

/** The request that is changed asks the person who changes it, so that the record says who did. */
function askAbout(request: FactId, by: Principal): Policy {
  return {
    name: RULE,
    version: createHash("sha256").update(`${RULE} ${request}`).digest("hex"),
    covers: () => true,
    decide: ({ session }) =>
      session.id === request
        ? { verdict: "ask", rules: [RULE], approvals: [{ rule: RULE, from: by }] }
        : { verdict: "allow", rules: [] },
  };
}

function isOurs({ rule, answered }: Awaited): boolean {
  return !answered && rule === `${RULE}/${RULE}`;
}

function running(name: string, id: string): Response {
  return Response.json({ name, id, state: "running" } satisfies Ran, { status: 202 });
}

function refused(reason: string, data: { readonly [field: string]: Json }): RequestError {
  return new RequestError(409, "rerun-refused", `Cannot start the rerun: ${reason}.`, {
    hint: "make the plan again: POST /api/sessions/NAME/rerun/plan",
    data,
  });
}
