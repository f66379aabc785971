import { type FactId, readFact, typeOf } from "../../session/index.js";
import type { Recorded, Store } from "../../store/index.js";
import { Approvals } from "./approvals.js";
import { Branches } from "./branches.js";
import { Changes } from "./changes.js";
import { Checks } from "./checks.js";
import { Commands } from "./commands.js";
import { Surroundings } from "./environment.js";
import { Picture } from "./graph.js";
import type { Seen } from "./item.js";
import { Memories } from "./memory.js";
import { Models } from "./models.js";
import type { Settings } from "./options.js";
import { RecordItself } from "./record.js";
import { Spendings } from "./spending.js";
import { TaskFinder } from "./summary.js";
import { Tools } from "./tools.js";
import type { Words } from "./words.js";

const EVERY = 2_000;

/** One reading of the record: every fact is shown to everybody who collects something, once, parents first. */
export class Collection {
  readonly branches = new Branches();
  readonly picture = new Picture();
  readonly models: Models;
  readonly tools: Tools;
  readonly commands: Commands;
  readonly changes: Changes;
  readonly checks: Checks;
  readonly approvals: Approvals;
  readonly memories: Memories;
  readonly spendings = new Spendings();
  readonly surroundings: Surroundings;
  readonly record: RecordItself;
  readonly task: TaskFinder;
  readonly #progress: ((facts: number) => void) | undefined;
  #read = 0;

  constructor({ most, progress }: Settings, words: Words) {
    this.models = new Models(most, words);
    this.tools = new Tools(most, words);
    this.commands = new Commands(most, words);
    this.changes = new Changes(most, words);
    this.checks = new Checks(most, words);
    this.approvals = new Approvals(most, words);
    this.memories = new Memories(most, words);
    this.surroundings = new Surroundings(most, words);
    this.record = new RecordItself(most, words);
    this.task = new TaskFinder(words);
    this.#progress = progress;
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
      if (this.#read % EVERY === 0) {
        this.#progress?.(this.#read);
        await new Promise((done) => setImmediate(done));
      }
    }
  }

  #see(recorded: Recorded, elsewhere: boolean): void {
    const branch = this.branches.place(recorded, elsewhere);
    const seen: Seen = { ...recorded, branch, elsewhere };
    const of = (seen.fact as { readonly of?: unknown }).of;
    const call = typeof of === "string" ? of : undefined;
    this.branches.see(seen);
    this.picture.see(seen);
    this.models.see(seen);
    this.commands.see(seen);
    this.checks.see(seen, this.commands.of(call));
    this.changes.see(seen, this.tools.nameOf(call));
    this.tools.see(seen);
    this.approvals.see(seen);
    this.memories.see(seen);
    this.spendings.see(seen);
    this.surroundings.see(seen);
    this.record.see(seen);
    this.task.see(seen);
  }
}
