import {
  canonical,
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
import type { Wanted } from "../policy/index.js";
import type { Secrets } from "../secrets.js";
import type { Question, Standing } from "./consent.js";
import { isRuled, rulingOn } from "./gate.js";
import type { PendingRequest } from "./pending-request.js";
import type { Outcome, Request } from "./request.js";
import { LONGEST_TIMER } from "./timeout.js";
import type { BatchWork } from "./work.js";

/** The policies and the people that must agree before an effect begins. */
export class Approval {
  readonly #work: BatchWork;
  /** Requests whose answers are being taken in. */
  readonly #hearing = new Set<PendingRequest>();

  constructor(work: BatchWork) {
    this.#work = work;
  }

  /** Whether the record so far lets a module in: it is entered again where it was entered. */
  wasLetIn(item: PendingRequest, request: Request): boolean {
    const { run, scope } = this.#work;
    const { asked } = item;
    const { verdict } = item.state;
    if (verdict?.verdict === "deny") return false;
    if (verdict === undefined && run.tape.isDecided(asked.id)) return false;
    // Nothing was decided before a policy came to be: what had begun by then goes on.
    if (
      verdict === undefined &&
      isRuled(scope.policies, request) &&
      run.tape.typed(asked, "branch-fork") === undefined
    )
      return false;
    const what = shownForApproval(item, request, run.secrets);
    return what === undefined || this.#standing(item, request, what).state === "agreed";
  }

  /** Lets the policies decide, once, before anything is done. A denied request ends as a failure that a model can read. */
  isLetPass(item: PendingRequest, request: Request): boolean {
    const { scope, chain } = this.#work;
    // A request that was started had passed.
    if (item.state.verdict === undefined && item.begun === undefined) {
      const editor = item.state.edited ? item.consent.edit?.by : undefined;
      const ruling = rulingOn(scope.policies, request, item.asked, editor);
      if (ruling !== undefined) chain.append(item, { type: "policy-decide", of: item.asked.id, ...ruling });
      // Where nobody has anything to say about other arguments, what was said of the first ones holds.
      else if (item.state.edited) item.advance({ type: "keep-verdict" });
    }
    const { verdict } = item.state;
    if (verdict?.verdict !== "deny") return true;
    for (const ask of item.consent.open) chain.drop(item, ask, "it is denied");
    this.#endSoon(item, request.failed(denied(verdict), undefined));
    return false;
  }

  #endSoon(item: PendingRequest, outcome: Outcome): void {
    const { chain, soon, goOn } = this.#work;
    soon(item, () => {
      chain.end(item, outcome);
      goOn();
    });
  }

  #standing(item: PendingRequest, request: Request, what: Json): Standing {
    const editors = item.state.edited ? item.consent.editors : [];
    return item.consent.standing(requiredApprovals(item, request), digestOf(canonical(what)), editors);
  }

  /** Whether those who must have agreed to exactly the bytes that will be executed. Asks them if they have not been. */
  isAgreed(item: PendingRequest, request: Request): boolean {
    const { run, chain } = this.#work;
    const { consent } = item;
    const what = shownForApproval(item, request, run.secrets);
    const digest = what === undefined ? undefined : digestOf(canonical(what));
    const stale = consent.open.filter((ask) => (ask.fact as FactOf<"approval-ask">).digest !== digest);
    if (stale.length > 0) {
      run.watch(this.#withdraw(item, stale));
      return false;
    }
    const standing: Standing = what === undefined ? AGREED : this.#standing(item, request, what);
    if (consent.taken === undefined && standing.state === "open" && what !== undefined) {
      for (const question of standing.questions) this.#ask(item, what, question);
      // The people who are asked must be able to see it, also while something else is under way.
      if (standing.questions.length > 0) run.recorder.flushSoon();
      item.problem = undefined;
      for (const ask of consent.open) this.#waitUntil(item, ask);
      return false;
    }
    for (const ask of consent.open) chain.drop(item, ask, "it is decided");
    if (consent.taken === undefined && standing.state === "agreed") return true;
    const outcome =
      standing.state === "refused"
        ? request.failed(refused(standing.give), undefined)
        : consent.taken !== undefined
          ? takenOver(request, consent.taken)
          : request.failed(NOT_ANSWERED, undefined);
    this.#endSoon(item, outcome);
    return false;
  }

  #ask(item: PendingRequest, what: Json, { rule, why, level, to, within }: Question): void {
    const { run, chain } = this.#work;
    const { edit } = item.consent;
    const { edited, attempts } = item.state;
    const request = item.request as Request;
    const { input: was = null } = item.asked.fact as { readonly input?: Json };
    const expires = within === undefined ? undefined : new Date(run.services.now() + within).toISOString();
    chain.append(item, {
      type: "approval-ask",
      what,
      digest: digestOf(canonical(what)),
      of: item.asked.id,
      ...(expires !== undefined && { expires }),
      ...(to.length > 0 && { to }),
      ...defined({ name: request.name }),
      ...(rule !== "" && { rule }),
      ...defined({ why }),
      ...(level > 0 && { level }),
      ...(edit !== undefined && edited && { edited: { by: edit.by, was } }),
      ...((request.edit === undefined || request.inside !== undefined) && { fixed: true }),
      ...defined({ answer: request.answer, problem: item.problem }),
      ...(item.consent.isSecond && { execution: attempts + 1 }),
    });
  }

  /** Takes questions back that are about something else by now, unless somebody has answered them: that is heard first. */
  async #withdraw(item: PendingRequest, asks: readonly Session[]): Promise<void> {
    const { run, chain, soon, goOn } = this.#work;
    const release = run.turns.occupy();
    const answered = new Set<Session>();
    try {
      for (const ask of asks) if (await run.answers.lastAnswerTo(ask.id)) answered.add(ask);
    } finally {
      release();
    }
    soon(item, () => {
      for (const ask of asks) {
        if (!item.consent.open.includes(ask)) continue;
        if (answered.has(ask)) this.#work.wait(item, ask);
        else chain.drop(item, ask, "it is something else by now");
      }
      if (answered.size > 0) run.answers.poke();
      else {
        item.advance({ type: "let-go" });
        goOn();
      }
    });
  }

  /** Waits for an answer as long as there is time for one. */
  #waitUntil(item: PendingRequest, ask: Session): void {
    const { run } = this.#work;
    this.#work.wait(item, ask);
    const { expires } = ask.fact as FactOf<"approval-ask">;
    if (expires === undefined) return;
    const left = Date.parse(expires) - run.services.now();
    const expire = (): void => run.watch(this.#expire(item, ask, expires));
    if (left <= 0) expire();
    // Quietly: when nothing else is under way the run is suspended, and the next resume finds that time is up.
    else if (left <= LONGEST_TIMER) run.turns.ring(left, expire, true);
  }

  async #expire(item: PendingRequest, ask: Session, expires: string): Promise<void> {
    const { run, chain, soon, goOn } = this.#work;
    if (!item.consent.open.includes(ask)) return;
    const release = run.turns.occupy();
    // One that was given in time counts, and from here on none can be given.
    const given = await run.answers.lastAnswerTo(ask.id).finally(release);
    if (given) return;
    soon(item, () => {
      if (!item.consent.open.includes(ask)) return;
      chain.drop(item, ask, `nobody answered by ${expires}`, true);
      item.advance({ type: "let-go" });
      goOn();
    });
  }

  /** Goes on after all answers that came together: of those a no, or somebody who did it themselves, counts for more. */
  hear(item: PendingRequest): void {
    item.advance({ type: "begin" });
    if (this.#hearing.has(item)) return;
    this.#hearing.add(item);
    this.#work.run.turns.soon(() => {
      this.#hearing.delete(item);
      if (item.isDone) return;
      item.advance({ type: "let-go" });
      this.#work.goOn();
    });
  }

  /** Somebody gave other arguments: the request is made with these, or asked about again. */
  edit(item: PendingRequest, request: Request): void {
    item.advance({ type: "edit" });
    this.#work.run.watch(this.#edit(item, request));
  }

  async #edit(item: PendingRequest, request: Request): Promise<void> {
    const { run, chain, soon, goOn } = this.#work;
    const edit = item.consent.edit as Edited;
    const release = run.turns.occupy();
    const made = await editedTo(request, edit.input).finally(release);
    soon(item, () => {
      // Somebody else gave others meanwhile.
      if (item.consent.edit !== edit) item.advance({ type: "edit-over", how: "superseded" });
      else if ("act" in made) {
        item.request = made;
        item.advance({ type: "edit-over", how: "made" });
      } else {
        const { begun } = item;
        item.advance({ type: "edit-over", how: "refused" });
        if (begun !== undefined) {
          // It was begun with them once, and what it was that was begun nobody here can tell.
          item.advance({ type: "begin" });
          this.#work.wait(item, item.asked);
          return;
        }
        item.problem = made.message;
        item.consent.void();
        for (const ask of item.consent.open) chain.drop(item, ask, "it is asked anew");
      }
      goOn();
    });
  }
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
function requiredApprovals({ state }: PendingRequest, { approval }: Request): readonly Wanted[] {
  const { verdict } = state;
  const asked = verdict?.verdict === "ask";
  const wanted = asked ? (verdict.approvals as readonly Wanted[] | undefined) : [];
  const { terms = {} } = approval ?? {};
  const own = Object.keys(terms).length === 0 ? [] : [{ rule: "", ...terms }];
  const all = [...(wanted ?? []), ...own];
  const why = asked && verdict.why !== undefined ? { why: verdict.why } : {};
  return all.length > 0 ? all : [{ rule: "", ...why }];
}

const AGREED: Standing = { state: "agreed" };

const NOT_ANSWERED: Failure = {
  name: "NotAnswered",
  message: "This was not done: nobody agreed to it in time.",
  code: "approval-expired",
};

async function editedTo(request: Request, input: Json): Promise<Request | Failure> {
  const fixed = request.edit === undefined || request.inside !== undefined;
  if (fixed) return { name: "EditError", message: "its arguments cannot be changed" };
  try {
    return await (request.edit as NonNullable<Request["edit"]>)(input);
  } catch (error) {
    return failureOf(error);
  }
}

/** The outcome of a request that a person dealt with in its place. */
function takenOver({ fact }: Request, { by, value = null }: FactOf<"approval-give">): Outcome {
  if (fact.type === "tool-call") return { type: "tool-result", output: value, by };
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

function refused(fact: Fact): Failure {
  if (fact.type === "approval-give" && fact.decision === "reject")
    return { name: "Rejected", message: fact.why ?? `${fact.by} said no`, code: "rejected" };
  return {
    name: "ApprovalMismatch",
    message: "the approval is for something else than this call",
    code: "approval-mismatch",
  };
}
