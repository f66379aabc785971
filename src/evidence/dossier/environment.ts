import type { FactId } from "../../session/index.js";
import { defined, isObject } from "../../util/index.js";
import { html } from "./html/html.js";
import { bullets, card, count, inline, items, line, pairs, type Section, told, when } from "./html/words.js";
import { type ItemOf, Sample, type Seen, shape } from "./item.js";
import { errorOf } from "./tools.js";
import { type Listed, type Told, text, type Words } from "./words.js";

type End = { readonly fact: FactId; readonly type: string; readonly why?: Told };

export const PLACEMENT = shape("placement-change", "sandbox spec*");

export const AGENT = shape(
  "agent-configure",
  "agent instructions* parameters* output*",
  ({ tools }, words) => ({
    tools: (Array.isArray(tools) ? (tools as readonly unknown[]) : []).map((tool) =>
      isObject(tool) ? text(tool.name) : "?",
    ),
    ...defined({ definitions: words.maybe(tools) }),
  }),
);

const SANDBOX = shape(
  "sandbox-open",
  "sandbox incarnation provider isolation spec* capabilities* status* native*",
  () => ({ ends: [] as End[] }),
);

/** A run of version 0.1 does not say on whose behalf it acted. */
const RUN = shape("run-start", "module name digests* from for", ({ nonce, from }) => ({
  run: nonce,
  ...(from !== undefined && { from: { run: from.run, start: from.start } }),
  suspended: 0,
}));
type Ran = ItemOf<typeof RUN> & { suspended: number; end?: FactId; error?: Told };

type ModuleRow = {
  readonly module: string;
  readonly entered: number;
  readonly fact: FactId;
  readonly digests?: Told;
};

export type Environment = {
  readonly placements: Listed<ItemOf<typeof PLACEMENT>>;
  readonly sandboxes: Listed<ItemOf<typeof SANDBOX>>;
  readonly agents: Listed<ItemOf<typeof AGENT>>;
  readonly runs: Listed<Ran>;
  readonly modules: Listed<ModuleRow>;
};

/** How many sandboxes and modules are told apart, and how many runs. */
const MOST = 10_000;
const RUNS = 100_000;

/** Sandboxes, runs and modules: items that later facts add to. */
export class Surroundings {
  readonly #most: number;
  readonly #words: Words;
  readonly #sandboxes: Sample<ItemOf<typeof SANDBOX>>;
  readonly #opened = new Map<string, ItemOf<typeof SANDBOX>>();
  readonly #runs: Sample<Ran>;
  readonly #started = new Map<FactId, Ran>();
  readonly #modules = new Map<
    string,
    { entered: number; readonly fact: FactId; readonly digests: unknown }
  >();

  constructor(most: number, words: Words) {
    this.#most = most;
    this.#words = words;
    this.#sandboxes = new Sample(most);
    this.#runs = new Sample(most);
  }

