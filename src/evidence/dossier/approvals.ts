import {
  canonical,
  digestOf,
  type FactId,
  type FactOf,
  type Json,
  visible,
  Withheld,
} from "../../session/index.js";
import type { Answer, Approval, Listed, PolicySet, Ruling } from "./dossier.js";
import { Sample } from "./sample.js";
import { itemOf, type Seen, timeOf } from "./seen.js";
import { isObject, text, type Words } from "./words.js";

type Draft = { readonly id: FactId; readonly ask: Approval; readonly answers: Answer[] };
const ANSWERS = 20;

/** Who was shown what, who answered, and what policies decided. */
export class Approvals {
  readonly #words: Words;
  readonly #known = new Map<FactId, Draft>();
  readonly #asks: Sample<Draft>;
  readonly #set: Sample<PolicySet>;
  readonly #rulings: Sample<Ruling>;

  constructor(most: number, words: Words) {
    this.#words = words;
    this.#asks = new Sample(most, ({ id }) => this.#known.delete(id));
    this.#set = new Sample(most);
    this.#rulings = new Sample(most);
  }

  see(seen: Seen): void {
    const { fact } = seen;
    if (fact.type === "approval-ask") {
      const draft = this.#asks.add({ id: seen.id, ask: this.#asked(seen, fact), answers: [] });
      this.#known.set(seen.id, draft);
    } else if (fact.type === "approval-give") {
      const draft = this.#known.get(fact.of);
      if (draft !== undefined && draft.answers.length < ANSWERS)
        draft.answers.push(answered(seen, fact, draft.ask.digest, this.#words));
    } else if (fact.type === "policy-set")
      this.#set.add({ ...itemOf(seen), module: fact.module, policy: fact.policy, version: fact.version });
    else if (fact.type === "policy-decide") this.#rulings.add(this.#ruled(seen, fact));
  }

  asked(): Listed<Approval> {
    return this.#asks.listed(({ ask, answers }) => ({
      ...ask,
      facts: [...ask.facts, ...answers.map(({ fact }) => fact)],
      answers,
    }));
  }

  policies(): { readonly set: Listed<PolicySet>; readonly rulings: Listed<Ruling> } {
    return { set: this.#set.listed(), rulings: this.#rulings.listed() };
  }

  #asked(seen: Seen, fact: FactOf<"approval-ask">): Approval {
    const words = this.#words;
    const { name, rule, expires, of } = fact;
    const [why, edited] = [words.maybe(seeable(fact.why)), words.maybe(seeable(fact.edited))];
    return {
      ...itemOf(seen),
      what: words.tell(seeable(fact.what)),
      digest: fact.digest,
      sound: soundness(fact),
      ...(name !== undefined && { name }),
      ...(rule !== undefined && { rule }),
      ...(why !== undefined && { why }),
      ...(Array.isArray(fact.to) && { to: fact.to.map(text) }),
      ...(expires !== undefined && { expires }),
      ...(edited !== undefined && { edited }),
      ...(of !== undefined && { of }),
      answers: [],
    };
  }

  #ruled(seen: Seen, fact: FactOf<"policy-decide">): Ruling {
    const words = this.#words;
    const [why, labels, approvals] = [
      words.maybe(fact.why),
      words.maybe(fact.labels),
      words.maybe(fact.approvals),
    ];
    return {
      ...itemOf(seen),
      of: fact.of,
      verdict: fact.verdict,
      rules: Array.isArray(fact.rules)
        ? fact.rules.map((rule) => (isObject(rule) ? text(rule.name) : text(rule)))
        : [],
      policies: words.tell(fact.policies),
      ...(why !== undefined && { why }),
      ...(labels !== undefined && { labels }),
      ...(approvals !== undefined && { approvals }),
    };
  }
}

/** What somebody decided about, as they must be able to see it: what is hidden in it is told by escapes. */
function seeable(value: Json | undefined): Json | undefined {
  return value === undefined || (value as unknown) instanceof Withheld ? value : visible(value);
}

/** Whether what is told is what was shown: the question names the digest of it. */
function soundness({ what, digest }: FactOf<"approval-ask">): boolean | "unknown" {
  if ((what as unknown) instanceof Withheld) return "unknown";
  return digestOf(canonical(what as Json)) === digest;
}

function answered({ id }: Seen, fact: FactOf<"approval-give">, digest: string, words: Words): Answer {
  const at = timeOf(fact.at);
  const [why, edit, value] = [fact.why, fact.edit, fact.value].map((one) => words.maybe(seeable(one)));
  return {
    fact: id,
    decision: fact.decision,
    by: fact.by,
    ...(at !== undefined && { at }),
    ...(why !== undefined && { why }),
    ...(edit !== undefined && { edit }),
    ...(value !== undefined && { value }),
    covers: fact.digest === digest,
  };
}
