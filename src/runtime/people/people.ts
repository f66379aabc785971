import type { FactId, FactOf, Json, Principal } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { AnswerError } from "../error.js";
import { RefusedError } from "../given.js";
import { delegationOf } from "../policy/index.js";
import { answerName } from "../run/writer.js";
import type { Secrets } from "../secrets.js";
import type { Services } from "../services.js";
import { factAt, recordedRun } from "../tape/recorded.js";
import { type AnswerOptions, giveAnswer, type MakeAnswer, requestsOf, revokeAnswer } from "./answer.js";
import { type Awaited, describeAsk, showVisibly } from "./awaited.js";
import { type Approval, type Decision, requireDecision, type Settle, type TakeOver } from "./decision.js";
import { doubtAbout } from "./doubt.js";

type PeopleHost = {
  readonly store: () => Promise<Store>;
  readonly secrets: Secrets;
  readonly services: Services;
  /** Called after each answer: a run in this process may wait for it. */
  readonly answered: () => void;
};

/**
 * The requests to people and their answers. An answer is kept in the store, where the run that asked finds it: now, or when
 * it is resumed.
 */
export class People {
  readonly #host: PeopleHost;

  constructor(host: PeopleHost) {
    this.#host = host;
  }

  async pending(nameOrId: string): Promise<readonly Awaited[]> {
    const store = await this.#host.store();
    const run = await recordedRun(store, nameOrId);
    const heads = run === undefined || run.over ? [nameOrId] : run.leaves;
    const awaited: Awaited[] = [];
    for (const one of (await requestsOf(store, heads)).values()) {
      const { fact } = await store.load(one.id);
      const ask: Partial<Awaited> = fact.type === "approval-ask" ? describeAsk(fact) : {};
      const about = ask.of === undefined ? undefined : await factAt(store, ask.of);
      const call = about?.type === "tool-call" ? defined({ call: about.call }) : {};
      const signal = fact.type === "signal-await" ? defined({ shown: fact.what }) : {};
      const doubt = one.doubt === true ? (await doubtAbout(store, heads, one.id)).doubt : {};
      const answered = run !== undefined && (await store.head(answerName(run.nonce, one.id))) !== undefined;
      awaited.push(showVisibly({ ...one, ...ask, ...call, ...signal, ...doubt, answered }));
    }
    return awaited;
  }

  async approve(nameOrId: string, decision: Approval): Promise<FactId> {
    const { edit } = requireDecision(decision, "approve", nameOrId);
    const { names } = this.#host.secrets.conceal(edit ?? null);
    if (names.length > 0)
      throw new RefusedError(
        `approve what ${JSON.stringify(nameOrId)} waits for`,
        `the arguments hold the secret ${names.join(", ")}, which would be recorded`,
        "leave it out: tools ask for secrets by their names",
      );
    return this.#decide(nameOrId, decision, "approve", defined({ edit }));
  }

  async reject(nameOrId: string, decision: Decision): Promise<FactId> {
    const checked = requireDecision(decision, "reject", nameOrId);
    return this.#decide(nameOrId, await this.#named(nameOrId, checked), "reject", {});
  }

