import type { Fact, FactOf, Principal, Session } from "openrath";
import { type Bargain, bytesOf, type Call, type Ledger, type Terms } from "./bargain.js";

/** What somebody said to a question, and was told that it counts. */
export type Word = {
  readonly order: number;
  readonly call: string;
  readonly by: Principal;
  readonly rule: string;
  readonly level: number;
  /** What they were shown. */
  readonly shown: string;
  readonly says: "yes" | "no" | "mine";
  /** What they want in its place. */
  readonly edit?: string;
  /** Whether nothing was under way meanwhile, so that it must have been heard. */
  readonly quiet: boolean;
  readonly answer: string | undefined;
};

/** What is known to be special about a fault: whoever looks at it begins there. */
const VOIDED = " (somebody gave arguments that will not do)";
const WANTED = " (somebody else wanted just that)";
const TORN = " (who said no, or something else, wanted just that too)";
const TWICE = " (policies decided about it more than once)";
const LATE = " (others were late)";
const NEXT = " (asked after others)";
const PASSED = " (before somebody changed it)";
const BACK = " (somebody wanted again what was shown before)";

const isVoided = (words: readonly Word[]): boolean => words.some(({ edit }) => edit?.includes("lots"));
const isTorn = (words: readonly Word[], bytes: string): boolean =>
  words.some(
    ({ says, edit, shown, by }) =>
      shown === bytes &&
      (says === "no" || (edit !== undefined && edit !== bytes)) &&
      words.some((word) => word.by === by && word.edit === bytes),
  );
const isWanted = (words: readonly Word[], bytes: string): boolean => words.some(({ edit }) => edit === bytes);
const isNext = (words: readonly Word[], bytes: string): boolean =>
  isWanted(words, bytes) && words.every(({ says, level }) => says !== "mine" || level > 0);
const isPassed = (words: readonly Word[], bytes: string): boolean =>
  words.every(({ says, quiet, shown }) => says !== "mine" || !quiet || shown !== bytes);
const isBack = (words: readonly Word[]): boolean =>
  words.some(({ edit }) => words.some(({ shown }) => shown === edit));

type Wanted = Terms & { readonly rule: string };

const listOf = ({ from = [] }: Terms): readonly string[] => (typeof from === "string" ? [from] : from);

function levelsOf(terms: Terms): readonly Terms[] {
  const all: Terms[] = [];
  for (let at: Terms | undefined = terms; at !== undefined; at = at.otherwise) all.push(at);
  return all;
}

/** The record of a run, as it is read from outside: in the order in which it came about. */
class Reading {
  readonly facts: readonly { readonly id: string; readonly fact: Fact }[];

  constructor(session: Session) {
    this.facts = [...session.history()]
      .map(({ id, fact }) => ({ id, fact }))
      .sort((one, other) => (one.fact.seq ?? -1) - (other.fact.seq ?? -1));
  }

  of<Type extends Fact["type"]>(type: Type): readonly { readonly id: string; readonly fact: FactOf<Type> }[] {
    return this.facts.filter(({ fact }) => fact.type === type) as never;
  }

  call(name: string): string | undefined {
    return this.facts.find(
      ({ fact }) => (fact.type === "tool-call" || fact.type === "step-call") && fact.name === name,
    )?.id;
  }

  /** Whether somebody who was asked about a call did not answer in time. */
  isLate(call: string): boolean {
    const asks = new Set(this.of("approval-ask").flatMap(({ id, fact }) => (fact.of === call ? [id] : [])));
    return this.of("wait-cancel").some(
      ({ fact }) => asks.has(fact.of) && fact.why?.startsWith("nobody answered by") === true,
    );
  }

