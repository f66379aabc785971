import { type Cost, costText, costWith, type FactId } from "../../session/index.js";
import { isKeptByRuntime } from "../../store/index.js";
import { type Input, textOption } from "../entry.js";
import type { Shell } from "../shell.js";
import { plain, table } from "../text.js";

type Sum = ReturnType<typeof empty>;

/** `rath cost [SESSION]`: what was called and what it came to; history that sessions share counts once. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const store = await shell.store();
  const reference = input.args[0];
  const heads =
    reference === undefined
      ? (await store.names()).filter(({ name }) => !isKeptByRuntime(name)).map(({ id }) => id)
      : [(await shell.find(reference)).id];
  const by = textOption(input, "by") ?? "model";
  const sums = new Map<string, Sum>();
  const total = empty();
  /** The row that a call belongs to, and the branch of each fact. A call that was tried again has several outcomes. */
  const calls = new Map<FactId, string>();
  const branches = new Map<FactId, string>();
  let seen = 0;
  for await (const { id, parents, fact } of store.history(heads)) {
    seen += 1;
    if (seen % 20_000 === 0) shell.progress(`${seen.toLocaleString("en")} facts …`);
    const branch = fact.type === "branch-fork" ? fact.name : (branches.get(parents[0] ?? "") ?? "main");
    if (by === "branch") branches.set(id, branch);
    if (fact.type === "model-call" && by !== "tool")
      calls.set(id, by === "model" ? fact.model : by === "agent" ? (fact.agent ?? "nobody") : branch);
    else if (fact.type === "tool-call" && by === "tool") calls.set(id, fact.name);
    else if (/^(model|tool)-(reply|result|failure)$/.test(fact.type)) {
      const { of } = fact as { of: FactId };
      const row = calls.get(of);
      if (row === undefined) continue;
      for (const sum of [total, sums.get(row) ?? sums.set(row, empty()).get(row)]) {
        if (sum === undefined) continue;
        sum.calls += 1;
        if (fact.type.endsWith("failure")) sum.failed += 1;
        sum.milliseconds += (fact as { milliseconds?: number }).milliseconds ?? 0;
        if (fact.type !== "model-reply") continue;
        sum.input += fact.usage.input;
        sum.output += fact.usage.output;
        sum.cost = costWith(sum.replies === 0 ? 0 : sum.cost, fact.cost);
        sum.replies += 1;
      }
    }
  }
  shell.clear();
  const rows = [...sums].sort(
    ([, one], [, other]) => (other.cost ?? 0) - (one.cost ?? 0) || other.calls - one.calls,
  );
  shell.tell({ by, rows: rows.map(([name, sum]) => ({ [by]: name, ...told(sum) })), total: told(total) });
  if (rows.length === 0) {
    shell.say(`No ${by === "tool" ? "tool" : "model"} was called.`);
    return;
  }
  shell.say(
    table([
      [by, "calls", "failed", "tokens in", "tokens out", "cost", "seconds"].map((title) => shell.dim(title)),
      ...rows.map(([name, sum]) => row(plain(name), sum)),
      ...(rows.length > 1 ? [row("all", total)] : []),
    ]),
  );
}

/** The cost is null where it is not known: a call has no price, or what was called tells none. */
function empty() {
  return { calls: 0, failed: 0, replies: 0, input: 0, output: 0, cost: null as Cost, milliseconds: 0 };
}

function told({ replies: _, ...sum }: Sum): Omit<Sum, "replies"> {
  return sum;
}

function row(name: string, { calls, failed, input, output, cost, milliseconds }: Sum): readonly string[] {
  const numbers = [calls, failed, input, output].map(String);
  return [name, ...numbers, costText(cost), (milliseconds / 1000).toFixed(1)];
}