  /** The requester takes a request for approval back. */
  async withdraw(nameOrId: string, decision: Omit<Decision, "digest">): Promise<FactId> {
    requireDecision(decision, "withdraw", nameOrId);
    const { by, why = `${String(by)} withdrew the request` } = decision;
    const requesters = delegationOf(await (await this.#host.store()).load(nameOrId));
    if (!requesters.includes(by))
      throw new AnswerError(
        `${String(by)} did not make the request`,
        `only ${requesters.join(" or ")} can withdraw it; an approver rejects it: rath.reject(name, { by })`,
        { by: String(by), requesters: [...requesters] },
      );
    return this.#decide(nameOrId, { ...decision, why, withdrawn: true }, "reject", {});
  }

  async revoke(nameOrId: string, decision: Decision): Promise<FactId> {
    requireDecision(decision, "revoke", nameOrId);
    const { store, secrets, services } = this.#host;
    const now = services.now();
    return revokeAnswer(await store(), nameOrId, { ...decision, now }, (fact) => secrets.conceal(fact).value);
  }

  async takeOver(nameOrId: string, decision: TakeOver): Promise<FactId> {
    const { value } = requireDecision(decision, "takeOver", nameOrId);
    if (value === undefined)
      throw new RefusedError(
        `take over what ${JSON.stringify(nameOrId)} waits for`,
        "it does not say what came of it",
        `rath.takeOver(${JSON.stringify(nameOrId)}, { by: "user:ada", value: "paid by hand" })`,
      );
    return this.#decide(nameOrId, await this.#named(nameOrId, decision), "take-over", { value });
  }

  async signal(nameOrId: string, signal: string, value: Json, by: Principal): Promise<FactId> {
    return this.#answer(nameOrId, { kind: "signal-await", ask: { signal } }, () => ({
      type: "signal-give",
      by,
      value,
    }));
  }

  async answer(nameOrId: string, ask: FactId, value: Json, by: Principal): Promise<FactId> {
    // A question of a model, and a call that its client answers, are approvals that only an answer settles.
    const isQuestion =
      typeof ask === "string" &&
      ask !== "" &&
      (await this.pending(nameOrId)).find((one) => isNamed(one, ask))?.answer !== undefined;
    if (isQuestion) return this.takeOver(nameOrId, { by, ask, value });
    return this.#answer(nameOrId, { kind: "signal-await", ask }, () => ({ type: "signal-give", by, value }));
  }

  async settle(nameOrId: string, settle: Settle): Promise<FactId> {
    requireDecision(settle, "settle", nameOrId);
    const { by, of: ask, decision, value, error, why, digest } = settle;
    return this.#answer(nameOrId, { kind: "doubt", ask, by, digest }, (_, doubt) => ({
      type: "effect-settle",
      by,
      decision,
      ...defined({ value, error, why }),
      ...(decision === "again" && doubt?.approved !== undefined && { digest: doubt.digest }),
    }));
  }

  /** The decision with the id of the request in place of the model's id of the call. */
  async #named<Given extends Decision>(nameOrId: string, decision: Given): Promise<Given> {
    const { ask } = decision;
    if (typeof ask !== "string" || ask === "") return decision;
    const found = (await this.pending(nameOrId)).filter((one) => isNamed(one, ask));
    const [only = undefined] =
      found.length === 1 ? found : found.filter(({ answer }) => answer !== undefined);
    return only === undefined ? decision : { ...decision, ask: only.id };
  }

  #decide(
    nameOrId: string,
    { by, ask, digest, why, withdrawn }: Decision & { readonly withdrawn?: boolean },
    decision: FactOf<"approval-give">["decision"],
    more: { readonly edit?: Json; readonly value?: Json },
  ): Promise<FactId> {
    return this.#answer(nameOrId, { kind: "approval-ask", ask, by, digest, withdrawn }, (asked) => ({
      type: "approval-give",
      by,
      decision,
      digest: (decision === "reject" ? undefined : digest) ?? (asked as FactOf<"approval-ask">).digest,
      ...defined({ why }),
      ...more,
    }));
  }

  async #answer(nameOrId: string, options: Omit<AnswerOptions, "now">, make: MakeAnswer): Promise<FactId> {
    const { store, secrets, services, answered } = this.#host;
    // A person may type a secret too.
    const conceal: MakeAnswer = (...asked) => secrets.conceal(make(...asked)).value;
    const id = await giveAnswer(await store(), nameOrId, { ...options, now: services.now() }, conceal);
    answered();
    return id;
  }
}

/** Whether a request is meant: by its id or the start of it, or by an id of the call that it is about. */
function isNamed({ id, of, call }: Awaited, ask: string): boolean {
  return id.startsWith(ask) || of === ask || call === ask;
}
