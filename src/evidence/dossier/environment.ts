import type { FactId, FactOf } from "../../session/index.js";
import { isObject } from "../../util/index.js";
import type { Dossier } from "./dossier.js";
import { type Html, html } from "./html/html.js";
import { type Anchors, count, inline, items, line, pairs, told, when } from "./html/words.js";
import { itemOf, Sample, type Seen } from "./item.js";
import { errorOf } from "./tools.js";
import { type Item, type Listed, type Told, text, type Words } from "./words.js";

export type Environment = {
  readonly placements: Listed<Item & { readonly sandbox: string; readonly spec?: Told }>;
  readonly sandboxes: Listed<
    Item & {
      readonly sandbox: string;
      readonly incarnation: number;
      readonly provider: string;
      readonly isolation: string;
      readonly spec: Told;
      readonly capabilities: Told;
      readonly status: Told;
      readonly native?: Told;
      readonly ends: readonly { readonly fact: FactId; readonly type: string; readonly why?: Told }[];
    }
  >;
  readonly agents: Listed<
    Item & {
      readonly agent: string;
      readonly instructions?: Told;
      readonly tools: readonly string[];
      readonly definitions?: Told;
      readonly parameters?: Told;
      readonly output?: Told;
    }
  >;
  readonly runs: Listed<
    Item & {
      readonly run: string;
      readonly module: string;
      readonly name?: string;
      readonly digests?: Told;
      readonly from?: { readonly run: string; readonly start: FactId };
      /** On whose behalf it acted; a run of version 0.1 does not say. */
      readonly for?: string;
      readonly suspended: number;
      readonly end?: FactId;
      readonly error?: Told;
    }
  >;
  readonly modules: Listed<{
    readonly module: string;
    readonly entered: number;
    readonly digests?: Told;
    readonly fact: FactId;
  }>;
};

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

/** Where things happened and with what. */
export function environmentSection({ environment, made, imports }: Dossier, anchors: Anchors): Html {
  const { placements, sandboxes, agents, runs, modules } = environment;
  return html`<section id="environment" aria-labelledby="environment-h"><h2 id="environment-h">Environment</h2>
${items(
  runs,
  (run) =>
    html`<details class="item"><summary><h3 dir="auto">Run ${run.name ?? run.run} of ${run.module}</h3> ${run.error !== undefined && html`<span class="tag bad">failed</span>`}${line(
      when(run.at),
      run.suspended > 0 && `suspended ${count(run.suspended, "time")}`,
      run.end === undefined ? "not ended" : undefined,
    )}</summary><div class="body">${pairs([
      ["Run", html`<code>${run.run}</code>`],
      ["On behalf of", run.for],
      ["What-if of", run.from && html`run <code>${run.from.run}</code> ${anchors.id(run.from.start)}`],
      ["Ended", run.end && anchors.id(run.end)],
    ])}${told(run.digests, "Digests of the program")}${told(run.error, "It ended with")}${anchors.proofs(run.facts)}</div></details>`,
)}
${items(
  agents,
  (one) =>
    html`<details class="item"><summary><h3 dir="auto">Agent ${one.agent}</h3>${line(count(one.tools.length, "tool"), one.branch, when(one.at, "clock"))}</summary><div class="body">${told(one.instructions, "Instructions", "plain")}${
      one.tools.length > 0 && html`<p class="small">Tools: ${one.tools.join(", ")}</p>`
    }${told(one.definitions, "Definitions of tools")}${told(one.parameters, "Parameters")}${told(one.output, "Output")}${anchors.proofs(one.facts)}</div></details>`,
)}
${items(
  sandboxes,
  (box) =>
    html`<details class="item"><summary><h3 dir="auto">Sandbox ${box.sandbox}</h3> <span class="tag">${box.provider}, isolation ${box.isolation}</span>${line(`opened ${count(box.incarnation, "time")}`, box.branch, when(box.at, "clock"))}</summary><div class="body">${told(box.spec, "Requested")}${told(box.status, "Status")}${told(box.capabilities, "Capabilities")}${told(box.native, "As its provider calls it")}${box.ends.map(
      ({ type, why, fact }) =>
        html`<p class="small"><code>${type}</code> ${inline(why)} ${anchors.id(fact)}</p>`,
    )}${anchors.proofs(box.facts)}</div></details>`,
)}
${
  placements.total > 0 &&
  html`<p class="label">Placements</p><ul>${items(
    placements,
    (one) =>
      html`<li>${one.sandbox} <span class="soft">${inline(one.spec)}</span> ${anchors.id(one.facts[0] ?? "")}</li>`,
    (words) => html`<li class="more">${words}</li>`,
  )}</ul>`
}
${
  modules.total > 0 &&
  html`<p class="label">Modules</p><ul>${items(
    modules,
    (one) =>
      html`<li>${one.module} <span class="soft">entered ${count(one.entered, "time")}${one.digests !== undefined && html`, ${inline(one.digests)}`}</span> ${anchors.id(one.fact)}</li>`,
    (words) => html`<li class="more">${words}</li>`,
  )}</ul>`
}
${imports.total > 0 && html`<p class="label">Imported from</p>${items(imports, (one) => html`<details class="item"><summary><h3 dir="auto">${inline(one.source, 120)}</h3> <span class="tag">${one.format}</span></summary><div class="body"><p class="small">sha256 of the file <span class="hash">${one.digest}</span></p>${told(one.detail, "Detail of the source")}${anchors.proofs(one.facts)}</div></details>`)}`}
<p class="label">Who made this dossier</p>${pairs([
    ["When", when(made.at)],
    ["With", `openrath ${made.openrath}, Node ${made.node}, ${made.platform}`],
  ])}</section>`;
}