  /** What was decided about a call, each with the bytes that it was about. */
  decisions(
    { amount }: Call,
    call: string,
  ): readonly { readonly bytes: string; readonly fact: FactOf<"policy-decide"> }[] {
    const first = bytesOf({ amount });
    let bytes = first;
    const asks = new Set<string>();
    const gives = new Map(this.of("approval-give").map(({ id, fact }) => [id, fact]));
    const found: { readonly bytes: string; readonly fact: FactOf<"policy-decide"> }[] = [];
    for (const { id, fact } of this.facts) {
      if (fact.type === "approval-ask" && fact.of === call) asks.add(id);
      if (fact.type === "policy-decide" && fact.of === call) found.push({ bytes, fact });
      if (fact.type !== "answer-take" || !asks.has(fact.of)) continue;
      const edit = gives.get(fact.answer)?.edit;
      if (edit === undefined) continue;
      bytes = typeof (edit as { readonly amount?: unknown }).amount === "number" ? bytesOf(edit) : first;
    }
    return found;
  }
}

/** Everything that people said in a round, and what may come of it by this model of agreement. */
export class Crowd {
  readonly words: Word[] = [];

  /** What is wrong with a run that is over. */
  faults(
    bargain: Bargain,
    { done }: Ledger,
    session: Session,
    { interrupted, cancelled }: { readonly interrupted: boolean; readonly cancelled: boolean },
  ): readonly string[] {
    const reading = new Reading(session);
    const faults: string[] = [];
    const known = new Set(reading.facts.map(({ id }) => id));
    for (const { answer, by } of this.words)
      if (answer !== undefined && !known.has(answer)) faults.push(`the word of ${by} is not on the record`);
    for (const call of bargain.calls) {
      const id = reading.call(call.name);
      const actions = done.filter(({ name }) => name === call.name);
      const say = (what: string) => faults.push(`${call.name} (${call.kind}): ${what}`);
      if (actions.length > 1 && !(call.kind === "read" && interrupted)) say(`done ${actions.length} times`);
      if (id === undefined) {
        if (actions.length > 0) say("done, and never asked for");
        continue;
      }
      for (const { bytes, order } of actions) {
        const fault = this.#unagreed(reading, call, id, bytes, order);
        if (fault !== undefined) say(`done with ${bytes}: ${fault}`);
      }
      const fault = this.#unfounded(reading, call, id, actions.length > 0, cancelled);
      if (fault !== undefined) say(fault);
    }
    return faults;
  }

