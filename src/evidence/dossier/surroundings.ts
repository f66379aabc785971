import type { FactId, FactOf } from "../../session/index.js";
import type { Environment, Item, Told } from "./dossier.js";
import { Sample } from "./sample.js";
import { itemOf, type Seen } from "./seen.js";
import { errorOf } from "./tools.js";
import { isObject, text, type Words } from "./words.js";

type Row<Name extends keyof Environment> = Environment[Name]["items"][number];
type Opened = Row<"sandboxes"> & {
  readonly ends: { readonly fact: FactId; readonly type: string; readonly why?: Told }[];
};
type Ran = { -readonly [Key in keyof Row<"runs">]: Row<"runs">[Key] };

/** Where things happened and with what: placements, sandboxes, agents, runs, modules. */
export class Surroundings {
  readonly #most: number;
  readonly #words: Words;
  readonly #placements: Sample<Row<"placements">>;
  readonly #sandboxes: Sample<Opened>;
  readonly #opened = new Map<string, Opened>();
  readonly #agents: Sample<Row<"agents">>;
  readonly #runs: Sample<Ran>;
  readonly #started = new Map<FactId, Ran>();
  readonly #modules = new Map<
    string,
    { entered: number; readonly fact: FactId; readonly digests: unknown }
  >();

  constructor(most: number, words: Words) {
    this.#most = most;
    this.#words = words;
    this.#placements = new Sample(most);
    this.#sandboxes = new Sample(most);
    this.#agents = new Sample(most);
    this.#runs = new Sample(most);
  }

  see(seen: Seen): void {
    const { fact } = seen;
    switch (fact.type) {
      case "placement-change":
        this.#placements.add({ ...itemOf(seen), sandbox: fact.sandbox, ...this.#maybe({ spec: fact.spec }) });
        return;
      case "sandbox-open":
        this.#open(seen, fact);
        return;
      case "sandbox-suspend":
      case "sandbox-resume":
      case "sandbox-lose":
      case "sandbox-close":
        this.#opened
          .get(`${fact.sandbox} ${fact.incarnation}`)
          ?.ends.push({ fact: seen.id, type: fact.type, ...this.#maybe({ why: fact.why }) });
        return;
      case "agent-configure":
        this.#configured(seen, fact);
        return;
      case "module-enter":
        this.#entered(seen, fact);
        return;
      case "run-start":
        this.#run(seen, fact);
        return;
      case "run-suspend":
      case "run-end": {
        const run = this.#started.get(fact.of);
        if (run === undefined) return;
        if (fact.type === "run-suspend") run.suspended += 1;
        else {
          run.end = seen.id;
          if (fact.error !== undefined) run.error = errorOf(fact.error, this.#words);
        }
        return;
      }
      default:
    }
  }

  told(): Environment {
    const modules = new Sample<Row<"modules">>(this.#most);
    for (const [module, { entered, fact, digests }] of this.#modules)
      modules.add({ module, entered, fact, ...this.#maybe({ digests }) });
    return {
      placements: this.#placements.listed(),
      sandboxes: this.#sandboxes.listed(),
      agents: this.#agents.listed(),
      runs: this.#runs.listed(),
      modules: modules.listed(),
    };
  }

  #maybe<Field extends string>(
    fields: { readonly [field in Field]: unknown },
  ): { readonly [field in Field]?: Told } {
    const told = Object.entries(fields).filter(([, value]) => value !== undefined);
    return Object.fromEntries(told.map(([field, value]) => [field, this.#words.tell(value)])) as {
      readonly [field in Field]?: Told;
    };
  }

  #open(seen: Seen, fact: FactOf<"sandbox-open">): void {
    const { sandbox, incarnation, provider, isolation } = fact;
    const opened: Opened = {
      ...itemOf(seen),
      sandbox,
      incarnation,
      provider,
      isolation,
      spec: this.#words.tell(fact.spec),
      capabilities: this.#words.tell(fact.capabilities),
      status: this.#words.tell(fact.status),
      ...this.#maybe({ native: fact.native }),
      ends: [],
    };
    this.#sandboxes.add(opened);
    if (this.#opened.size < 10_000) this.#opened.set(`${sandbox} ${incarnation}`, opened);
  }

  #configured(seen: Seen, fact: FactOf<"agent-configure">): void {
    const { agent, instructions, tools, parameters, output } = fact;
    const named = (Array.isArray(tools) ? (tools as readonly unknown[]) : []).map((tool) =>
      isObject(tool) ? text(tool.name) : "?",
    );
    const row: Item & Row<"agents"> = {
      ...itemOf(seen),
      agent,
      tools: named,
      ...this.#maybe({ instructions, parameters, output }),
      ...this.#maybe({ definitions: tools }),
    };
    this.#agents.add(row);
  }

  #entered(seen: Seen, fact: FactOf<"module-enter">): void {
    const known = this.#modules.get(fact.module);
    if (known !== undefined) known.entered += 1;
    else if (this.#modules.size < 10_000)
      this.#modules.set(fact.module, { entered: 1, fact: seen.id, digests: fact.digests });
  }

  #run(seen: Seen, fact: FactOf<"run-start">): void {
    const { nonce, module, name, from } = fact;
    const run: Ran = {
      ...itemOf(seen),
      run: nonce,
      module,
      ...(name !== undefined && { name }),
      ...this.#maybe({ digests: fact.digests }),
      ...(from !== undefined && { from: { run: from.run, start: from.start } }),
      ...(fact.for !== undefined && { for: fact.for }),
      suspended: 0,
    };
    this.#runs.add(run);
    if (this.#started.size < 100_000) this.#started.set(seen.id, run);
  }
}
