import type { FactId } from "../../session/index.js";
import type { Approval, POLICY_SET, RULING, StandingUse } from "./approvals.js";
import type { Branch, ROUTE } from "./branches.js";
import type { Change, Patch } from "./changes.js";
import type { Validation } from "./checks.js";
import type { Command } from "./commands.js";
import type { Environment } from "./environment.js";
import type { Graph } from "./graph.js";
import type { ItemOf } from "./item.js";
import type { MemoryDeed, MemoryRead, MemoryReason } from "./memory.js";
import type { ModelCall } from "./models.js";
import type { Proof } from "./proof.js";
import type { Counts, ERASURE, Event, IMPORT, Said } from "./record.js";
import type { BUDGET_SET, BUDGET_STOP, Spending } from "./spending.js";
import type { Outcome, Task } from "./summary.js";
import type { ToolCall } from "./tools.js";
import type { Listed } from "./words.js";

/** The version of this shape, the first thing in every dossier. */
export const DOSSIER = 1;

/** All that a record says about one session, as plain JSON with proving facts. Lists are bounded. */
export type Dossier = {
  readonly dossier: typeof DOSSIER;
  readonly session: { readonly id: FactId; readonly name?: string; readonly branch: string };
  readonly made: Made;
  readonly task: Task;
  readonly outcome: Outcome;
  readonly counts: Counts;
  readonly graph: Graph;
  readonly branches: Listed<Branch>;
  readonly routes: Listed<ItemOf<typeof ROUTE>>;
  readonly timeline: Listed<Event>;
  /** Words that are not replies of a model: by people, in imports, in notes. */
  readonly words: Listed<Said>;
  readonly models: Listed<ModelCall>;
  readonly tools: Listed<ToolCall>;
  readonly commands: Listed<Command>;
  readonly changes: Listed<Change>;
  /** From the first files to the last, along the way that was accepted; null when there are no files. */
  readonly patch: Patch | null;
  readonly validations: Listed<Validation>;
  readonly approvals: Listed<Approval>;
  /** Calls that relied on a standing approval. */
  readonly standing: Listed<StandingUse>;
  readonly policies: {
    readonly set: Listed<ItemOf<typeof POLICY_SET>>;
    readonly rulings: Listed<ItemOf<typeof RULING>>;
  };
  readonly memory: {
    readonly reads: Listed<MemoryRead>;
    readonly deeds: Listed<MemoryDeed>;
    /** Why the memories that were read or written here exist. */
    readonly reasons: Listed<MemoryReason>;
  };
  readonly budgets: Listed<ItemOf<typeof BUDGET_SET | typeof BUDGET_STOP>>;
  readonly spending: Spending;
  readonly environment: Environment;
  readonly imports: Listed<ItemOf<typeof IMPORT>>;
  readonly erasures: Listed<ItemOf<typeof ERASURE>>;
  readonly proof: Proof;
  /** The limits of this dossier, with reasons. */
  readonly notes: readonly string[];
};

/** The maker of the dossier, who is not the maker of the record. */
export type Made = {
  readonly at: string;
  readonly openrath: string;
  readonly node: string;
  readonly platform: string;
};
