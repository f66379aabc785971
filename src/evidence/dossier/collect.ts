import { type FactId, type FactType, factTypes, readFact, typeOf } from "../../session/index.js";
import type { Recorded, Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { Approvals, POLICY_SET, RULING } from "./approvals.js";
import { Branches, ROUTE } from "./branches.js";
import { Changes } from "./changes.js";
import { VALIDATION, type Validation } from "./checks.js";
import { COMMAND } from "./commands.js";
import { AGENT, PLACEMENT, Surroundings } from "./environment.js";
import { Picture } from "./graph.js";
import { type ItemOf, Sample, type Seen, type Shape } from "./item.js";
import { MEMORY_READ, Memories } from "./memory.js";
import { Models } from "./models.js";
import type { Settings } from "./options.js";
import { SIGNATURE } from "./proof.js";
import { ERASURE, IMPORT, RecordItself } from "./record.js";
import { BUDGET_SET, BUDGET_STOP, Spendings } from "./spending.js";
import { TaskFinder } from "./summary.js";
import { Tools } from "./tools.js";
import type { Listed, Words } from "./words.js";

const EVERY = 2_000;
/** Others may work after so many. */
const SLICE = 200;

/** The lists whose items are one fact each, by the types of these facts. */
const SHAPES = {
  commands: [COMMAND],
  policies: [POLICY_SET],
  rulings: [RULING],
  routes: [ROUTE],
  budgets: [BUDGET_SET, BUDGET_STOP],
  reads: [MEMORY_READ],
  placements: [PLACEMENT],
  agents: [AGENT],
  imports: [IMPORT],
  erasures: [ERASURE],
  signatures: [SIGNATURE],
} as const;
type Lists = { readonly [Name in keyof typeof SHAPES]: Listed<ItemOf<(typeof SHAPES)[Name][number]>> };

const OVER: ReadonlySet<string> = factTypes("tool-result tool-failure step-result step-failure");

function collectors(most: number, words: Words) {
  return {
    picture: new Picture(),
    spendings: new Spendings(),
    models: new Models(most, words),
    changes: new Changes(most, words),
    tools: new Tools(most, words),
    approvals: new Approvals(most, words),
    memories: new Memories(most, words),
    surroundings: new Surroundings(most, words),
    record: new RecordItself(most, words),
    task: new TaskFinder(words),
  };
}

/** One reading of the record: every fact is shown to everybody who collects something, once, parents first. */
export class Collection {
  readonly branches = new Branches();
  readonly by: ReturnType<typeof collectors>;
  readonly validations: Sample<Validation>;
  readonly checks = { passed: 0, failed: 0 };
  readonly #words: Words;
  readonly #progress: ((facts: number) => void) | undefined;
  readonly #lists = new Map<string, Sample<unknown>>();
  readonly #shapes = new Map<string, readonly [Shape<FactType, unknown>, Sample<unknown>]>();
  /** The newest command of a call, for the check that follows it. */
  readonly #commands = new Map<FactId, FactId>();
  #read = 0;

  constructor({ most, progress }: Settings, words: Words) {
    this.by = collectors(most, words);
    this.validations = new Sample(most);
    this.#words = words;
    this.#progress = progress;
    for (const [name, shapes] of Object.entries(SHAPES)) {
      const sample = new Sample<unknown>(most);
      this.#lists.set(name, sample);
      for (const shape of shapes) this.#shapes.set(shape.type, [shape, sample]);
    }
  }

  /** Reads the past of a head, or what some heads have that it has not. */
  async read(store: Store, heads: readonly FactId[], without: readonly FactId[]): Promise<void> {
    if (heads.length === 0) return;
    const elsewhere = without.length > 0;
    if (elsewhere)
      for await (const lines of store.lines(heads, { without }))
        for (const { line } of lines) {
          const fact = typeOf(line) === "run-start" ? readFact(line, undefined) : undefined;
          if (fact?.type === "run-start") this.branches.sawRun(fact);
        }
    for await (const recorded of store.history(heads, { without })) {
      this.#see(recorded, elsewhere);
      this.#read += 1;
      if (this.#read % EVERY === 0) this.#progress?.(this.#read);
      if (this.#read % SLICE === 0) await new Promise((done) => setImmediate(done));
    }
  }

  /** The lists whose items are one fact each. */
  listed(): Lists {
    return Object.fromEntries([...this.#lists].map(([name, sample]) => [name, sample.listed()])) as Lists;
  }

  #see(recorded: Recorded, elsewhere: boolean): void {
    const branch = this.branches.place(recorded, elsewhere);
    const { id, fact } = recorded;
    const { of } = fact as { readonly of?: unknown };
    const call = typeof of === "string" ? of : undefined;
    const seen: Seen = { ...recorded, branch, elsewhere, ...defined({ tool: this.by.tools.nameOf(call) }) };
    this.branches.see(seen);
    const [shape, list] = this.#shapes.get(fact.type) ?? [];
    if (shape !== undefined) list?.add(shape.of(seen, this.#words));
    if (call !== undefined && fact.type === "command-run") this.#commands.set(call, id);
    if (call !== undefined && OVER.has(fact.type)) this.#commands.delete(call);
    if (fact.type === "validation-report") {
      const command = call === undefined ? undefined : this.#commands.get(call);
      this.checks[fact.passed ? "passed" : "failed"] += 1;
      this.validations.add({ ...VALIDATION.of(seen, this.#words), ...(command && { command }) });
    }
    for (const collector of Object.values(this.by)) collector.see(seen);
  }
}
