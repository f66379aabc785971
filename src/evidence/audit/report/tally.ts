import {
  canonical,
  digestOf,
  type Fact,
  type FactId,
  type FactOf,
  isPerson,
  type Json,
  type Principal,
  typeOf,
  Withheld,
} from "../../../session/index.js";

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

/** Types that say something beyond that they are there; the others are counted and not read. */
const READ: ReadonlySet<string> = new Set([
  "run-start",
  "run-end",
  "agent-configure",
  "model-call",
  "policy-set",
  "policy-decide",
  "approval-ask",
  "approval-give",
  "validation-report",
  "wait-cancel",
  "memory-read",
  "content-erase",
  "message-say",
  "session-start",
  "head-sign",
] satisfies Fact["type"][]);

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
  readonly inputs = new Counter();
  readonly timeless = new Counter();
  oldest: { readonly at: string; readonly fact: FactId } | undefined;
  newest: { readonly at: string; readonly fact: FactId } | undefined;
  readonly #starts = new Map<FactId, number>();
  /** Answers that name other bytes than the question, or answer none: they count for nothing. */
  readonly astray = new Counter();
  readonly #asked = new Map<FactId, { readonly digest: string; readonly call: FactId }>();
  readonly #known = new Map<string, string>();

  /** Whether what a fact says is looked at; the others are counted. */
  static reads(type: string): boolean {
    return READ.has(type);
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
    if (fact !== undefined) this.#read(id, fact);
  }

  of(...types: readonly Fact["type"][]): Count {
    const found = types.flatMap((type) => this.types.get(type) ?? []);
    const [first] = found;
    return {
      count: found.reduce((sum, one) => sum + one.count, 0),
      ...(first?.first !== undefined && { first: first.first }),
      ...(found.at(-1)?.last !== undefined && { last: found.at(-1)?.last as FactId }),
    };
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

  #read(id: FactId, fact: Fact): void {
    switch (fact.type) {
      case "run-start":
        this.#start(id, fact);
        return;
      case "run-end": {
        if (fact.error !== undefined) this.failedRuns.add(id);
        const place = this.#starts.get(fact.of);
        const period = place === undefined ? undefined : this.periods[place];
        if (place !== undefined && period !== undefined)
          this.periods[place] = { ...period, end: fact.at, ended: id };
        return;
      }
      case "agent-configure": {
        const { agent, instructions, tools, output, parameters } = fact;
        const parts: readonly unknown[] = [instructions, tools, output, parameters];
        // Withheld content cannot be compared.
        if (parts.some((part) => part instanceof Withheld)) return;
        const config = canonical(plain({ instructions, tools, output, parameters }));
        this.#is(`the configuration of the agent ${agent}`, digestOf(config), id, fact.at);
        return;
      }
      case "model-call":
        if (fact.agent !== undefined)
          this.#is(`the model of the agent ${fact.agent}`, fact.model, id, fact.at);
        return;
      case "policy-set":
        this.#is(`the policy ${fact.policy} on ${fact.module}`, fact.version, id, fact.at);
        return;
      case "policy-decide":
        if (fact.verdict === "deny") this.denied.add(id);
        for (const one of Array.isArray(fact.policies) ? fact.policies : []) {
          const { name, version } = one as { readonly name?: unknown; readonly version?: unknown };
          if (typeof name === "string" && typeof version === "string")
            this.#is(`the policy ${name}`, version, id, fact.at);
        }
        return;
      case "approval-ask":
        // A question that names other bytes than it shows is one about nothing.
        if ((fact.what as unknown) instanceof Withheld || digestOf(canonical(fact.what)) === fact.digest)
          this.#asked.set(id, { digest: fact.digest, call: fact.of ?? id });
        return;
      case "approval-give":
        this.#give(id, fact);
        return;
      case "validation-report":
        if (!fact.passed) this.failedChecks.add(id);
        if (isPerson(fact.by)) this.#person(id, fact.by);
        return;
      case "wait-cancel":
        if (fact.late === true) this.expired.add(id);
        return;
      case "memory-read":
        (fact.head === undefined ? this.againstNothing : this.againstHead).add(id);
        return;
      default:
    }
  }

  #start(id: FactId, fact: FactOf<"run-start">): void {
    this.runs += 1;
    const { module, digests, by, at } = fact;
    this.#starts.set(id, this.periods.length);
    this.periods.push({ run: id, module, by, start: at });
    const digest = (digests as { readonly module?: unknown } | undefined)?.module;
    if (typeof digest === "string") this.#is(`the program of ${module}`, digest, id, at);
  }

  #give(id: FactId, { by, decision, of, digest }: FactOf<"approval-give">): void {
    if (decision === "reject") this.rejected.add(id);
    if (!isPerson(by)) return;
    this.#person(id, by);
    if (decision !== "approve") return;
    const asked = this.#asked.get(of);
    if (asked === undefined || asked.digest !== digest) {
      this.astray.add(id);
      return;
    }
    const people = this.agreed.get(asked.call) ?? new Set();
    this.agreed.set(asked.call, people.add(by));
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
const INPUTS: ReadonlySet<string> = new Set([
  "session-start",
  "session-detach",
  "message-say",
  "tool-result",
  "workspace-import",
  "record-import",
] satisfies Fact["type"][]);

/** Without what is not said. */
function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}
