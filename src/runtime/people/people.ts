import {
  type Fact,
  type FactId,
  type FactOf,
  type Json,
  type Principal,
  readFact,
  Session,
} from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { RefusedError, requireDecision } from "../given.js";
import { answerName } from "../run/writer.js";
import type { Secrets } from "../secrets.js";
import type { Services } from "../services.js";
import { factAt, recordedRun } from "../tape/recorded.js";
import {
  type Approval,
  type Decision,
  giveAnswer,
  revokeAnswer,
  type Settle,
  type TakeOver,
} from "./answer.js";
import { type Awaited, begunIn, shownIn } from "./awaited.js";
import { type Doubt, doubtAbout } from "./doubt.js";

type PeopleHost = {
  readonly store: () => Promise<Store>;
  readonly secrets: Secrets;
  readonly services: Services;
  /** Called after each answer: a run in this process may wait for it. */
  readonly answered: () => void;
};

/**
 * What people are asked and what they answer. An answer is kept in the store, where the run that asked finds it: now, or when
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
    const awaited = new Map<FactId, Awaited>();
    for (const head of heads) {
      const session = await store.load(head);
      // A suspension says what it waits for; a call that waits for its approval is not asked about itself.
      const waiting = session.fact.type === "run-suspend" ? new Set(session.fact.waiting) : undefined;
      for (const one of session.pending) {
        if (awaited.has(one.id) || waiting?.has(one.id) === false) continue;
        const line = await store.line(one.id);
        const fact = line === undefined ? undefined : readFact(line, Session.realmOf(session).blobs);
        const ask = fact?.type === "approval-ask" ? shownIn(fact) : {};
        const signal = fact?.type === "signal-await" && fact.what !== undefined ? { shown: fact.what } : {};
        const doubt = one.doubt === true ? begunIn((await doubtAbout(store, heads, one.id)).doubt) : {};
        const answered = run !== undefined && (await store.head(answerName(run.nonce, one.id))) !== undefined;
        awaited.set(one.id, { ...one, ...ask, ...signal, ...doubt, answered });
      }
    }
    return [...awaited.values()];
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
    return this.#decide(nameOrId, decision, "approve", edit === undefined ? {} : { edit });
  }

  async reject(nameOrId: string, decision: Decision): Promise<FactId> {
    return this.#decide(nameOrId, requireDecision(decision, "reject", nameOrId), "reject", {});
  }

  async revoke(nameOrId: string, decision: Decision): Promise<FactId> {
    requireDecision(decision, "revoke", nameOrId);
    const conceal: Parameters<typeof revokeAnswer>[3] = (fact) => this.#host.secrets.conceal(fact).value;
    const now = this.#host.services.now();
    return revokeAnswer(await this.#host.store(), nameOrId, { ...decision, now }, conceal);
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
    if (typeof by !== "string")
      throw new RefusedError(
        `answer ${JSON.stringify(signal)}`,
        "it does not say who answers",
        `say who, after what they say: rath.signal(${JSON.stringify(nameOrId)}, ${JSON.stringify(signal)}, value, "user:ada")`,
      );
    return this.#answer(nameOrId, { signal }, "signal-await", () => ({ type: "signal-give", by, value }));
  }

  async answer(nameOrId: string, ask: FactId, value: Json, by: Principal): Promise<FactId> {
    if (await this.#isQuestion(nameOrId, ask)) return this.takeOver(nameOrId, { by, ask, value });
    return this.#answer(nameOrId, ask, "signal-await", () => ({ type: "signal-give", by, value }));
  }

  async settle(nameOrId: string, settle: Settle): Promise<FactId> {
    requireDecision(settle, "settle", nameOrId);
    const { by, decision, value, error, why, digest } = settle;
    const make = (_: Fact, doubt?: Doubt) => ({
      type: "effect-settle" as const,
      by,
      decision,
      ...defined({ value, error, why }),
      ...(decision === "again" && doubt?.approved !== undefined && { digest: doubt.digest }),
    });
    return this.#answer(nameOrId, settle.of, "doubt", make, { by, digest });
  }

  #decide(
    nameOrId: string,
    { by, ask, digest, why }: Decision,
    decision: FactOf<"approval-give">["decision"],
    more: { readonly edit?: Json; readonly value?: Json },
  ): Promise<FactId> {
    const make = (fact: Fact) => ({
      type: "approval-give" as const,
      by,
      decision,
      digest: (decision === "reject" ? undefined : digest) ?? (fact as FactOf<"approval-ask">).digest,
      ...defined({ why }),
      ...more,
    });
    return this.#answer(nameOrId, ask, "approval-ask", make, { by, digest });
  }

  /** Whether what is asked is a question, to be answered as such. */
  async #isQuestion(nameOrId: string, ask: FactId): Promise<boolean> {
    if (typeof ask !== "string" || ask === "") return false;
    const store = await this.#host.store();
    for (const { id, type } of await this.pending(nameOrId)) {
      if (type !== "approval-ask" || !id.startsWith(ask)) continue;
      const fact = await factAt(store, id);
      return fact?.type === "approval-ask" && fact.answer !== undefined;
    }
    return false;
  }

  async #answer(
    nameOrId: string,
    ask: FactId | { readonly signal: string } | undefined,
    kind: "approval-ask" | "signal-await" | "doubt",
    make: Parameters<typeof giveAnswer>[4],
    given: { readonly by?: Principal; readonly digest?: string | undefined } = {},
  ): Promise<FactId> {
    const store = await this.#host.store();
    // A person may type a secret too.
    const discreet: typeof make = (...asked) => this.#host.secrets.conceal(make(...asked)).value;
    const now = this.#host.services.now();
    const id = await giveAnswer(store, nameOrId, ask, kind, discreet, { now, ...given });
    this.#host.answered();
    return id;
  }
}
