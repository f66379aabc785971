import type { Fact, FactId, FactOf, FactType, Principal } from "../../../session/index.js";
import {
  canonical,
  digestOf,
  factTypes,
  isPerson,
  jsonCopy,
  typeOf,
  Withheld,
} from "../../../session/index.js";
import { defined } from "../../../util/index.js";

/** How often something is on the record, with the first and the last of it. */
export type Count = { readonly count: number; readonly first?: FactId; readonly last?: FactId };

/** A run: when the system was in use. */
export type Period = {
  readonly run: FactId;
  readonly module: string;
  readonly by: Principal;
  readonly start: string;
  readonly end?: string;
  readonly ended?: FactId;
};

/** Something about the system became other than it was. */
export type Change = {
  readonly what: string;
  readonly was: string;
  readonly is: string;
  readonly at: string;
  readonly fact: FactId;
};

/** Of long lists, so many are kept; they are counted whole. */
const LISTED = 200;

class Counter implements Count {
  count = 0;
  first?: FactId;
  last?: FactId;

  add(id: FactId): void {
    this.count += 1;
    this.first ??= id;
    this.last = id;
  }
}

/** The counts of one reading of the record, for reports that map it to duties. */
export class Tally {
  readonly types = new Map<string, Counter>();
  readonly all = new Counter();
  /** Facts that a runtime stamped as it went. */
  readonly automatic = new Counter();
  readonly periods: Period[] = [];
  runs = 0;
  readonly changes: Change[] = [];
  modifications = 0;
  readonly failedRuns = new Counter();
  readonly denied = new Counter();
  readonly failedChecks = new Counter();
  readonly rejected = new Counter();
  readonly expired = new Counter();
  /** Readings that say which state of a memory they were made against, and those that do not. */
  readonly againstHead = new Counter();
  readonly againstNothing = new Counter();
  /** Answers of people by name, and of a person without one. */
  readonly named = new Counter();
  readonly unnamed = new Counter();
  readonly persons = new Map<Principal, Counter>();
  /** Calls that people agreed to, and of those the ones to which two did. */
  readonly agreed = new Map<FactId, Set<Principal>>();
  /** Calls that relied on standing approvals. */
  readonly relied = new Set<FactId>();
  readonly uses = new Counter();
  readonly inputs = new Counter();
  readonly timeless = new Counter();
  oldest: { readonly at: string; readonly fact: FactId } | undefined;
  newest: { readonly at: string; readonly fact: FactId } | undefined;
  readonly #starts = new Map<FactId, number>();
  /** Answers that name other bytes than the question, or answer none: they count for nothing. */
  readonly astray = new Counter();
  readonly #asked = new Map<FactId, { readonly digest: string; readonly call: FactId }>();
  readonly #known = new Map<string, string>();

