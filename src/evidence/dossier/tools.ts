import { type FactId, type FactOf, factTypes, Withheld } from "../../session/index.js";
import { defined, isObject } from "../../util/index.js";
import { type Html, html } from "./html/html.js";
import type { Anchors, Section } from "./html/words.js";
import { card, inline, items, lasting, line, pairs, told, when } from "./html/words.js";
import { itemOf, Sample, type Seen } from "./item.js";
import { redactedOf } from "./models.js";
import { failing, type Listed, type Told, text, type Words } from "./words.js";

type Piece = { readonly fact: FactId; readonly type: string };
type Trouble = { readonly fact: FactId; readonly what: string; readonly text: Told };

/** A call as it was asked for. `placement` is where the session was placed. */
type Asked = ReturnType<typeof asked>;

/** `sandbox` is the one that was used; `evidence` are commands, changes, checks, approvals and readings that belong to the call. */
export type ToolCall = Asked &
  Partial<Omit<ReturnType<typeof outcomeOf>, "state">> & {
    readonly state: "done" | "failed" | "open" | "in doubt";
    readonly attempts: number;
    readonly sandbox?: string;
    readonly verdict?: string;
    readonly troubles: readonly Trouble[];
    readonly evidence: readonly Piece[];
  };

type Draft = {
  call: ToolCall;
  readonly id: FactId;
  readonly asked: Asked;
  readonly evidence: Piece[];
  readonly troubles: Trouble[];
  isOver: boolean;
};

type OutcomeFact = FactOf<"tool-result" | "tool-failure" | "step-result" | "step-failure">;

/** How much evidence of one call is named. */
const EVIDENCE = 50;
const EVIDENT: ReadonlySet<string> = factTypes(
  "command-run workspace-import workspace-change workspace-merge validation-report approval-ask",
  "memory-read skill-activate",
);

/** The calls of tools and the steps, each with its outcome and with what it left on the record. */
export class Tools {
  readonly #words: Words;
  readonly #known = new Map<FactId, Draft>();
  /** Calls that were counted and left out of the list before their outcome came. */
  readonly #left = new Set<FactId>();
  readonly #sample: Sample<Draft>;
  readonly #placements = new Map<number, string>();

