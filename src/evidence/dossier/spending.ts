import { type Cost, costWith, type FactId } from "../../session/index.js";
import type { BranchDraft } from "./branches.js";
import type { Listed, Spending, Spent } from "./dossier.js";
import { Sample } from "./sample.js";
import type { Seen } from "./seen.js";

type Sum = {
  calls: number;
  input: number;
  output: number;
  cached: number;
  reasoning: number;
  cost: Cost;
  milliseconds: number;
};

/** What models used and cost: exact, however long the record is. */
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
      sum.input += fact.usage.input;
      sum.output += fact.usage.output;
      sum.cached += fact.usage.cached ?? 0;
      sum.reasoning += fact.usage.reasoning ?? 0;
      sum.cost = costWith(sum.cost, fact.cost);
      sum.milliseconds += fact.milliseconds ?? 0;
    }
  }

  told(most: number, branches: readonly BranchDraft[]): Spending {
    return {
      total: spent(this.#total),
      elsewhere: spent(this.#elsewhere),
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

function none(): Sum {
  return { calls: 0, input: 0, output: 0, cached: 0, reasoning: 0, cost: 0, milliseconds: 0 };
}

function sumOf<Key>(sums: Map<Key, Sum>, name: Key): Sum {
  const known = sums.get(name);
  if (known !== undefined) return known;
  const sum = none();
  sums.set(name, sum);
  return sum;
}

function spent({ calls, input, output, cached, reasoning, cost, milliseconds }: Sum): Spent {
  return { calls, usage: { input, output, cached, reasoning }, cost, milliseconds };
}

/** The dearest first. */
function rows(sums: ReadonlyMap<string, Sum>, most: number): Listed<Spent & { readonly name: string }> {
  const sample = new Sample<Spent & { readonly name: string }>(most);
  const sorted = [...sums].sort(
    ([, one], [, other]) =>
      (other.cost ?? 0) - (one.cost ?? 0) || other.input + other.output - one.input - one.output,
  );
  for (const [name, sum] of sorted) sample.add({ name, ...spent(sum) });
  return sample.listed();
}
