import { costText, type Digest, type FactId, type FactOf } from "../../session/index.js";
import { defined, isObject } from "../../util/index.js";
import { type Html, html } from "./html/html.js";
import { type Anchors, count, inline, items, lasting, line, type Section, told, when } from "./html/words.js";
import { type ItemOf, itemOf, Sample, type Seen, shape } from "./item.js";
import { failing, type Listed, type Told, text, type Words } from "./words.js";

const ASK = shape("model-call", "model agent config parameters*", ({ prompt }) => ({
  prompt: (prompt === undefined ? NO_DIGEST : { ...UNRENDERED, digest: prompt }) as Prompt,
  calls: [] as { name: string; input: Told }[],
}));
export type ModelCall = ItemOf<typeof ASK> & Partial<ReturnType<typeof replied> & ReturnType<typeof failed>>;

/** The prompt of a call: rendered again from the record and held against the digest that was recorded. */
export type Prompt =
  | {
      readonly state: "rendered";
      readonly digest: Digest;
      readonly characters: number;
      readonly messages: number;
      /** The first messages are those of an earlier call, and not told twice. */
      readonly shared?: { readonly call: FactId; readonly messages: number };
      /** Tools, output and parameters, as they were sent; left out where they are those of the earlier call. */
      readonly request?: Told;
      readonly news: readonly { readonly role: string; readonly text: Told }[];
    }
  | { readonly state: "not-rendered"; readonly digest?: Digest; readonly why: string };

type Draft = { call: ModelCall; readonly id: FactId; readonly elsewhere: boolean };

const UNRENDERED: Prompt = { state: "not-rendered", why: "it was not looked at" };

/** The calls of models, each with its reply. */
export class Models {
  readonly #words: Words;
  readonly #open = new Map<FactId, Draft>();
  /** Calls that were counted and left out of the list before their reply came. */
  readonly #left = new Set<FactId>();
  readonly #sample: Sample<Draft>;

  constructor(most: number, words: Words) {
    this.#words = words;
    this.#sample = new Sample(most, ({ id }) => {
      if (this.#open.delete(id)) this.#left.add(id);
    });
  }

  see(seen: Seen): void {
    const { id, fact } = seen;
    if (fact.type === "model-call") this.#add(seen, ASK.of(seen, this.#words));
    else if (fact.type === "model-reply" || fact.type === "model-failure") {
      if (this.#left.delete(fact.of)) return;
      // A reply whose call is not in the record, as an import may have it, stands for itself.
      const draft = this.#open.get(fact.of) ?? this.#add(seen, alone(seen, fact));
      const outcome = fact.type === "model-reply" ? replied(fact, this.#words) : failed(fact, this.#words);
      const facts = draft.id === id ? [id] : [...draft.call.facts, id];
      draft.call = { ...draft.call, ...outcome, facts };
      this.#open.delete(fact.of);
    }
  }

  /** The calls that are kept, for rendering their prompts. */
  get kept(): readonly { readonly id: FactId; readonly call: ModelCall; readonly elsewhere: boolean }[] {
    return this.#sample.items;
  }

  listed(prompts: ReadonlyMap<FactId, Prompt>): Listed<ModelCall> {
    return this.#sample.listedAs(({ id, call }) => ({ ...call, prompt: prompts.get(id) ?? call.prompt }));
  }

  #add(seen: Seen, call: ModelCall): Draft {
    const draft = this.#sample.add({ id: seen.id, call, elsewhere: seen.elsewhere });
    this.#open.set(seen.id, draft);
    return draft;
  }
}

const NO_DIGEST: Prompt = { state: "not-rendered", why: "the record does not say which prompt was sent" };

function alone(seen: Seen, fact: FactOf<"model-reply" | "model-failure">): ModelCall {
  const model = fact.type === "model-reply" ? (fact.model ?? "a model") : "a model";
  return { ...itemOf(seen), model, prompt: NO_DIGEST, calls: [] };
}

/** Marks a call that this program did not make. */
const BY_PROVIDER = " (run by the provider)";

/** The outcome of a call. One that was made in another run, and taken over, names it in `from`. */
function replied(fact: FactOf<"model-reply">, words: Words) {
  const { agent, cost, milliseconds, from, finish, usage } = fact;
  const parts: readonly unknown[] = Array.isArray(fact.content) ? fact.content : [];
  return {
    ...defined({ reply: words.content(fact.content), reasoning: words.content(fact.content, "reasoning") }),
    calls: parts.flatMap((part) =>
      isObject(part) && part.type === "tool-call"
        ? [
            {
              name: `${text(part.name)}${part.provider === true ? BY_PROVIDER : ""}`,
              input: words.tell(part.input),
            },
          ]
        : [],
    ),
    finish,
    usage,
    ...defined({ agent, cost, milliseconds, from }),
    ...redactedOf(fact.redacted),
  };
}