  /** The readers of facts, by type; facts of other types are counted and not read. */
  readonly #readers: { readonly [Type in FactType]?: (id: FactId, fact: FactOf<Type>) => void } = {
    "run-start": (id, { module, digests, by, at }) => {
      this.runs += 1;
      this.#starts.set(id, this.periods.length);
      this.periods.push({ run: id, module, by, start: at });
      const digest = (digests as { readonly module?: unknown } | undefined)?.module;
      if (typeof digest === "string") this.#is(`the program of ${module}`, digest, id, at);
    },
    "run-end": (id, { error, of, at }) => {
      if (error !== undefined) this.failedRuns.add(id);
      const place = this.#starts.get(of);
      const period = place === undefined ? undefined : this.periods[place];
      if (place !== undefined && period !== undefined)
        this.periods[place] = { ...period, end: at, ended: id };
    },
    "agent-configure": (id, { agent, instructions, tools, output, parameters, at }) => {
      const parts: readonly unknown[] = [instructions, tools, output, parameters];
      // Withheld content cannot be compared.
      if (parts.some((part) => part instanceof Withheld)) return;
      const config = canonical(jsonCopy({ instructions, tools, output, parameters }));
      this.#is(`the configuration of the agent ${agent}`, digestOf(config), id, at);
    },
    "model-call": (id, { agent, model, at }) => {
      if (agent !== undefined) this.#is(`the model of the agent ${agent}`, model, id, at);
    },
    "policy-set": (id, { policy, module, version, at }) =>
      this.#is(`the policy ${policy} on ${module}`, version, id, at),
    "policy-decide": (id, { verdict, policies, at }) => {
      if (verdict === "deny") this.denied.add(id);
      for (const one of Array.isArray(policies) ? policies : []) {
        const { name, version } = one as { readonly name?: unknown; readonly version?: unknown };
        if (typeof name === "string" && typeof version === "string")
          this.#is(`the policy ${name}`, version, id, at);
      }
    },
    "approval-ask": (id, { what, digest, of }) => {
      // A question that names other bytes than it shows is one about nothing.
      if ((what as unknown) instanceof Withheld || digestOf(canonical(what)) === digest)
        this.#asked.set(id, { digest, call: of ?? id });
    },
    "approval-give": (id, { by, decision, of, digest }) => {
      if (decision === "reject") this.rejected.add(id);
      if (!isPerson(by)) return;
      this.#person(id, by);
      if (decision !== "approve") return;
      const asked = this.#asked.get(of);
      if (asked === undefined || asked.digest !== digest) this.astray.add(id);
      else this.agreed.set(asked.call, (this.agreed.get(asked.call) ?? new Set()).add(by));
    },
    // Nobody was asked about that call, so it does not count as agreed to.
    "approval-use": (id, { of }) => {
      this.relied.add(of);
      this.uses.add(id);
    },
    "validation-report": (id, { passed, by }) => {
      if (!passed) this.failedChecks.add(id);
      if (isPerson(by)) this.#person(id, by);
    },
    "wait-cancel": (id, { late }) => {
      if (late === true) this.expired.add(id);
    },
    "memory-read": (id, { head }) => (head === undefined ? this.againstNothing : this.againstHead).add(id),
  };

  /** Whether what a fact says is looked at; the others are counted. */
  reads(type: string): boolean {
    return Object.hasOwn(this.#readers, type);
  }

  /** Counts a fact. `fact` is what it says, where that is looked at. */
  add(id: FactId, line: string, fact: Fact | undefined): void {
    const type = typeOf(line);
    this.all.add(id);
    const counter = this.types.get(type) ?? new Counter();
    this.types.set(type, counter);
    counter.add(id);
    this.#time(id, line);
    if (STAMPED.test(line)) this.automatic.add(id);
    if (INPUTS.has(type)) this.inputs.add(id);
    const read = fact && (this.#readers[fact.type] as ((id: FactId, fact: Fact) => void) | undefined);
    if (fact !== undefined) read?.(id, fact);
  }

  of(...types: readonly Fact["type"][]): Count {
    const found = types.flatMap((type) => this.types.get(type) ?? []);
    const [first] = found;
    const count = found.reduce((sum, one) => sum + one.count, 0);
    return { count, ...defined({ first: first?.first, last: found.at(-1)?.last }) };
  }

  get openRuns(): readonly Period[] {
    return this.periods.filter(({ ended }) => ended === undefined);
  }

  /** Calls to which at least two different people agreed. */
  get twice(): number {
    return [...this.agreed.values()].filter((people) => people.size > 1).length;
  }

  #time(id: FactId, line: string): void {
    const at = AT.exec(line)?.[1] ?? "";
    const time = Date.parse(at);
    if (Number.isNaN(time)) this.timeless.add(id);
    else {
      if (this.oldest === undefined || time < Date.parse(this.oldest.at)) this.oldest = { at, fact: id };
      if (this.newest === undefined || time > Date.parse(this.newest.at)) this.newest = { at, fact: id };
    }
  }

  #person(id: FactId, by: Principal): void {
    (by === "user" ? this.unnamed : this.named).add(id);
    const counter = this.persons.get(by) ?? new Counter();
    this.persons.set(by, counter);
    counter.add(id);
  }

  #is(what: string, is: string, fact: FactId, at: string): void {
    const was = this.#known.get(what);
    this.#known.set(what, is);
    if (was === undefined || was === is) return;
    this.modifications += 1;
    if (this.changes.length < LISTED) this.changes.push({ what, was, is, at, fact });
  }

  /** The number of programs, models, configurations and policies, changed or not. */
  get subjects(): number {
    return this.#known.size;
  }
}

const AT = /"fact":\{"type":"[^"\\]*","at":"([^"\\]*)"/;
const STAMPED = /"fact":\{"type":"[^"\\]*","at":"[^"\\]*","run":"/;
const INPUTS: ReadonlySet<string> = factTypes(
  "session-start session-detach message-say tool-result workspace-import record-import",
);
