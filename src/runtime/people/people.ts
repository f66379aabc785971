import type { FactId, FactInput, FactOf, Failure, Json, Principal, Settlement } from "../../session/index.js";
import { defined, showValue } from "../../util/index.js";
import { RefusedError, requireKnown } from "../given.js";
import { type Always, isAlways } from "../policy/index.js";
import { answerName } from "../run/names.js";
import type { RunServices } from "../run/options.js";
import { factAt, recordedRun } from "../tape/recorded.js";
import { type AnswerOptions, giveAnswer, type MakeAnswer, requestsOf, revokeAnswer } from "./answer.js";
import { type Awaited, describeAsk, doubtAbout, showVisibly } from "./awaited.js";
import { type GivenApproval, revokeStanding, standingApprovals, standingFor } from "./standing.js";

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
      const ask: Partial<Awaited> = fact.type === "approval-ask" ? describeAsk(fact) : {};
      const about = ask.of === undefined ? undefined : await factAt(store, ask.of);
      const call = about?.type === "tool-call" ? defined({ call: about.call }) : {};
      const signal = fact.type === "signal-await" ? defined({ shown: fact.what }) : {};
      const doubt = one.doubt === true ? (await doubtAbout(store, heads, one.id)).doubt : {};
      const standing = fact.type === "approval-ask" ? await standingFor(store, one.id) : {};
      const answered = run !== undefined && (await store.head(answerName(run.nonce, one.id))) !== undefined;
      awaited.push(showVisibly({ ...one, ...ask, ...call, ...signal, ...doubt, ...standing, answered }));
    }
    return awaited;
  }

  async approve(nameOrId: string, decision: Approval): Promise<FactId> {
    const { edit, always } = requireDecision(decision, "approve", nameOrId);
    requireAlways(decision, nameOrId);
    const { names } = this.#host.secrets.conceal(edit ?? null);
    if (names.length > 0)
      throw new RefusedError(
        `approve what ${JSON.stringify(nameOrId)} waits for`,
        `the arguments hold the secret ${names.join(", ")}, which would be recorded`,
        "leave the secret out: tools ask for secrets by name",
      );
    return this.#decide(nameOrId, decision, "approve", defined({ edit, always }));
  }

  async reject(nameOrId: string, decision: Decision): Promise<FactId> {
    const checked = requireDecision(decision, "reject", nameOrId);
    return this.#decide(nameOrId, await this.#named(nameOrId, checked), "reject", {});
  }

  /** The requester takes a request for approval back. */
  async withdraw(nameOrId: string, decision: Omit<Decision, "digest">): Promise<FactId> {
    requireDecision(decision, "withdraw", nameOrId);
    const { by, why = `${String(by)} withdrew the request` } = decision;
    return this.#decide(nameOrId, { ...decision, why, withdrawn: true }, "reject", {});
  }

  async revoke(nameOrId: string, decision: Revocation): Promise<FactId> {
    const { approval, ...rest } = requireDecision(decision, "revoke", nameOrId);
    const { open, secrets, services } = this.#host;
    const given = { ...rest, now: services.now() };
    const conceal = (fact: FactInput): FactInput => secrets.conceal(fact).value;
    return approval === undefined
      ? revokeAnswer(await open(), nameOrId, given, conceal)
      : revokeStanding(await open(), nameOrId, { ...given, approval }, conceal);
  }

  async approvals(nameOrId?: string): Promise<readonly GivenApproval[]> {
    return standingApprovals(await this.#host.open(), nameOrId);
  }

  async takeOver(nameOrId: string, decision: TakeOver): Promise<FactId> {
    const { value } = requireDecision(decision, "takeOver", nameOrId);
    if (value === undefined)
      throw new RefusedError(
        `take over what ${JSON.stringify(nameOrId)} waits for`,
        "the outcome is missing",
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
    more: { readonly edit?: Json; readonly value?: Json; readonly always?: Always },
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
    const { open, secrets, services } = this.#host;
    // A person may type a secret too.
    const conceal: MakeAnswer = (...asked) => secrets.conceal(make(...asked)).value;
    const id = await giveAnswer(await open(), nameOrId, { ...options, now: services.now() }, conceal);
    this.#answered();
    return id;
  }
}

/** A person's word on something that was shown. */
export type Decision = {
  readonly by: Principal;
  /** Which question, by its id; may be left out when there is only one. */
  readonly ask?: FactId;
  /** The digest of what the person saw: refused unless it is what was asked. */
  readonly digest?: string;
  readonly why?: string;
};

/** A person's agreement. */
export type Approval = Decision & {
  /** Agrees to these arguments in place of those that were shown. Both are kept. */
  readonly edit?: Json;
  /**
   * A standing approval: later calls of this session are not asked about, "arguments" if they are the same call, "tool" if they
   * call the same tool. It covers what the same rule asks of the same caller, on behalf of the same people, until it is revoked.
   */
  readonly always?: Always;
};

/** A person's word that an approval no longer holds. */
export type Revocation = Decision & {
  /** The id of a standing approval, as `rath.approvals(name)` shows it, or its beginning. */
  readonly approval?: FactId;
};

/** A person's word that they did it themselves. */
export type TakeOver = Decision & {
  /** The value that the caller gets in place of an outcome. */
  readonly value: Json;
};

/** The outcome of a write in doubt, as a person knows it. */
export type Settle = {
  readonly by: Principal;
  /** Which request; may be left out when there is only one in doubt. */
  readonly of?: FactId;
  readonly decision: Settlement;
  /** The result, if the write was done. */
  readonly value?: Json;
  readonly error?: Failure;
  readonly why?: string;
  /** The digest that `pending` showed. The answer is refused if the call in doubt has another one. */
  readonly digest?: string;
};

const DECISIONS = {
  approve: ["by", "ask", "digest", "why", "edit", "always"],
  reject: ["by", "ask", "digest", "why"],
  revoke: ["by", "ask", "approval", "why"],
  withdraw: ["by", "ask", "why"],
  takeOver: ["by", "ask", "digest", "why", "value"],
  settle: ["by", "of", "decision", "value", "error", "why", "digest"],
} as const;

/** An answer to what a run waits for. */
function requireDecision<Given>(decision: Given, use: keyof typeof DECISIONS, name: string): Given {
  if (typeof decision === "object" && decision !== null) {
    requireKnown(decision, DECISIONS[use], `${use} what ${showValue(name)} waits for`);
    return decision;
  }
  const rest = use === "settle" ? ', decision: "done", value' : use === "takeOver" ? ", value" : "";
  throw new RefusedError(
    `${use} what ${showValue(name)} waits for`,
    `the decision is ${showValue(decision)}, not an object`,
    `say who decides: rath.${use}(${showValue(name)}, { by: "user:ada"${rest} })`,
  );
}

/** Whether a request is meant: by its id or the start of it, or by an id of the call that it is about. */
function isNamed({ id, of, call }: Awaited, ask: string): boolean {
  return id.startsWith(ask) || of === ask || call === ask;
}

/** A standing approval is for what was shown, and says for which calls. */
function requireAlways({ always, edit }: Approval, name: string): void {
  if (always === undefined) return;
  const use = `approve what ${showValue(name)} waits for`;
  if (!isAlways(always))
    throw new RefusedError(
      use,
      `\`always\` must be "arguments" or "tool"; got ${showValue(always)}`,
      'always: "arguments" for the same call again, always: "tool" for every call of the tool, in this session',
    );
  if (edit !== undefined)
    throw new RefusedError(
      use,
      "`always` stands for what was shown, and `edit` replaces it",
      "approve the edit alone, and let the next call ask again",
    );
}
