import type { FactId, FactOf, Json } from "../../session/index.js";
import { canonical, digestOf, visible, Withheld } from "../../session/index.js";
import { defined, isObject } from "../../util/index.js";
import type { Dossier } from "./dossier.js";
import { type Html, html } from "./html/html.js";
import type { Anchors, Section } from "./html/words.js";
import { card, column, inline, items, leftOut, line, pairs, table, told, when } from "./html/words.js";
import { type ItemOf, Sample, type Seen, shape, timeOf } from "./item.js";
import { type Listed, text, type Words } from "./words.js";

/** A question to people. `sound` says whether the digest is that of what is told: then exactly this was shown. */
const ASK = shape("approval-ask", "digest name rule expires of", (fact, words) => ({
  what: words.tell(seeable(fact.what)),
  sound: soundness(fact),
  ...defined({
    why: words.maybe(seeable(fact.why)),
    to: Array.isArray(fact.to) ? fact.to.map(text) : undefined,
    edited: words.maybe(seeable(fact.edited)),
  }),
}));
export type Approval = ItemOf<typeof ASK> & { readonly answers: readonly Answer[] };
type Answer = ReturnType<typeof answered>;

export const POLICY_SET = shape("policy-set", "module policy version");

export const RULING = shape(
  "policy-decide",
  "of verdict rules policies* why* labels* approvals*",
  ({ rules }) => ({
    rules: Array.isArray(rules) ? rules.map((rule) => (isObject(rule) ? text(rule.name) : text(rule))) : [],
  }),
);

/** A call that relied on a standing approval: nobody was asked about it. */
const USE = shape("approval-use", "of approval from rule");

/** `given` is the time at which the standing approval was given, where that stands in the record read. */
export type StandingUse = ItemOf<typeof USE> & {
  readonly tool?: string;
  readonly given?: string;
  readonly always?: string;
};

type Draft = { readonly id: FactId; readonly ask: ItemOf<typeof ASK>; readonly answers: Answer[] };
const ANSWERS = 20;

/** The questions to people, each with its answers. */
export class Approvals {
  readonly #words: Words;
  readonly #known = new Map<FactId, Draft>();
  readonly #asks: Sample<Draft>;
  readonly #standing = new Map<FactId, FactOf<"approval-give">>();
  readonly #uses: Sample<StandingUse>;

  constructor(most: number, words: Words) {
    this.#uses = new Sample(most);
    this.#words = words;
    this.#asks = new Sample(most, ({ id }) => this.#known.delete(id));
  }

  see(seen: Seen): void {
    const { id, fact } = seen;
    if (fact.type === "approval-ask")
      this.#known.set(id, this.#asks.add({ id, ask: ASK.of(seen, this.#words), answers: [] }));
    else if (fact.type === "approval-use") this.#uses.add(this.#use(seen, fact));
    else if (fact.type === "approval-give") {
      if (fact.always !== undefined) this.#standing.set(id, fact);
      const draft = this.#known.get(fact.of);
      if (draft !== undefined && draft.answers.length < ANSWERS)
        draft.answers.push(answered(seen, fact, draft.ask.digest, this.#words));
    }
  }

  #use(seen: Seen, { approval }: FactOf<"approval-use">): StandingUse {
    const { at, always } = this.#standing.get(approval) ?? {};
    const use = USE.of(seen, this.#words);
    return {
      ...use,
      facts: [...use.facts, approval],
      ...defined({ tool: seen.tool, given: at === undefined ? undefined : timeOf(at), always }),
    };
  }

  used(): Listed<StandingUse> {
    return this.#uses.listed();
  }

  asked(): Listed<Approval> {
    return this.#asks.listedAs(({ ask, answers }) => ({
      ...ask,
      facts: [...ask.facts, ...answers.map(({ fact }) => fact)],
      answers,
    }));
  }
}

/** The subject of a decision, fully visible: escapes stand for hidden characters. */
function seeable(value: Json | undefined): Json | undefined {
  return value === undefined || (value as unknown) instanceof Withheld ? value : visible(value);
}

/** Whether what is told is what was shown: the question names the digest of it. */
function soundness({ what, digest }: FactOf<"approval-ask">): boolean | "unknown" {
  if ((what as unknown) instanceof Withheld) return "unknown";
  return digestOf(canonical(what as Json)) === digest;
}

/** An answer. `covers` says whether it names the digest of the question: it covers these bytes and no others. */
function answered({ id }: Seen, fact: FactOf<"approval-give">, digest: string, words: Words) {
  const [why, edit, value] = [fact.why, fact.edit, fact.value].map((one) => words.maybe(seeable(one)));
  return {
    fact: id,
    decision: fact.decision,
    by: fact.by,
    ...defined({ at: timeOf(fact.at), why, edit, value, always: fact.always }),
    covers: fact.digest === digest,
  };
}