  see(seen: Seen): void {
    const { id, fact } = seen;
    switch (fact.type) {
      case "sandbox-open": {
        const opened = this.#sandboxes.add(SANDBOX.of(seen, this.#words));
        if (this.#opened.size < MOST) this.#opened.set(`${fact.sandbox} ${fact.incarnation}`, opened);
        return;
      }
      case "sandbox-suspend":
      case "sandbox-resume":
      case "sandbox-lose":
      case "sandbox-close": {
        const end = { fact: id, type: fact.type, ...defined({ why: this.#words.maybe(fact.why) }) };
        this.#opened.get(`${fact.sandbox} ${fact.incarnation}`)?.ends.push(end);
        return;
      }
      case "module-enter": {
        const known = this.#modules.get(fact.module);
        if (known !== undefined) known.entered += 1;
        else if (this.#modules.size < MOST)
          this.#modules.set(fact.module, { entered: 1, fact: id, digests: fact.digests });
        return;
      }
      case "run-start": {
        const run = this.#runs.add(RUN.of(seen, this.#words));
        if (this.#started.size < RUNS) this.#started.set(id, run);
        return;
      }
      case "run-suspend":
      case "run-end": {
        const run = this.#started.get(fact.of);
        if (run === undefined) return;
        if (fact.type === "run-suspend") run.suspended += 1;
        else {
          run.end = id;
          if (fact.error !== undefined) run.error = errorOf(fact.error, this.#words);
        }
        return;
      }
      default:
    }
  }

  listed(): Pick<Environment, "sandboxes" | "runs" | "modules"> {
    const modules = new Sample<ModuleRow>(this.#most);
    for (const [module, { entered, fact, digests }] of this.#modules)
      modules.add({ module, entered, fact, ...defined({ digests: this.#words.maybe(digests) }) });
    return { sandboxes: this.#sandboxes.listed(), runs: this.#runs.listed(), modules: modules.listed() };
  }
}

export const environmentSection: Section = {
  id: "environment",
  title: "Environment",
  body: ({ environment, made, imports }, anchors) => {
    const { placements, sandboxes, agents, runs, modules } = environment;
    return html`${items(runs, (run) =>
      card(
        html`<h3 dir="auto">Run ${run.name ?? run.run} of ${run.module}</h3> ${run.error !== undefined && html`<span class="tag bad">failed</span>`}${line(
          when(run.at),
          run.suspended > 0 && `suspended ${count(run.suspended, "time")}`,
          run.end === undefined && "not ended",
        )}`,
        html`${pairs([
          ["Run", html`<code>${run.run}</code>`],
          ["On behalf of", run.for],
          ["What-if of", run.from && html`run <code>${run.from.run}</code> ${anchors.id(run.from.start)}`],
          ["Ended", run.end && anchors.id(run.end)],
        ])}${told(run.digests, "Digests of the program")}${told(run.error, "It ended with")}`,
        anchors,
        run.facts,
      ),
    )}
${items(agents, (one) =>
  card(
    html`<h3 dir="auto">Agent ${one.agent}</h3>${line(count(one.tools.length, "tool"), one.branch, when(one.at, "clock"))}`,
    html`${told(one.instructions, "Instructions", "plain")}${
      one.tools.length > 0 && html`<p class="small">Tools: ${one.tools.join(", ")}</p>`
    }${told(one.definitions, "Definitions of tools")}${told(one.parameters, "Parameters")}${told(one.output, "Output")}`,
    anchors,
    one.facts,
  ),
)}
${items(sandboxes, (box) =>
  card(
    html`<h3 dir="auto">Sandbox ${box.sandbox}</h3> <span class="tag">${box.provider}, isolation ${box.isolation}</span>${line(`opened ${count(box.incarnation, "time")}`, box.branch, when(box.at, "clock"))}`,
    html`${told(box.spec, "Requested")}${told(box.status, "Status")}${told(box.capabilities, "Capabilities")}${told(box.native, "As its provider calls it")}${box.ends.map(
      ({ type, why, fact }) =>
        html`<p class="small"><code>${type}</code> ${inline(why)} ${anchors.id(fact)}</p>`,
    )}`,
    anchors,
    box.facts,
  ),
)}
${bullets(
  "Placements",
  placements,
  (one) =>
    html`${one.sandbox} <span class="soft">${inline(one.spec)}</span> ${anchors.id(one.facts[0] ?? "")}`,
)}
${bullets(
  "Modules",
  modules,
  (one) =>
    html`${one.module} <span class="soft">entered ${count(one.entered, "time")}${one.digests !== undefined && html`, ${inline(one.digests)}`}</span> ${anchors.id(one.fact)}`,
)}
${
  imports.total > 0 &&
  html`<p class="label">Imported from</p>${items(imports, (one) =>
    card(
      html`<h3 dir="auto">${inline(one.source, 120)}</h3> <span class="tag">${one.format}</span>`,
      html`<p class="small">sha256 of the file <span class="hash">${one.digest}</span></p>${told(one.detail, "Detail of the source")}`,
      anchors,
      one.facts,
    ),
  )}`
}
<p class="label">Who made this dossier</p>${pairs([
      ["When", when(made.at)],
      ["With", `openrath ${made.openrath}, Node ${made.node}, ${made.platform}`],
    ])}`;
  },
};
