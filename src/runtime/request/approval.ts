import {
  canonical,
  type Digest,
  digestOf,
  type Edited,
  type Fact,
  type FactOf,
  type Failure,
  type Json,
  type Session,
} from "../../session/index.js";
import { defined } from "../../util/index.js";
import { failureOf } from "../error.js";
import type { StandingApproval, Wanted } from "../policy/index.js";
import type { Secrets } from "../secrets.js";
import type { Agreeing, Question, Standing } from "./consent.js";
import { isRuled, rulingOn } from "./gate.js";
import type { PendingRequest } from "./pending-request.js";
import { heldFor, reliedOn, relyOn } from "./rely.js";
import type { Outcome, Request } from "./request.js";
import { LONGEST_TIMER } from "./timeout.js";

/** Whether the record so far lets a module in: it is entered again where it was entered. */
export function wasLetIn(item: PendingRequest, request: Request): boolean {
  const { run, scope } = item.batch;
  const { asked } = item;
  const { verdict } = item.state;
  if (verdict?.verdict === "deny") return false;
  if (verdict === undefined) {
    if (run.tape.isDecided(asked.id)) return false;
    // Nothing was decided before a policy came to be: what had begun by then goes on.
    if (isRuled(scope.policies, request) && run.tape.typed(asked, "branch-fork") === undefined) return false;
  }
  const what = shownForApproval(item, request, run.secrets);
  return what === undefined || standingOf(item, request, what).state === "agreed";
}

/** Lets the policies decide, once, before anything is done. A denied request ends as a failure that a model can read. */
export function isLetPass(item: PendingRequest, request: Request): boolean {
  // A request that was started had passed.
  if (item.state.verdict === undefined && item.begun === undefined) {
    const editor = item.state.edited ? item.consent.edit?.by : undefined;
    const ruling = rulingOn(item.batch.scope.policies, request, item.asked, editor);
    if (ruling !== undefined) item.append({ type: "policy-decide", of: item.asked.id, ...ruling });
    // Where nobody has anything to say about other arguments, what was said of the first ones holds.
    else if (item.state.edited) item.advance({ type: "keep-verdict" });
  }
  const { verdict } = item.state;
  if (verdict?.verdict !== "deny") return true;
  for (const ask of item.consent.open) item.drop(ask, "it is denied");
  item.soon(() => item.end(request.failed(denied(verdict), undefined)));
  return false;
}

function standingOf(
  item: PendingRequest,
  request: Request,
  what: Json,
  more: Agreeing = () => [],
  wanted = requiredApprovals(item, request),
): Standing {
  const { consent, state } = item;
  const digest = digestOf(canonical(what));
  const editors = state.edited ? consent.editors : [];
  const relied = reliedOn(item, digest);
  const standing = consent.standing(wanted, digest, (rule) => [...editors, ...relied(rule), ...more(rule)]);
  // The client is asked for the result when everybody else has agreed.
  if (request.client === undefined || standing.state !== "agreed") return standing;
  return consent.standing([{ rule: "", ...request.approval?.terms }], digest, () => []);
}

/** Whether the required people have agreed to exactly the bytes that will be executed. Asks them if they have not been asked. */
export function isAgreed(item: PendingRequest, request: Request): boolean {
  const { run } = item.batch;
  const { consent } = item;
  const what = shownForApproval(item, request, run.secrets);
  // Nobody need be asked, and nobody was.
  if (what === undefined && consent.isUnasked) return true;
  const digest = what === undefined ? undefined : digestOf(canonical(what));
  const stale = consent.open.filter((ask) => (ask.fact as FactOf<"approval-ask">).digest !== digest);
  if (stale.length > 0) {
    run.watch(withdraw(item, stale));
    return false;
  }
  let standing: Standing = what === undefined ? AGREED : standingOf(item, request, what);
  const { taken } = consent;
  // A call that its client does is agreed to each time.
  const mayRely = what !== undefined && request.client === undefined;
  if (taken === undefined && standing.state === "open" && mayRely) {
    const held = heldFor(item, request, requiredApprovals(item, request), digest as Digest);
    if (held === undefined) return false;
    standing = withStanding(item, request, what, held);
  }
  if (taken === undefined && standing.state === "open" && what !== undefined) {
    for (const question of standing.questions) ask(item, what, question);
    // The people who are asked must be able to see it, also while something else is under way.
    if (standing.questions.length > 0) run.recorder.flushSoon();
    item.problem = undefined;
    for (const ask of consent.open) waitUntil(item, ask);
    return false;
  }
  for (const ask of consent.open) item.drop(ask, "it is decided");
  if (taken === undefined && standing.state === "agreed") return true;
  const failure = standing.state === "refused" ? refused(standing.give, item, request) : NOT_ANSWERED;
  const outcome =
    standing.state !== "refused" && taken !== undefined
      ? takenOver(request, taken)
      : request.failed(failure, undefined);
  item.soon(() => item.end(outcome));
  return false;
}