export const approvalsSection: Section = {
  id: "approvals",
  title: "Approvals",
  heading: "Approvals and policy",
  total: ({ approvals, standing }) => approvals.total + standing.total,
  note: ({ approvals, standing, policies }) =>
    `${approvals.total.toLocaleString("en")} asked, ${standing.total === 0 ? "" : `${standing.total.toLocaleString("en")} relied on a standing approval, `}${policies.rulings.total.toLocaleString("en")} decided by policy`,
  body: ({ approvals, standing, policies }, anchors) => [
    ...items(approvals, (approval) => item(approval, anchors)),
    relied(standing, anchors),
    rulings(policies, anchors),
  ],
};

function item(approval: Approval, anchors: Anchors): Html {
  const last = approval.answers.at(-1);
  return card(
    html`<h3 dir="auto">${approval.name ?? inline(approval.what, 100)}</h3> <span class="tag ${last === undefined ? "warn" : last.decision === "reject" ? "bad" : "good"}">${last?.decision ?? "not answered"}</span>${line(last?.by, approval.branch, when(approval.at))}`,
    html`${told(approval.what, "Exactly this was shown")}<p class="small">${sound(approval)}</p>${pairs([
      ["Asked", approval.to?.join(", ")],
      ["Because of the rule", approval.rule],
      ["Until", approval.expires],
      ["About the call", approval.of && anchors.id(approval.of)],
    ])}${told(approval.why, "Why it was asked")}${told(approval.edited, "Arguments that were put in place")}${approval.answers.map((answer) => given(answer, anchors))}`,
    anchors,
    approval.facts,
    true,
  );
}

function sound({ sound: is, digest }: Approval): Html {
  const hash = html`<span class="hash">${digest}</span>`;
  if (is === true) return html`<span class="tag good">digest checked</span> ${hash}`;
  if (is === false) return html`<span class="tag bad">the digest is of something else</span> ${hash}`;
  return html`<span class="tag warn">the content shown is no longer here</span> ${hash}`;
}

function given(answer: Answer, anchors: Anchors): Html {
  return html`<div class="said"><span class="who">${answer.by}</span> ${when(answer.at)} <span class="tag ${answer.decision === "reject" ? "bad" : "good"}">${answer.decision}</span> ${answer.always !== undefined && html`<span class="tag warn">${alwaysText(answer.always)}</span>`} ${
    answer.covers
      ? html`<span class="small soft">names the same digest: it covers these bytes and no others</span>`
      : html`<span class="tag bad">names another digest: it does not cover this</span>`
  } ${anchors.id(answer.fact)}${told(answer.why, "Why", "plain")}${told(answer.edit, "Agreed to this instead")}${told(answer.value, "Gave this as the outcome")}</div>`;
}

/** Calls that nobody was asked about, because somebody had approved them for good. */
function relied(list: Listed<StandingUse>, anchors: Anchors): Html {
  if (list.total === 0) return html``;
  const rows = items(
    list,
    ({ of, tool, from, approval, given: at, always, rule, at: used, facts }) =>
      html`<tr><td>${tool ?? ""} ${anchors.id(of)}</td><td>${from}</td><td>${anchors.id(approval)} ${always === undefined ? "" : alwaysText(always)}</td><td class="nowrap">${when(at)}</td><td>${rule ?? ""}</td><td class="nowrap">${when(used)}</td><td>${anchors.id(facts[0] ?? "")}</td></tr>`,
    leftOut(7),
  );
  return html`<p class="label">Calls that relied on a standing approval</p>${table("Calls that relied on a standing approval", ["Call", "Approved by", "Standing approval", "Given", "Rule", "Used", "Fact"].map(column), rows)}`;
}

function alwaysText(always: string): string {
  return `always for ${always === "tool" ? "this tool" : "these arguments"}`;
}

function rulings({ set, rulings: list }: Dossier["policies"], anchors: Anchors): Html {
  if (list.total + set.total === 0) return html``;
  const rows = items(
    list,
    (ruling) =>
      html`<tr><td><span class="tag ${ruling.verdict === "allow" ? "good" : ruling.verdict === "deny" ? "bad" : "warn"}">${ruling.verdict}</span></td><td>${ruling.rules.join(", ")}</td><td class="words">${inline(ruling.why)}</td><td>${anchors.id(ruling.of)}</td><td class="nowrap">${when(ruling.at, "clock")}</td><td>${anchors.id(ruling.facts[0] ?? "")}</td></tr>`,
    leftOut(6),
  );
  return html`<p class="label">Rulings of policies</p>${items(
    set,
    ({ policy, module, version, facts }) =>
      html`<p class="small">${policy} holds for ${module}, version <code class="id" title="${version}">${version.slice(0, 12)}</code> ${anchors.id(facts[0] ?? "")}</p>`,
  )}${list.total > 0 && table("Rulings of policies", ["Verdict", "Rules", "Why", "About the call", "Time", "Fact"].map(column), rows)}`;
}
