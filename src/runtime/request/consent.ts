import {
  approversOf,
  canonical,
  type Edited,
  type FactId,
  type FactOf,
  maySettle,
  type Principal,
  type Session,
  type Terms,
} from "../../session/index.js";
import { isSameList } from "../../util/index.js";
import type { Wanted } from "../policy/index.js";

type Give = FactOf<"approval-give">;

/** A question to one person, or to several when one answer is enough. */
type Ask = {
  readonly session: Session;
  readonly fact: FactOf<"approval-ask">;
  /** How often it had to be asked anew because an answer could not be used. */
  readonly round: number;
  /** "changed": other arguments were wanted, or it was taken over; "dropped": it was withdrawn; "late": time was up. */
  state: "open" | "agreed" | "refused" | "changed" | "dropped" | "late";
  give: Give | undefined;
};

export type Question = {
  readonly rule: string;
  readonly why: string | undefined;
  readonly level: number;
  readonly to: readonly Principal[];
  readonly within: number | undefined;
};

/** The people who agree to what one rule wants, beside those who were asked about this call. */
export type Agreeing = (rule: string) => readonly Principal[];

export type Standing =
  | { readonly state: "agreed" | "expired" }
  | { readonly state: "refused"; readonly give: Give }
  | { readonly state: "open"; readonly questions: readonly Question[] };

/**
 * The agreement that a request needs before it is begun: who was asked, what they said, and what is to be asked next. It
 * follows from the recorded facts alone, so that it stands the same after a crash.
 */
export class Consent {
  readonly #asks = new Map<FactId, Ask>();
  #round = 0;
  /** The arguments that people want in place of those that were shown, the newest last. */
  #edits: { readonly edit: Edited; readonly round: number }[] = [];
  /** The settlement that wants a second execution. */
  #second: FactOf<"effect-settle"> | undefined;
  #taken: Give | undefined;
  readonly #uses: { readonly use: FactOf<"approval-use">; readonly round: number }[] = [];

  /** Whether nobody was asked anything. */
  get isUnasked(): boolean {
    return this.#asks.size === 0;
  }