  /** Why what was done should not have been. */
  #unagreed(reading: Reading, call: Call, id: string, bytes: string, order: number): string | undefined {
    const { name, amount } = call;
    const words = this.words.filter((word) => word.call === name && word.order < order);
    if (bytes !== bytesOf({ amount }) && !words.some(({ edit }) => edit === bytes))
      return "nobody wanted that";
    if (words.some(({ says, quiet }) => says === "mine" && quiet))
      return `somebody did it themselves${isPassed(words, bytes) ? PASSED : isNext(words, bytes) ? NEXT : ""}`;
    const { verdict, wanted, times } = wantedFor(reading, call, id, bytes);
    if (verdict === "deny") return "it was denied";
    for (const one of wanted) {
      const standing = levelsOf(one).map((terms, level) => {
        const { need = 1 } = terms;
        const from = listOf(terms);
        const may = (by: Principal) => from.length === 0 || from.includes(by);
        const newest = new Map<Principal, boolean>();
        const no = new Set<Principal>();
        for (const word of words) {
          const about = word.rule === one.rule && word.shown === bytes;
          if (word.edit === bytes) newest.set(word.by, true);
          else if (about) newest.set(word.by, word.says === "yes" && word.edit === undefined);
          // Whoever is asked anew may think better of it.
          if (!about || word.level !== level) continue;
          if (word.says === "no" && word.quiet) no.add(word.by);
          else no.delete(word.by);
        }
        const yes = [...newest].filter(([by, agrees]) => agrees && may(by)).length;
        return { agreed: yes >= need, refused: no.size > (need === 1 ? 0 : from.length - need) };
      });
      if (standing.some(({ refused }) => refused))
        return `it was refused for ${JSON.stringify(one.rule)}${isVoided(words) ? VOIDED : isWanted(words, bytes) ? WANTED : reading.isLate(id) ? LATE : ""}`;
      if (!standing.some(({ agreed }) => agreed))
        return `too few agreed for ${JSON.stringify(one.rule)}${isTorn(words, bytes) ? TORN : times > 1 ? TWICE : ""}`;
    }
    return undefined;
  }

  /** Why what came of it does not follow from what was said. */
  #unfounded(
    reading: Reading,
    call: Call,
    id: string,
    done: boolean,
    cancelled: boolean,
  ): string | undefined {
    const words = this.words.filter((word) => word.call === call.name);
    const outcome = reading.facts.find(
      ({ fact }) =>
        ["tool-result", "step-result", "tool-failure", "step-failure"].includes(fact.type) &&
        (fact as { readonly of?: string }).of === id,
    )?.fact;
    if (outcome === undefined) return "nothing came of it";
    if (outcome.type === "tool-result" || outcome.type === "step-result") {
      if (done) return undefined;
      return words.some(({ says, by }) => says === "mine" && by === outcome.by)
        ? undefined
        : "it has a result, and was not done";
    }
    const { code, message } = (outcome as FactOf<"tool-failure">).error;
    if (cancelled) return undefined;
    if (code === "policy-denied")
      return reading.decisions(call, id).at(-1)?.fact.verdict === "deny" ? undefined : "denied by nobody";
    if (code === "rejected") return this.#isRefused(reading, call, id, words) ? undefined : "too few said no";
    if (code === "approval-expired") {
      return reading.isLate(id)
        ? undefined
        : `given up as unanswered, and nobody was late${isBack(words) ? BACK : ""}`;
    }
    return `it failed: ${code} ${message}`;
  }

  #isRefused(reading: Reading, call: Call, id: string, words: readonly Word[]): boolean {
    const decisions = reading.decisions(call, id).map(({ bytes }) => bytes);
    return [bytesOf({ amount: call.amount }), ...decisions, ...words.map(({ shown }) => shown)].some(
      (bytes) =>
        [...allWanted(reading, call, id)].some((one) =>
          levelsOf(one).some((terms, level) => {
            const no = words.filter(
              (word) =>
                word.says === "no" && word.rule === one.rule && word.level === level && word.shown === bytes,
            );
            const { need = 1 } = terms;
            return no.length > (need === 1 ? 0 : listOf(terms).length - need);
          }),
        ),
    );
  }
}

function wantedIn(fact: FactOf<"policy-decide"> | undefined, { own }: Call): readonly Wanted[] {
  const rules = fact?.verdict === "ask" ? ((fact.approvals ?? []) as unknown as readonly Wanted[]) : [];
  const all = [...rules, ...(own !== undefined && Object.keys(own).length > 0 ? [{ ...own, rule: "" }] : [])];
  if (all.length > 0) return all;
  return fact?.verdict === "ask" || own !== undefined ? [{ rule: "" }] : [];
}

/** What was decided last about just these bytes; where nobody decided about them, about what was asked for first. */
function wantedFor(
  reading: Reading,
  call: Call,
  id: string,
  bytes: string,
): { readonly verdict: string | undefined; readonly wanted: readonly Wanted[]; readonly times: number } {
  const all = reading.decisions(call, id);
  const first = bytesOf({ amount: call.amount });
  const found = all.findLast((one) => one.bytes === bytes) ?? all.findLast((one) => one.bytes === first);
  const times = all.filter((one) => one.bytes === bytes).length;
  return { verdict: found?.fact.verdict, wanted: wantedIn(found?.fact, call), times };
}

function allWanted(reading: Reading, call: Call, id: string): readonly Wanted[] {
  return [undefined, ...reading.decisions(call, id).map(({ fact }) => fact)].flatMap((fact) =>
    wantedIn(fact, call),
  );
}
