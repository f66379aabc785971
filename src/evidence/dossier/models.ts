import type { FactId, FactOf } from "../../session/index.js";
import type { Listed, ModelCall, Prompt } from "./dossier.js";
import { Sample } from "./sample.js";
import { failing } from "./saying.js";
import { itemOf, type Seen } from "./seen.js";
import { isObject, text, type Words } from "./words.js";

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
    if (fact.type === "model-call") this.#add(seen, asked(seen, fact, this.#words));
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

  /** The calls that are kept, for whoever renders their prompts. */
  get kept(): readonly { readonly id: FactId; readonly call: ModelCall; readonly elsewhere: boolean }[] {
    return this.#sample.items;
  }

  listed(prompts: ReadonlyMap<FactId, Prompt>): Listed<ModelCall> {
    return this.#sample.listed(({ id, call }) => ({ ...call, prompt: prompts.get(id) ?? call.prompt }));
  }

  #add(seen: Seen, call: ModelCall): Draft {
    const draft = this.#sample.add({ id: seen.id, call, elsewhere: seen.elsewhere });
    this.#open.set(seen.id, draft);
    return draft;
  }
}

function asked(seen: Seen, fact: FactOf<"model-call">, words: Words): ModelCall {
  const parameters = words.maybe(fact.parameters);
  return {
    ...itemOf(seen),
    model: fact.model,
    ...(fact.agent !== undefined && { agent: fact.agent }),
    ...(fact.config !== undefined && { config: fact.config }),
    ...(parameters !== undefined && { parameters }),
    prompt: fact.prompt === undefined ? NO_DIGEST : { ...UNRENDERED, digest: fact.prompt },
    calls: [],
  };
}

const NO_DIGEST: Prompt = { state: "not-rendered", why: "the record does not say which prompt was sent" };

function alone(seen: Seen, fact: FactOf<"model-reply" | "model-failure">): ModelCall {
  const model = fact.type === "model-reply" ? (fact.model ?? "a model") : "a model";
  return { ...itemOf(seen), model, prompt: NO_DIGEST, calls: [] };
}

function replied(fact: FactOf<"model-reply">, words: Words): Partial<ModelCall> {
  const { agent, cost, milliseconds, from, finish, usage } = fact;
  const reply = words.content(fact.content);
  const reasoning = words.content(fact.content, "reasoning");
  const parts: readonly unknown[] = Array.isArray(fact.content) ? fact.content : [];
  return {
    ...(reply !== undefined && { reply }),
    ...(reasoning !== undefined && { reasoning }),
    calls: parts.flatMap((part) =>
      isObject(part) && part.type === "tool-call"
        ? [{ name: text(part.name), input: words.tell(part.input) }]
        : [],
    ),
    finish,
    usage,
    ...(agent !== undefined && { agent }),
    ...(cost !== undefined && { cost }),
    ...(milliseconds !== undefined && { milliseconds }),
    ...(from !== undefined && { from }),
    ...redactedOf(fact.redacted),
  };
}

function failed(fact: FactOf<"model-failure">, words: Words): Partial<ModelCall> {
  const { milliseconds, from } = fact;
  return {
    error:
      isObject(fact.error) && "message" in fact.error
        ? words.tell(failing(fact.error))
        : words.tell(fact.error),
    ...(milliseconds !== undefined && { milliseconds }),
    ...(from !== undefined && { from }),
    ...redactedOf(fact.redacted),
  };
}

/** The names of the secrets whose values were taken out. */
export function redactedOf(redacted: unknown): { redacted?: readonly string[] } {
  return Array.isArray(redacted) && redacted.length > 0 ? { redacted: redacted.map(text) } : {};
}
