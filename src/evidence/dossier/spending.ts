import { type Cost, costText, costWith, type FactId } from "../../session/index.js";
import type { BranchDraft } from "./branches.js";
import { type Html, html } from "./html/html.js";
import type { Section } from "./html/words.js";
import { bullets, column, inline, items, lasting, leftOut, numbers, table, when } from "./html/words.js";
import { Sample, type Seen, shape } from "./item.js";
import type { Listed } from "./words.js";

export const BUDGET_SET = shape("budget-set", "limits*", () => ({ kind: "set" as const }));
export const BUDGET_STOP = shape("budget-stop", "limit allowed spent asked", () => ({
  kind: "stop" as const,
}));

/** The cost is null where a reply does not say what it cost. */
export type Spent = Readonly<Sum>;

export type Spending = {
  /** In the past of the session; every call once. */
  readonly total: Spent;
  /** On branches that are not in it. */
  readonly elsewhere: Spent;
  /** Whether every reply says what it cost. */
  readonly priced: boolean;
  readonly agents: Listed<Spent & { readonly name: string }>;
  readonly models: Listed<Spent & { readonly name: string }>;
  readonly branches: Listed<Spent & { readonly name: string }>;
};

type Sum = ReturnType<typeof none>;

/** Usage and cost of models: exact, however long the record is. */
export class Spendings {
  readonly #total = none();
  readonly #elsewhere = none();
  readonly #agents = new Map<string, Sum>();
  readonly #models = new Map<string, Sum>();
  readonly #branches = new Map<number, Sum>();
  /** Which agent and model an open call is of. */
  readonly #asked = new Map<FactId, { readonly agent: string; readonly model: string }>();
  #priced = true;

  see({ id, fact, branch, elsewhere }: Seen): void {
    if (fact.type === "model-call") {
      this.#asked.set(id, { agent: fact.agent ?? fact.by, model: fact.model });
      return;
    }
    if (fact.type === "model-failure") this.#asked.delete(fact.of);
    if (fact.type !== "model-reply") return;
    const asked = this.#asked.get(fact.of);
    this.#asked.delete(fact.of);
    if (fact.cost === undefined) this.#priced = false;
    const sums = [
      elsewhere ? this.#elsewhere : this.#total,
      sumOf(this.#agents, fact.agent ?? asked?.agent ?? fact.by),
      sumOf(this.#models, asked?.model ?? fact.model ?? "?"),
      sumOf(this.#branches, branch.index),
    ];
    for (const sum of sums) {
      sum.calls += 1;
      for (const kind of ["input", "output", "cached", "reasoning"] as const)
        sum.usage[kind] += fact.usage[kind] ?? 0;
      sum.cost = costWith(sum.cost, fact.cost);
      sum.milliseconds += fact.milliseconds ?? 0;
    }
  }

  told(most: number, branches: readonly BranchDraft[]): Spending {
    return {
      total: this.#total,
      elsewhere: this.#elsewhere,
      priced: this.#priced,
      agents: rows(this.#agents, most),
      models: rows(this.#models, most),
      branches: rows(this.#named(branches), most),
    };
  }

  /** Branches that share a name, as several forks may, are told apart by the facts that they begin with. */
  #named(branches: readonly BranchDraft[]): ReadonlyMap<string, Sum> {
    const times = new Map<string, number>();
    for (const index of this.#branches.keys()) {
      const name = branches[index]?.name ?? "?";
      times.set(name, (times.get(name) ?? 0) + 1);
    }
    return new Map(
      [...this.#branches].map(([index, sum]) => {
        const { name = "?", begin } = branches[index] ?? {};
        return [times.get(name) === 1 ? name : `${name} (${begin?.id.slice(0, 12) ?? index})`, sum];
      }),
    );
  }
}

function none() {
  const usage = { input: 0, output: 0, cached: 0, reasoning: 0 };
  return { calls: 0, usage, cost: 0 as Cost, milliseconds: 0 };
}

function sumOf<Key>(sums: Map<Key, Sum>, name: Key): Sum {
  const known = sums.get(name);
  if (known !== undefined) return known;
  const sum = none();
  sums.set(name, sum);
  return sum;
}

function total({ usage }: Sum): number {
  return usage.input + usage.output;
}

/** The dearest first. */
function rows(sums: ReadonlyMap<string, Sum>, most: number): Listed<Spent & { readonly name: string }> {
  const sample = new Sample<Spent & { readonly name: string }>(most);
  const sorted = [...sums].sort(
    ([, one], [, other]) => (other.cost ?? 0) - (one.cost ?? 0) || total(other) - total(one),
  );
  for (const [name, sum] of sorted) sample.add({ name, ...sum });
  return sample.listed();
}

/** Usage and cost by agent, model and branch; budgets and where they stopped something. */
export const spendingSection: Section = {
  id: "spending",
  title: "Usage and cost",
  body: ({ spending, budgets }, anchors) =>
    spending.total.calls + spending.elsewhere.calls + budgets.total > 0 &&
    html`<p class="lead">Every call is counted once, however often branches share it.${!spending.priced && " Some replies have no price: a sum that includes one of them is unknown."}</p>
${sums("By agent", spending.agents)}${sums("By model", spending.models)}${sums("By branch", spending.branches)}${
  spending.elsewhere.calls > 0 &&
  html`<p class="small">On branches that are not in the past of the result: ${spending.elsewhere.calls.toLocaleString("en")} calls, ${costText(spending.elsewhere.cost)}. They are in the tables, and not in the sums at the top.</p>`
}${bullets(
  "Budgets",
  budgets,
  (one) =>
    html`${one.kind === "set" ? html`Set: ${inline(one.limits)}` : html`<span class="tag bad">stopped</span> ${one.limit}: ${one.spent} of ${one.allowed} spent, ${one.asked} more asked for`} <span class="soft">${when(one.at)}</span> ${anchors.id(one.facts[0] ?? "")}`,
)}`,
};

function sums(title: string, list: Listed<Spent & { readonly name: string }>): Html {
  if (list.total === 0) return html``;
  const heads = [
    column(title),
    ...["Calls", "Tokens in", "of it cached", "Tokens out", "of it reasoning", "Cost", "Time"].map(numbers),
  ];
  const rows = items(
    list,
    ({ name, calls, usage, cost, milliseconds }) =>
      html`<tr><th scope="row" dir="auto">${name}</th>${[
        calls.toLocaleString("en"),
        usage.input.toLocaleString("en"),
        usage.cached.toLocaleString("en"),
        usage.output.toLocaleString("en"),
        usage.reasoning.toLocaleString("en"),
        costText(cost),
        lasting(milliseconds),
      ].map((value) => html`<td class="num">${value}</td>`)}</tr>`,
    leftOut(8),
  );
  return table(title, heads, rows);
}
