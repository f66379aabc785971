import { RequestError } from "../../connect/front/index.js";
import { mayAnswer, nameOf, recordedRun } from "../../runtime/index.js";
import {
  canonical,
  type FactId,
  type FactOf,
  type Failure,
  type Json,
  type Principal,
  type Settlement,
  typeOf,
  warnOf,
} from "../../session/index.js";
import { defined } from "../../util/index.js";
import { type Call, forbidden, type Handlers, requireRole } from "../call.js";
import { goOn, isUnderWay } from "./runs.js";

type Given = { readonly by: Principal; readonly ask: FactId; readonly digest?: string };
type Asked = {
  readonly request: string;
  readonly digest?: string;
};
/** The fields of an answer, as its fact has them. */
type Said = {
  readonly decision: FactOf<"approval-give">["decision"] | Settlement;
  readonly why?: string;
  readonly always?: string;
  readonly edit?: Json;
  readonly value?: Json;
  readonly error?: Failure;
};
type Answering = Pick<Call, "rath" | "store" | "modules" | "identity" | "acts" | "auth" | "session">;

export const answerHandlers: Pick<Handlers, "approve" | "reject" | "edit" | "answer" | "settle"> = {
  approve: (call) => {
    const { why, always } = call.body;
    return answered(call, call.body, { decision: "approve", ...defined({ why, always }) }, (name, given) =>
      call.rath.approve(name, { ...given, ...defined({ why, always }) }),
    );
  },
  edit: (call) => {
    const { why, input: edit } = call.body;
    return answered(call, call.body, { decision: "approve", edit, ...defined({ why }) }, (name, given) =>
      call.rath.approve(name, { ...given, edit, ...defined({ why }) }),
    );
  },
  reject: (call) => {
    const { why } = call.body;
    return answered(call, call.body, { decision: "reject", ...defined({ why }) }, (name, given) =>
      call.rath.reject(name, { ...given, ...defined({ why }) }),
    );
  },
  answer: (call) => {
    const { value } = call.body;
    return answered(call, call.body, { decision: "take-over", value }, (name, { ask, by }) =>
      call.rath.answer(name, ask, value, by),
    );
  },
  settle: (call) => {
    const { why, value = null } = call.body;
    const decision = outcomeIn(call.body);
    const error = { name: "SettledError", message: why ?? "a person says that it did not happen" };
    const said = {
      decision,
      ...(decision === "done" && { value }),
      ...(decision === "failed" && { error }),
      ...defined({ why }),
    };
    return answered(call, call.body, said, (name, { ask: of, ...given }) =>
      call.rath.settle(name, { ...given, of, ...said }),
    );
  },
};

function outcomeIn({
  happened,
  outcome,
}: {
  readonly happened?: boolean;
  readonly outcome?: Settlement;
}): Settlement {
  if (outcome !== undefined) return outcome;
  if (happened !== undefined) return happened ? "done" : "failed";
  throw new RequestError(400, "request-refused", "The request must give the outcome of the call.", {
    hint: 'send { "happened": true }, or { "outcome": "done" | "failed" | "again" }',
  });
}

/** Gives an answer in the name of its verified sender, and goes on with the run if this server can. */
async function answered(
  call: Answering,
  { request, digest }: Asked,
  said: Said,
  give: (name: string, given: Given) => Promise<FactId>,
): Promise<{ readonly id: string; readonly resumed: boolean }> {
  const { rath, store, identity, session } = call;
  const recorded = await recordedRun(store, session.id);
  const name = recorded === undefined ? (session.name ?? session.id) : nameOf(recorded);
  // A fact of the path may belong to a run of another name.
  requireRole(identity, "approve", name);
  const one =
    recorded === undefined ? undefined : (await rath.pending(name)).find(({ id }) => id === request);
  const before =
    one === undefined || one.answered
      ? await givenBefore(call, { request, ...defined({ digest: digest ?? one?.digest }) }, said)
      : undefined;
  if (before !== undefined) return { id: before, resumed: false };
  if (one === undefined || one.answered)
    throw refused("nothing of this waits for an answer now", { request });
  if (digest === undefined ? one.digest !== undefined && said.decision !== "reject" : digest !== one.digest)
    throw refused("what is asked is not what was shown", {
      shown: digest ?? null,
      asked: one.digest ?? null,
    });
  const sender = { who: identity.principal, selfApproval: identity.isOwner === true };
  if (said.decision !== "reject" && !(await mayAnswer(rath, name, sender))(one))
    throw forbidden(identity, "approve");
  const by = identity.principal;
  const id = await give(name, { by, ask: one.id, ...defined({ digest }) });
  return { id, resumed: await resumed(call, name, recorded?.fact.module) };
}

/** The same answer of the same person, given before: a client that lost the answer of the server sends it again. */
async function givenBefore(
  { store, identity }: Answering,
  { request, digest }: Asked,
  said: Said,
): Promise<FactId | undefined> {
  if (!(await store.has(request))) return undefined;
  for (const id of await store.children(request)) {
    const line = await store.line(id);
    if (line === undefined || !GIVEN.has(typeOf(line))) continue;
    const fact = (await store.load(id)).fact as FactOf<"approval-give"> & Said;
    const { by, of, decision = "take-over", why, always, edit, value, error } = fact;
    if (by !== identity.principal || of !== request) continue;
    const before = { decision, ...defined({ why, always, edit, value, error }) };
    const isShown = digest === undefined || fact.digest === undefined || fact.digest === digest;
    if (isShown && canonical(before as Json) === canonical(said as Json)) return id;
  }
  return undefined;
}

const GIVEN: ReadonlySet<string> = new Set(["approval-give", "signal-give", "effect-settle"]);

/** An answer lets the run go on, in the name of its requester. */
async function resumed(call: Answering, name: string, module: string | undefined): Promise<boolean> {
  const { modules, acts } = call;
  const found = Object.values(modules).find((one) => one.name === module);
  if (found === undefined) return false;
  if (acts.underWay.find(name) !== undefined) return true;
  try {
    await goOn(call, name, found);
    return true;
  } catch (error) {
    // The watch of the store saw the answer first.
    if (isUnderWay(error)) return true;
    // The answer stands; another process has the run, or its program is another one.
    warnOf(error, "OPENRATH_SERVER");
    return false;
  }
}

function refused(reason: string, data: { readonly [field: string]: Json }): RequestError {
  return new RequestError(409, "answer-refused", `Cannot answer: ${reason}.`, {
    hint: "read the current request: GET /api/pending",
    data,
  });
}
