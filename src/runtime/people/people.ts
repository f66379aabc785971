import type { FactId, FactOf, Json, Principal } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { RefusedError } from "../given.js";
import type { RunServices } from "../run/options.js";
import { answerName } from "../run/writer.js";
import { recordedRun } from "../tape/recorded.js";
import { type AnswerOptions, giveAnswer, type MakeAnswer, requestsOf, revokeAnswer } from "./answer.js";
import { type Awaited, describeAsk, describeDoubt } from "./awaited.js";
import { type Approval, type Decision, requireDecision, type Settle, type TakeOver } from "./decision.js";
import { doubtAbout } from "./doubt.js";

/**
 * The requests to people and their answers. An answer is kept in the store, where the run that asked finds it: now, or when
 * it is resumed.
 */
export class People {
  readonly #host: RunServices;
  readonly #answered: () => void;

  /** @param answered called after each answer: a run in this process may wait for it */
  constructor(host: RunServices, answered: () => void) {
    this.#host = host;
    this.#answered = answered;
  }

  async pending(nameOrId: string): Promise<readonly Awaited[]> {
    const store = await this.#host.open();
    const run = await recordedRun(store, nameOrId);
    const heads = run === undefined || run.over ? [nameOrId] : run.leaves;
    const awaited: Awaited[] = [];
    for (const one of (await requestsOf(store, heads)).values()) {
      const { fact } = await store.load(one.id);
      const ask = fact.type === "approval-ask" ? describeAsk(fact) : {};
      const signal = fact.type === "signal-await" ? defined({ shown: fact.what }) : {};
      const doubt = one.doubt === true ? describeDoubt((await doubtAbout(store, heads, one.id)).doubt) : {};
      const answered = run !== undefined && (await store.head(answerName(run.nonce, one.id))) !== undefined;
      awaited.push({ ...one, ...ask, ...signal, ...doubt, answered });
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
    return this.#decide(nameOrId, requireDecision(decision, "reject", nameOrId), "reject", {});
  }

  async revoke(nameOrId: string, decision: Decision): Promise<FactId> {
    requireDecision(decision, "revoke", nameOrId);
    const { open, secrets, services } = this.#host;
    const now = services.now();
    return revokeAnswer(await open(), nameOrId, { ...decision, now }, (fact) => secrets.conceal(fact).value);
  }

  async takeOver(nameOrId: string, decision: TakeOver): Promise<FactId> {
    const { value } = requireDecision(decision, "takeOver", nameOrId);
    if (value === undefined)
      throw new RefusedError(
        `take over what ${JSON.stringify(nameOrId)} waits for`,
        "it does not say what came of it",
        `rath.takeOver(${JSON.stringify(nameOrId)}, { by: "user:ada", value: "paid by hand" })`,
      );
    return this.#decide(nameOrId, decision, "take-over", { value });
  }

  async signal(nameOrId: string, signal: string, value: Json, by: Principal): Promise<FactId> {
    return this.#answer(nameOrId, { kind: "signal-await", ask: { signal } }, () => ({
      type: "signal-give",
      by,
      value,
    }));
  }

  async answer(nameOrId: string, ask: FactId, value: Json, by: Principal): Promise<FactId> {
    // A question of a model is an approval that only an answer settles.
    const isQuestion =
      typeof ask === "string" &&
      ask !== "" &&
      (await this.pending(nameOrId)).find(({ id }) => id.startsWith(ask))?.answer !== undefined;
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

  #decide(
    nameOrId: string,
    { by, ask, digest, why }: Decision,
    decision: FactOf<"approval-give">["decision"],
    more: { readonly edit?: Json; readonly value?: Json },
  ): Promise<FactId> {
    return this.#answer(nameOrId, { kind: "approval-ask", ask, by, digest }, (asked) => ({
      type: "approval-give",
      by,
      decision,
      digest: (decision === "reject" ? undefined : digest) ?? (asked as FactOf<"approval-ask">).digest,
      ...defined({ why }),
      ...more,
    }));
  }

  async #answer(nameOrId: string, options: Omit<AnswerOptions, "now">, make: MakeAnswer): Promise<FactId> {
    const { open, secrets, services } = this.#host;
    // A person may type a secret too.
    const conceal: MakeAnswer = (...asked) => secrets.conceal(make(...asked)).value;
    const id = await giveAnswer(await open(), nameOrId, { ...options, now: services.now() }, conceal);
    this.#answered();
    return id;
  }
}