/**
 * Where it stands with the standing approvals that hold. They are used last, right before the call is made, when nobody is left
 * to be asked: until then each can be revoked.
 */
function withStanding(
  item: PendingRequest,
  request: Request,
  what: Json,
  held: ReadonlyMap<string, readonly StandingApproval[]>,
): Standing {
  const standing = standingOf(item, request, what, (rule) => (held.get(rule) ?? []).map(({ by }) => by));
  if (standing.state === "agreed")
    relyOn(item, requiredApprovals(item, request), digestOf(canonical(what)), held, (wanted, agreeing) =>
      standingOf(item, request, what, agreeing, wanted),
    );
  return standing;
}

function ask(item: PendingRequest, what: Json, { rule, why, level, to, within }: Question): void {
  const { edit, isSecond } = item.consent;
  const { edited, attempts } = item.state;
  const request = item.request as Request;
  const { input: was = null } = item.asked.fact as { readonly input?: Json };
  const { now } = item.batch.run.services;
  const expires = within === undefined ? undefined : new Date(now() + within).toISOString();
  item.append({
    type: "approval-ask",
    what,
    digest: digestOf(canonical(what)),
    of: item.asked.id,
    ...defined({ expires }),
    ...(to.length > 0 && { to }),
    ...defined({ name: request.name }),
    ...(rule !== "" && { rule }),
    ...defined({ why }),
    ...(level > 0 && { level }),
    ...(edit !== undefined && edited && { edited: { by: edit.by, was } }),
    ...(isFixed(request) && { fixed: true }),
    ...defined({ answer: isQuestion(request, rule) ? request.answer : undefined, problem: item.problem }),
    ...(isSecond && { execution: attempts + 1 }),
  });
}

/** Whether only an answer will do. Before a client gives the result of a call, others may have to agree to the call. */
function isQuestion({ answer, client }: Request, rule: string): boolean {
  return answer !== undefined && (client === undefined || rule === "");
}

/** Whether a question was answered, so that it cannot be answered from now on; the run does not rest meanwhile. */
async function isAnswered(item: PendingRequest, ask: Session): Promise<boolean> {
  const { turns, answers } = item.batch.run;
  return answers.isAnswered(ask.id).finally(turns.occupy());
}

/** Takes questions back that are about something else by now, unless somebody has answered them: that is heard first. */
async function withdraw(item: PendingRequest, asks: readonly Session[]): Promise<void> {
  const answered = new Set<Session>();
  for (const ask of asks) if (await isAnswered(item, ask)) answered.add(ask);
  item.soon(() => {
    for (const ask of asks) {
      if (!item.consent.open.includes(ask)) continue;
      if (answered.has(ask)) item.wait(ask);
      else item.drop(ask, "it is something else by now");
    }
    if (answered.size > 0) item.batch.run.answers.poke();
    else item.letGo();
  });
}

/** Waits for an answer as long as there is time for one. */
function waitUntil(item: PendingRequest, ask: Session): void {
  const { run } = item.batch;
  item.wait(ask);
  const { expires } = ask.fact as FactOf<"approval-ask">;
  if (expires === undefined) return;
  const left = Date.parse(expires) - run.services.now();
  const onTime = (): void => run.watch(expire(item, ask, expires));
  if (left <= 0) onTime();
  // Quietly: when nothing else is under way the run is suspended, and the next resume finds that time is up.
  else if (left <= LONGEST_TIMER) run.turns.ring(left, onTime, true);
}

async function expire(item: PendingRequest, ask: Session, expires: string): Promise<void> {
  const { consent } = item;
  // An answer that was given in time counts, and from here on none can be given.
  if (!consent.open.includes(ask) || (await isAnswered(item, ask))) return;
  item.soon(() => {
    if (!consent.open.includes(ask)) return;
    item.drop(ask, `nobody answered by ${expires}`, true);
    item.letGo();
  });
}

/** Somebody gave other arguments: the request is made with these, or asked about again. */
export function editRequest(item: PendingRequest, request: Request): void {
  item.advance({ type: "edit" });
  item.batch.run.watch(applyEdit(item, request));
}