  get open(): readonly Session[] {
    return [...this.#asks.values()].filter(({ state }) => state === "open").map(({ session }) => session);
  }

  /** The arguments that somebody wants in place of those that were shown. */
  get edit(): Edited | undefined {
    return this.#edits.at(-1)?.edit;
  }

  /** The people who gave exactly these arguments, and so agree to them. */
  get editors(): readonly Principal[] {
    const { edit } = this;
    if (edit === undefined) return [];
    const same = canonical(edit.input);
    // Of what one person wanted, the last counts.
    const mine = this.#edits.filter(({ round }) => round === this.#round);
    const last = new Map(mine.map(({ edit: { by, input } }) => [by, input]));
    return [...last].filter(([, input]) => canonical(input) === same).map(([by]) => by);
  }

  /** The answer of a person who did it themselves. */
  get taken(): Give | undefined {
    return this.#taken;
  }

  /** The standing approvals that it relies on, as they are recorded. */
  get uses(): readonly FactOf<"approval-use">[] {
    return this.#uses.filter(({ round }) => round === this.#round).map(({ use }) => use);
  }

  /** It relies on a standing approval. */
  used(use: FactOf<"approval-use">): void {
    this.#uses.push({ use, round: this.#round });
  }

  get(ask: FactId): Session | undefined {
    return this.#asks.get(ask)?.session;
  }

  asked(session: Session): void {
    const fact = session.fact as FactOf<"approval-ask">;
    if (fact.problem !== undefined) this.void();
    this.#asks.set(session.id, { session, fact, round: this.#round, state: "open", give: undefined });
  }

  dropped(ask: FactId, late: boolean): void {
    const found = this.#asks.get(ask);
    if (found?.state === "open") found.state = late ? "late" : "dropped";
  }

  answered(of: FactId, give: Give): void {
    const ask = this.#asks.get(of);
    if (ask === undefined) return;
    ask.give = give;
    const { to = [] } = ask.fact;
    // The record may have been written to by others than this runtime: what they may not say, they have not said.
    const may = to.length === 0 || to.includes(give.by);
    const same = may && give.of === of && give.digest === ask.fact.digest;
    if (!same || give.decision === "reject") ask.state = "refused";
    else if (give.decision === "take-over") {
      ask.state = "changed";
      this.#taken = give;
    } else if (give.edit !== undefined) {
      ask.state = "changed";
      this.#edits.push({ edit: { by: give.by, input: give.edit }, round: this.#round });
    } else ask.state = give.decision === "approve" ? "agreed" : "refused";
  }

  /** Whether somebody may say what became of it: the record may have been written to by others than this runtime. */
  isSettledBy({ by }: FactOf<"effect-settle">): boolean {
    const asks = [...this.#asks.values()].map(({ fact }) => fact);
    return maySettle([...asks, ...this.#uses.map(({ use }) => use)], by);
  }

  /** It may have happened, and is to be executed again: what was agreed to before is used up. */
  again(settle: FactOf<"effect-settle">): void {
    this.#second = settle;
    this.#round += 1;
  }

  /** Whether it is asked about a second execution. */
  get isSecond(): boolean {
    return this.#second !== undefined;
  }

  /** The arguments that somebody gave cannot be used: everything is asked anew. */
  void(): void {
    if (this.#edits.length === 0) return;
    this.#edits = [];
    this.#round += 1;
  }

  /**
   * Where it stands with the agreement to exactly the bytes of this digest.
   *
   * @param agreeing who gave these arguments, and so agrees to them, or gave a standing approval
   */
  standing(wanted: readonly Wanted[], digest: string, agreeing: Agreeing): Standing {
    const second = this.#second;
    const again = second?.digest === digest ? [second.by] : [];
    const all = wanted.map((one) => {
      const asked = [...this.#asks.values()].filter(
        ({ fact, round, state }) =>
          // A no stands, also where it is asked anew because of somebody else's answer.
          (fact.rule ?? "") === one.rule && (round === this.#round || state === "refused"),
      );
      return stands(one, asked, digest, [...agreeing(one.rule), ...again]);
    });
    return (
      all.find(({ state }) => state === "refused") ??
      all.find(({ state }) => state === "expired") ??
      (all.every(({ state }) => state === "agreed")
        ? { state: "agreed" }
        : { state: "open", questions: all.flatMap((one) => (one.state === "open" ? one.questions : [])) })
    );
  }
}

/** Where it stands with what one rule wants, given all that was asked for it. */
function stands(
  wanted: Wanted,
  asked: readonly Ask[],
  digest: string,
  agreeing: readonly Principal[],
  // Whatever it was about: others were asked because those before them did not answer.
  level = asked.reduce((highest, { fact }) => Math.max(highest, fact.level ?? 0), 0),
): Standing {
  const now = termsAt(wanted, level);
  // The terms may have been longer when it was asked: then nobody is left to ask.
  if (now === undefined) return { state: "expired" };
  const { need = 1 } = now;
  const approvers = approversOf(now);
  const at = asked.filter(({ fact }) => fact.digest === digest && (fact.level ?? 0) === level);
  const refused = at.flatMap(({ state, give }) => (state === "refused" && give ? [give] : []));
  const asking = need === 1 ? 1 : approvers.length;
  const last = refused.at(-1);
  if (last !== undefined && refused.length > asking - need) return { state: "refused", give: last };
  const agreed = new Set(
    [...at.flatMap(({ state, give }) => (state === "agreed" && give ? [give.by] : [])), ...agreeing].filter(
      (one) => approvers.length === 0 || approvers.includes(one),
    ),
  );
  // A person who says both has not agreed.
  for (const { by } of refused) agreed.delete(by);
  if (agreed.size >= need) return { state: "agreed" };
  const questions = questionsOf(wanted, now, level).filter(
    ({ to }) =>
      !to.some((one) => agreed.has(one)) &&
      !at.some(({ fact, state }) => ASKED.has(state) && isSameList(fact.to ?? [], to)),
  );
  const open = at.some(({ state }) => state === "open");
  if (open || agreed.size + questions.length >= need) return { state: "open", questions };
  // Too many said nothing in time.
  return stands(wanted, asked, digest, agreeing, level + 1);
}

/** Questions in these states are not asked again. */
const ASKED: ReadonlySet<Ask["state"]> = new Set(["open", "agreed", "refused", "late"]);

/** One question to all when one agreement is enough; else one to each. */
function questionsOf({ rule, why }: Wanted, terms: Terms, level: number): readonly Question[] {
  const { need = 1, within } = terms;
  const to = approversOf(terms);
  return (need === 1 ? [to] : to.map((one) => [one])).map((some) => ({ rule, why, level, to: some, within }));
}

function termsAt(terms: Terms, level: number): Terms | undefined {
  let at: Terms | undefined = terms;
  for (let step = 0; step < level && at !== undefined; step++) at = at.otherwise;
  return at;
}