  constructor(most: number, words: Words) {
    this.#words = words;
    this.#sample = new Sample(most, ({ id, isOver }) => {
      this.#known.delete(id);
      if (!isOver) this.#left.add(id);
    });
  }

  see(seen: Seen): void {
    const { id, fact, branch } = seen;
    switch (fact.type) {
      case "placement-change":
        this.#placements.set(branch.index, fact.sandbox);
        return;
      case "tool-call":
      case "step-call":
        this.#add(id, asked(seen, fact, this.#placementOf(seen), this.#words));
        return;
      case "tool-result":
      case "tool-failure":
      case "step-result":
      case "step-failure":
        this.#outcome(seen, fact);
        return;
      default: {
        const of = (fact as { readonly of?: unknown }).of;
        const draft = typeof of === "string" ? this.#known.get(of) : undefined;
        if (draft !== undefined) this.#more(id, fact, draft);
      }
    }
  }

  /** The name of a call, where it is still known. */
  nameOf(id: FactId | undefined): string | undefined {
    return id === undefined ? undefined : this.#known.get(id)?.call.name;
  }

  listed(): Listed<ToolCall> {
    return this.#sample.listedAs(({ call, evidence, troubles }) => ({ ...call, evidence, troubles }));
  }

  #add(id: FactId, request: Asked): Draft {
    const call: ToolCall = { ...request, state: "open", attempts: 0, troubles: [], evidence: [] };
    const draft = this.#sample.add({ id, call, asked: request, evidence: [], troubles: [], isOver: false });
    this.#known.set(id, draft);
    return draft;
  }

  #placementOf({ branch }: Seen): string | undefined {
    return this.#placements.get(branch.index) ?? this.#placements.get(0);
  }

  #outcome(seen: Seen, fact: OutcomeFact): void {
    const { id } = seen;
    if (this.#left.delete(fact.of)) return;
    const known = this.#known.get(fact.of);
    const draft = known === undefined || known.isOver ? this.#add(id, this.#once(seen, fact, known)) : known;
    draft.isOver = true;
    const facts = draft.id === id ? draft.call.facts : [...draft.call.facts, id];
    draft.call = { ...draft.call, facts, ...outcomeOf(fact, this.#words) };
  }

  /** An outcome that stands for itself: that of a call which is not listed, or has one already. */
  #once(seen: Seen, { of, by, type }: OutcomeFact, known: Draft | undefined): Asked {
    const item = itemOf(seen);
    // A retry or a what-if went on from the same call: what was asked is the same.
    if (known !== undefined) return { ...known.asked, ...item, facts: [of, seen.id] };
    return {
      ...item,
      kind: type.startsWith("tool") ? "tool" : "step",
      name: by.replace(/^tool:/, ""),
      input: this.#words.tell("(its call is not listed here)"),
    };
  }

  /** Further facts about a call. */
  #more(id: FactId, fact: Seen["fact"], draft: Draft): void {
    const { sandbox } = fact as { readonly sandbox?: unknown };
    if (typeof sandbox === "string") draft.call = { ...draft.call, sandbox };
    if (EVIDENT.has(fact.type) && draft.evidence.length < EVIDENCE)
      draft.evidence.push({ fact: id, type: fact.type });
    if (fact.type === "effect-start") draft.call = { ...draft.call, attempts: draft.call.attempts + 1 };
    else if (fact.type === "policy-decide") draft.call = { ...draft.call, verdict: fact.verdict };
    else if (fact.type === "effect-fail" || fact.type === "effect-doubt") {
      const what =
        fact.type === "effect-fail" ? `attempt ${fact.attempt} failed` : "nobody knows how it ended";
      if (draft.troubles.length < EVIDENCE)
        draft.troubles.push({ fact: id, what, text: errorOf(fact.error, this.#words) });
      if (fact.type === "effect-doubt" && !draft.isOver) draft.call = { ...draft.call, state: "in doubt" };
    } else if (fact.type === "effect-settle") {
      const why = this.#words.tell(fact.why ?? "");
      draft.troubles.push({
        fact: id,
        what: `${fact.by} settled it as ${fact.decision}${fact.digest === undefined ? "" : ", a second execution of what was approved"}`,
        text: why,
      });
      if (!draft.isOver) draft.call = { ...draft.call, state: "open" };
    }
  }
}

function asked(
  seen: Seen,
  fact: FactOf<"tool-call" | "step-call">,
  placement: string | undefined,
  words: Words,
) {
  const { name, effect, key } = fact;
  const source = fact.type === "tool-call" ? words.maybe(fact.source) : undefined;
  return {
    ...itemOf(seen),
    kind: fact.type === "tool-call" ? ("tool" as const) : ("step" as const),
    name,
    input: words.tell(fact.input ?? null),
    ...defined({ effect, key, source, placement }),
  };
}

function outcomeOf(fact: OutcomeFact, words: Words) {
  const { milliseconds, from } = fact;
  const isFailure = fact.type === "tool-failure" || fact.type === "step-failure";
  const output = isFailure ? undefined : words.tell(fact.type === "tool-result" ? fact.output : fact.value);
  return {
    state: isFailure ? ("failed" as const) : ("done" as const),
    ...defined({
      error: isFailure ? errorOf(fact.error, words) : undefined,
      output,
      origin: fact.type === "tool-result" ? fact.origin : undefined,
      edited: editedOf(fact.edited, words),
      milliseconds,
      from,
    }),
    ...redactedOf(fact.redacted),
  };
}

export function errorOf(error: unknown, words: Words): ReturnType<Words["tell"]> {
  return error instanceof Withheld || !isObject(error) ? words.tell(error) : words.tell(failing(error));
}

function editedOf(edited: unknown, words: Words): { readonly by: string; readonly input: Told } | undefined {
  if (edited === undefined) return undefined;
  if (!isObject(edited) || edited instanceof Withheld) return { by: "?", input: words.tell(edited) };
  return { by: text(edited.by), input: words.tell(edited.input) };
}

const TONES: { readonly [state in ToolCall["state"]]: string } = {
  done: "",
  failed: "bad",
  open: "warn",
  "in doubt": "warn",
};

/** Each call of a tool, and each step, with arguments, outcome, effect and place. */
export const toolsSection: Section = {
  id: "tools",
  title: "Tool calls",
  heading: "Tool calls and steps",
  total: ({ tools }) => tools.total,
  body: ({ tools }, anchors) => items(tools, (call, place) => item(call, place, anchors)),
};

function item(call: ToolCall, place: number, anchors: Anchors): Html {
  return card(
    html`<h3 dir="auto">${place + 1}. ${call.name}</h3> <span class="soft small">${inline(call.input, 80)}</span>${
      call.state !== "done" && html` <span class="tag ${TONES[call.state]}">${call.state}</span>`
    }${call.effect !== undefined && html` <span class="tag">${call.effect}</span>`}${line(
      call.branch,
      call.by,
      when(call.at, "clock"),
      lasting(call.milliseconds),
      call.attempts > 1 && `${call.attempts} attempts`,
    )}`,
    html`${told(call.input, "Arguments")}${
      call.edited !== undefined &&
      html`<p class="small warn">Arguments were changed by ${call.edited.by}:</p>${told(call.edited.input, "")}`
    }${told(call.output, "Result")}${told(call.error, "Failure")}${call.troubles.map(
      ({ what, text, fact }) => html`<p class="small warn">${what} ${anchors.id(fact)}</p>${told(text, "")}`,
    )}${pairs([
      ["Effect", call.effect],
      ["Placement", call.placement],
      ["Sandbox", call.sandbox],
      ["Policy says", call.verdict],
      ["Result comes from", call.origin],
      [
        "Evidence",
        call.evidence.length > 0 &&
          call.evidence.map(({ type, fact }) => html`<code>${type}</code> ${anchors.id(fact)} `),
      ],
      ["Taken over from", call.from && anchors.id(call.from)],
      ["Secrets taken out", call.redacted?.join(", ")],
    ])}${told(call.source, "Where the tool is from")}`,
    anchors,
    call.facts,
  );
}