function failed(fact: FactOf<"model-failure">, words: Words) {
  const { milliseconds, from } = fact;
  return {
    error:
      isObject(fact.error) && "message" in fact.error
        ? words.tell(failing(fact.error))
        : words.tell(fact.error),
    ...defined({ milliseconds, from }),
    ...redactedOf(fact.redacted),
  };
}

/** The names of the secrets whose values were taken out. */
export function redactedOf(redacted: unknown): { redacted?: readonly string[] } {
  return Array.isArray(redacted) && redacted.length > 0 ? { redacted: redacted.map(text) } : {};
}

/** Each call of a model: what it was asked, as it was rendered, and what it said. */
export const modelsSection: Section = {
  id: "models",
  title: "Model calls",
  total: ({ models }) => models.total,
  body: ({ models, spending }, anchors) => {
    const numbers = new Map(models.items.map((call, place) => [call.facts[0] ?? "", place]));
    const gap = models.gap ?? models.items.length;
    const left = models.total - models.items.length;
    const numberOf = (id: string): number | undefined => {
      const place = numbers.get(id);
      return place === undefined ? undefined : (place < gap ? place : place + left) + 1;
    };
    const { usage } = spending.total;
    if (models.total === 0) return undefined;
    return html`<p class="lead">${usage.input.toLocaleString("en")} tokens in, ${usage.output.toLocaleString("en")} out. Prompts are rendered again from the record and held against the digest that was recorded when they were sent.</p>
${items(models, (call, place) => item(call, place, anchors, numberOf))}`;
  },
};

function item(
  call: ModelCall,
  place: number,
  anchors: Anchors,
  numberOf: (id: string) => number | undefined,
): Html {
  const { usage, cost, error, finish } = call;
  return html`<details class="item" id="m-${(call.facts[0] ?? "").slice(0, 16)}"><summary><h3 dir="auto">${place + 1}. ${call.agent ?? call.by} asks ${call.model}</h3>${
    error !== undefined && html` <span class="tag bad">failed</span>`
  }${line(
    call.branch,
    when(call.at, "clock"),
    usage && `${usage.input.toLocaleString("en")} in, ${usage.output.toLocaleString("en")} out`,
    cost !== undefined && costText(cost),
    lasting(call.milliseconds),
    finish,
    call.calls.length > 0 && `wants ${call.calls.map(({ name }) => name).join(", ")}`,
    call.reply !== undefined && html`“${inline(call.reply, 100)}”`,
  )}</summary><div class="body">${prompt(call.prompt, anchors, numberOf)}${told(call.parameters, "Parameters of this call")}${told(call.reasoning, "Reasoning", "plain")}${told(call.reply, "Reply", "plain")}${call.calls.map(
    ({ name, input }) => told(input, `Wants ${name} with`),
  )}${told(error, "It failed")}${call.redacted && html`<p class="small warn">Secrets were taken out: ${call.redacted.join(", ")}</p>`}${
    call.from !== undefined &&
    html`<p class="small">The outcome was made in another run and taken over: ${anchors.id(call.from)}</p>`
  }${call.config !== undefined && html`<p class="small">Configured by ${anchors.id(call.config)}</p>`}${anchors.proofs(call.facts)}</div></details>`;
}

function prompt(asked: Prompt, anchors: Anchors, numberOf: (id: string) => number | undefined): Html {
  if (asked.state === "not-rendered")
    return html`<p class="label">Prompt</p><p class="small warn">Cannot be rendered again: ${asked.why}${asked.digest !== undefined && html` (its digest is <span class="id">${asked.digest.slice(0, 12)}</span>)`}</p>`;
  const { shared, news } = asked;
  const number = shared && numberOf(shared.call);
  return html`<details class="part"><summary>Prompt as rendered <span class="soft">(${count(asked.messages, "message")}, ${count(asked.characters, "character")})</span> <span class="tag good">digest checked</span></summary>
<p class="small soft">sha256 <span class="hash">${asked.digest}</span></p>${
    shared !== undefined &&
    html`<p class="small">It begins as that of call ${number === undefined ? anchors.id(shared.call) : html`<a href="#m-${shared.call.slice(0, 16)}">${number}</a>`}: the same tools and settings, and the same first ${count(shared.messages, "message")}. Then:</p>`
  }${told(asked.request, "Tools, output and parameters, as sent")}${news.map(
    ({ role, text }) =>
      html`<div class="said"><span class="who">${role}</span>${told(text, "", "plain")}</div>`,
  )}</details>`;
}
