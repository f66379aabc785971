import type { ProviderSource } from "../sandbox/pool/index.js";
import type { Principal } from "../session/index.js";
import type { Store } from "../store/index.js";
import { optionNames, showValue } from "../util/index.js";
import { RefusedError } from "./given.js";
import type { Policy } from "./policy/index.js";
import type { Rates } from "./rate.js";
import type { Budget } from "./request/request.js";
import type { Durability } from "./run/durability.js";
import type { Mode, Prices } from "./run/options.js";
import type { ServiceOptions } from "./services.js";

export type RathOptions = ServiceOptions & {
  /** The store of the sessions, or its URL. Default: the store of the command `rath`, `.rath/rath.db`. */
  readonly store?: Store | string;
  /** The prices of models, for budgets in money: replaces their listed prices. A model without a price is refused under such a budget. */
  readonly prices?: Prices;
  /** The budget of each run, unless the run has its own. */
  readonly budget?: Budget;
  /**
   * Limits of providers, shared by all processes on the store: a model call waits until it fits. The wait counts into the time limit
   * of the call.
   */
  readonly rates?: Rates;
  /** The policies for every run. The strictest verdict counts. */
  readonly policy?: Policy | readonly Policy[];
  /** Kinds of sandboxes by the name that sessions move to, beside and instead of local, virtual, docker and host. */
  readonly sandboxes?: { readonly [name: string]: ProviderSource };
  /**
   * The values of secrets: for the sandboxes of placements that name them, and for tools and steps that ask for them. They are
   * never recorded: where one would be, its name stands instead.
   */
  readonly secrets?: { readonly [name: string]: string | undefined };
  /**
   * When facts are written to the disk: "facts" as they are made, "effects" (the default) with each outcome of a `write` and each
   * model reply, `{ every: 500 }` within so many milliseconds. Writes are on the disk before they start at every level. A run
   * keeps the level that it began with.
   */
  readonly durability?: Durability;
};

export type RunSettings = {
  /** The principal who begins the run; everything in it is done on their behalf: "user:ada". Default: the last speaker in the session. */
  readonly by?: Principal;
  /** The name that stands at the run's newest session. Default: one made for this run, `unnamed/…`. */
  readonly name?: string;
  readonly budget?: Budget;
  /** Cancels the run; that it was cancelled, and when, is recorded. */
  readonly signal?: AbortSignal;
};

export type ReplaySettings = {
  /**
   * "replay" (the default) ends with the record; "verify" also requires the same id; "resume" continues live at the end
   * of the record; "what-if" also continues live where the program differs, in a new run.
   */
  readonly mode?: Mode;
  /** The name of a what-if. */
  readonly name?: string;
  /**
   * Ends a replay at this fact of the run, by its id, "name~3" or "name@branch": resolves with the session there once the
   * program has come to it.
   */
  readonly until?: string;
  /** Starts a what-if after this fact of the run: the earlier part is reused, and the later part runs again. */
  readonly from?: string;
  /** The principal who starts a what-if: "user:ada". The what-if runs on behalf of those who started the run. */
  readonly by?: Principal;
  /** Decides beside the policies of the runtime about what a what-if does anew. */
  readonly policy?: Policy;
  readonly signal?: AbortSignal;
};

/** The policies, checked: a value of another kind would let everything pass. */
export function policiesOf(given: Policy | readonly Policy[] | undefined): readonly Policy[] {
  const policies: readonly Policy[] = given === undefined ? [] : [given].flat();
  for (const one of policies)
    if (typeof one?.decide !== "function" || typeof one.covers !== "function")
      throw new RefusedError(
        "open a runtime",
        `\`policy\` must be a Policy or a list of them; got ${showValue(one)}`,
        'make one: policy("careful", [{ name: "payments", verdict: "ask", tool: "pay" }])',
      );
  return Object.freeze([...policies]);
}

export const RUN_SETTINGS = optionNames<RunSettings>()("by name budget signal");
export const REPLAY_SETTINGS = optionNames<ReplaySettings>()("mode name until from by policy signal");
/** A misspelt limit or secret would be ignored. */
export const RATH_OPTIONS = optionNames<RathOptions>()(
  "store prices budget rates policy sandboxes secrets durability clock random uuid patience",
);