async function applyEdit(item: PendingRequest, request: Request): Promise<void> {
  const { consent, batch } = item;
  const edit = consent.edit as Edited;
  const made = await editedTo(request, edit.input).finally(batch.run.turns.occupy());
  item.soon(() => {
    // Somebody else gave others meanwhile.
    if (consent.edit !== edit) item.advance({ type: "edit-over", how: "superseded" });
    else if ("act" in made) {
      item.request = made;
      item.advance({ type: "edit-over", how: "made" });
    } else {
      const { begun } = item;
      item.advance({ type: "edit-over", how: "refused" });
      if (begun !== undefined) {
        // It was begun with them once, and what it was that was begun nobody here can tell.
        item.advance({ type: "begin" });
        item.wait();
        return;
      }
      item.problem = made.message;
      consent.void();
      for (const ask of consent.open) item.drop(ask, "it is asked anew");
    }
    batch.goOn();
  });
}

/** The content that a person must see and approve, because the request or a policy wants it. */
function shownForApproval(
  { asked, state }: PendingRequest,
  request: Request,
  secrets: Secrets,
): Json | undefined {
  const { verdict, edited } = state;
  const { approval } = request;
  if (approval !== undefined) return secrets.conceal(approval.what).value;
  if (verdict?.verdict !== "ask") return undefined;
  if (request.shown !== undefined) return secrets.conceal(request.shown).value;
  // As it is on the record: without the values of secrets.
  const { type, name, model } = asked.fact as Fact & { name?: string; model?: string };
  const { input = null } = (edited ? secrets.conceal(request.fact).value : asked.fact) as { input?: Json };
  const kind = type === "tool-call" ? "tool" : type === "step-call" ? "step" : "model";
  return { [kind]: name ?? model ?? "", input };
}

/** Whose agreement it takes: what the rules want, and the request itself. Somebody's, if nobody says whose. */
function requiredApprovals({ state }: PendingRequest, { approval, client }: Request): readonly Wanted[] {
  const { verdict } = state;
  const asked = verdict?.verdict === "ask";
  const wanted = asked ? (verdict.approvals as readonly Wanted[] | undefined) : [];
  const why = asked && verdict.why !== undefined ? { why: verdict.why } : {};
  if (client !== undefined) return asked && !wanted?.length ? [{ rule: "policy", ...why }] : (wanted ?? []);
  const { terms = {} } = approval ?? {};
  const own = Object.keys(terms).length === 0 ? [] : [{ rule: "", ...terms }];
  const all = [...(wanted ?? []), ...own];
  return all.length > 0 ? all : [{ rule: "", ...why }];
}

const AGREED: Standing = { state: "agreed" };

const NOT_ANSWERED: Failure = {
  name: "NotAnswered",
  message: "This was not done: nobody agreed to it in time.",
  code: "approval-expired",
};

/** Whether nobody can change its arguments. */
function isFixed({ edit, inside }: Request): boolean {
  return edit === undefined || inside !== undefined;
}

async function editedTo(request: Request, input: Json): Promise<Request | Failure> {
  if (isFixed(request)) return { name: "EditError", message: "its arguments cannot be changed" };
  try {
    return await (request.edit as NonNullable<Request["edit"]>)(input);
  } catch (error) {
    return failureOf(error);
  }
}

/** The outcome of a request that a person dealt with in its place. */
export function takenOver(
  { fact, client }: Request,
  { by, value = null }: Pick<FactOf<"approval-give">, "by" | "value">,
): Outcome {
  if (fact.type === "tool-call") return { type: "tool-result", output: value, by, ...client };
  if (fact.type === "step-call") return { type: "step-result", value, by };
  const content = typeof value === "string" ? value : JSON.stringify(value);
  const { agent } = fact as { readonly agent?: string };
  return {
    type: "model-reply",
    content,
    finish: "stop",
    usage: { input: 0, output: 0 },
    ...(agent !== undefined && { agent }),
    by,
  };
}

function denied({ rules, why }: FactOf<"policy-decide">): Failure {
  const by = rules.length === 0 ? "the policy" : `the policy (${rules.join(", ")})`;
  return {
    name: "PolicyDenied",
    message: `This was not done: ${by} forbids it${why === undefined ? "." : `: ${why}`}`,
    code: "policy-denied",
    data: { rules },
  };
}

function refused(fact: Fact, { consent }: PendingRequest, { client }: Request): Failure {
  const asked = fact.type === "approval-give" ? consent.get(fact.of)?.fact : undefined;
  const isResult =
    client !== undefined && (asked as FactOf<"approval-ask"> | undefined)?.answer !== undefined;
  if (fact.type === "approval-give" && fact.decision === "reject" && isResult)
    return { name: "ClientToolError", message: fact.why ?? "it failed", code: "client-tool-failed" };
  if (fact.type === "approval-give" && fact.decision === "reject")
    return { name: "Rejected", message: fact.why ?? `${fact.by} said no`, code: "rejected" };
  return {
    name: "ApprovalMismatch",
    message: "the approval is for something else than this call",
    code: "approval-mismatch",
  };
}
