import type { Cost, FactId, FactOf, Usage } from "../../session/index.js";
import { adoptedSide, costText, costWith, factTypes } from "../../session/index.js";
import type { Recorded } from "../../store/index.js";
import { defined, isObject } from "../../util/index.js";
import type { Dossier } from "./dossier.js";
import { fateWord } from "./graph.js";
import { type Html, html } from "./html/html.js";
import type { Anchors, Section } from "./html/words.js";
import { card, column, count, inline, items, leftOut, line, pairs, table, told, when } from "./html/words.js";
import { Sample, type Seen, shape, timeOf } from "./item.js";
import { type Listed, rounded, text, type Words } from "./words.js";

export type Fate =
  /** Where the session began. */
  | "trunk"
  /** The result stands on it, and no merge chose it. */
  | "result"
  | "accepted"
  | "rejected"
  /** Both sides went on. */
  | "merged"
  /** Kept beside others without a preference: trials, and branches of an imported record. */
  | "gathered"
  /** A call took its answer in. */
  | "returned"
  /** The run ended without it. */
  | "left"
  /** Nothing took it in: it ends where it ends. */
  | "open";

export type Branch = ReturnType<typeof shown>;

/** A choice of a selector. */
export const ROUTE = shape(
  "route-choose",
  "selector chosen chooser why* cost candidates",
  ({ candidates }) => ({
    candidates: (Array.isArray(candidates) ? (candidates as readonly unknown[]) : [])
      .slice(0, CANDIDATES)
      .filter(isObject)
      .map(({ name, score, description }) => ({
        name: text(name),
        ...(typeof score === "number" && { score }),
        ...(description !== undefined && { description: text(description).slice(0, 400).toWellFormed() }),
      })),
  }),
);
const CANDIDATES = 100;

/** A check on a branch: what a merge could go by. */
type Check = {
  readonly fact: FactId;
  readonly name: string;
  readonly passed: boolean;
  readonly score?: number;
};

/** A fact that is put on a branch. */
type Placed = Pick<Recorded, "id" | "fact">;

/** A branch while the record is read. */
export type BranchDraft = {
  name: string;
  readonly index: number;
  readonly parent: BranchDraft | undefined;
  readonly begin: Placed;
  readonly elsewhere: boolean;
  tip: FactId;
  until: string;
  length: number;
  models: number;
  tools: number;
  cost: Cost;
  usage: { input: number; output: number };
  checks: Check[];
  answer: unknown;
  fate: Fate | undefined;
  decided: { readonly id: FactId; readonly fact: Recorded["fact"]; readonly into: BranchDraft } | undefined;
};

/** Facts that are said about a session, or to it, and begin no branch where they hang. */
const ASIDE: ReadonlySet<string> = factTypes(
  "approval-give signal-give effect-settle run-cancel run-suspend answer-take content-erase",
  "head-sign",
);
const CHECKS = 5;

/** Which branch each fact is on, and what became of every branch. */
export class Branches {
  readonly all: BranchDraft[] = [];
  readonly #place = new Map<FactId, BranchDraft>();
  readonly #runs = new Map<string, FactOf<"run-start">>();

  /** The branches and runs for a file, and back; where single facts are, callers keep themselves. */
  saved() {
    return { all: this.all, runs: this.#runs };
  }

  load({ all, runs }: ReturnType<Branches["saved"]>): void {
    for (const branch of all) this.all.push(branch);
    for (const [nonce, run] of runs) this.#runs.set(nonce, run);
  }

  has(id: FactId): boolean {
    return this.#place.has(id);
  }

  /** Every fact that was placed. */
  ids(): IterableIterator<FactId> {
    return this.#place.keys();
  }

  of(id: FactId): BranchDraft | undefined {
    return this.#place.get(id);
  }

  /** A run of the record: what a line is called may depend on a run that is only read after it. */
  sawRun(run: FactOf<"run-start">): void {
    this.#runs.set(run.nonce, run);
  }

  /** Puts a fact on its branch. Parents come before their children. */
  place(recorded: Recorded, elsewhere: boolean): BranchDraft {
    if (recorded.fact.type === "run-start") this.sawRun(recorded.fact);
    const sides = recorded.parents.flatMap((parent) => this.#place.get(parent) ?? []);
    const branch = this.placeOn(sides, recorded, elsewhere);
    this.#place.set(recorded.id, branch);
    return branch;
  }

  /** The same of a fact whose parents are on these branches, for callers that keep themselves where facts are. */
  placeOn(sides: readonly BranchDraft[], recorded: Placed, elsewhere: boolean): BranchDraft {
    const { id, fact } = recorded;
    const adopted = adoptedSide(fact, sides.length);
    const first = isGathering(fact) ? shared(sides) : (sides[adopted] ?? sides[0]);
    const goesOn =
      first !== undefined && fact.type !== "branch-fork" && !this.#leaves(recorded, first, elsewhere);
    const branch = goesOn ? first : (this.#lineOf(fact, first) ?? this.#begin(recorded, first, elsewhere));
    if (sides.length > 1) this.#decide(recorded, sides, branch, elsewhere);
    branch.length += 1;
    if (!ASIDE.has(fact.type)) branch.tip = id;
    if (fact.at > branch.until) branch.until = fact.at;
    return branch;
  }

  /** Counts what a fact says about its branch. */
  see({ id, fact, branch }: Seen): void {
    const draft = this.all[branch.index];
    if (draft === undefined) return;
    if (fact.type === "model-call") draft.models += 1;
    else if (fact.type === "tool-call" || fact.type === "step-call") draft.tools += 1;
    else if (fact.type === "model-reply") {
      draft.usage.input += fact.usage.input;
      draft.usage.output += fact.usage.output;
      draft.cost = costWith(draft.cost, fact.cost);
      draft.answer = fact.content;
    } else if (fact.type === "message-say" && fact.role === "assistant") draft.answer = fact.content;
    else if (fact.type === "validation-report") {
      const { name, passed, score } = fact;
      draft.checks.push({ fact: id, name, passed, ...defined({ score }) });
      if (draft.checks.length > CHECKS) draft.checks.shift();
    }
  }

  /** Says where the result stands, when all is read. */
  end(head: FactId): BranchDraft | undefined {
    const last = this.#place.get(head);
    if (last !== undefined) last.fate ??= "result";
    for (const branch of this.all) branch.fate ??= "open";
    return last;
  }

  listed(most: number, words: Words): Listed<Branch> {
    const sample = new Sample<BranchDraft>(most);
    for (const branch of this.all) sample.add(branch);
    return sample.listedAs((draft) => shown(draft, words));
  }

  get rejected(): number {
    return this.all.filter(({ fate }) => fate === "rejected").length;
  }

  /** Whether a fact that is not in the session's past goes a way of its own. */
  #leaves({ fact }: Placed, first: BranchDraft, elsewhere: boolean): boolean {
    return elsewhere && !first.elsewhere && !ASIDE.has(fact.type);
  }

  /** The line on which a run has left a branch already: a what-if begins in one place and goes its own way in another. */
  #lineOf(fact: Recorded["fact"], parent: BranchDraft | undefined): BranchDraft | undefined {
    if (fact.type === "branch-fork" || fact.run === undefined || parent === undefined) return undefined;
    return this.all.find(
      ({ begin, parent: from }) =>
        from === parent && begin.fact.type !== "branch-fork" && begin.fact.run === fact.run,
    );
  }

  /** Names a line that left another one without a fork. Forks may share a name, these never do. */
  #nameOf({ type, run: nonce }: Recorded["fact"], { name: from, begin }: BranchDraft): string {
    const run = nonce === undefined ? undefined : this.#runs.get(nonce);
    const name =
      run?.from !== undefined
        ? `what-if from ${from}`
        : run === undefined
          ? `${from}, added later`
          : type === "run-start" || nonce !== begin.fact.run
            ? `run of ${run.module} from ${from}`
            : `${from}, not taken further`;
    const times = this.all.filter(
      (other) => other.name === name || other.name.startsWith(`${name} (`),
    ).length;
    return times === 0 ? name : `${name} (${times + 1})`;
  }

  #begin({ id, fact }: Placed, parent: BranchDraft | undefined, elsewhere: boolean): BranchDraft {
    const name =
      fact.type === "branch-fork" ? fact.name : parent === undefined ? "main" : this.#nameOf(fact, parent);
    const draft: BranchDraft = {
      name,
      index: this.all.length,
      parent,
      begin: { id, fact },
      elsewhere,
      tip: id,
      until: fact.at,
      length: 0,
      models: 0,
      tools: 0,
      cost: 0,
      usage: { input: 0, output: 0 },
      checks: [],
      answer: undefined,
      fate: parent === undefined ? "trunk" : undefined,
      decided: undefined,
    };
    this.all.push(draft);
    return draft;
  }

  #decide({ id, fact }: Placed, sides: readonly BranchDraft[], into: BranchDraft, elsewhere: boolean) {
    for (const side of new Set(sides)) {
      // Events elsewhere do not change the decision here.
      if (elsewhere && !side.elsewhere && side.fate !== undefined) continue;
      const fate = fateOf(fact, side === into);
      if (fate === undefined || (side.fate === "trunk" && side === into)) continue;
      if (fact.type !== "branch-merge" && side.fate !== undefined) continue;
      side.fate = fate;
      side.decided = { id, fact, into };
    }
  }
}

function isGathering(fact: Recorded["fact"]): boolean {
  return fact.type === "branch-merge" && fact.adopt === "none";
}

/** The nearest branch that all of these left, or are. */
function shared(sides: readonly BranchDraft[]): BranchDraft | undefined {
  const linesUp = sides.map((side) => {
    const line = new Set<BranchDraft>();
    for (let one: BranchDraft | undefined = side; one !== undefined; one = one.parent) line.add(one);
    return line;
  });
  const [first, ...others] = linesUp;
  for (const one of first ?? []) if (others.every((line) => line.has(one))) return one;
  return sides[0];
}

function fateOf(fact: Recorded["fact"], isKept: boolean): Fate | undefined {
  if (isGathering(fact)) return isKept ? undefined : "gathered";
  if (fact.type === "branch-merge")
    return fact.adopt === "both" ? (isKept ? undefined : "merged") : isKept ? "accepted" : "rejected";
  if (isKept || ASIDE.has(fact.type)) return undefined;
  return fact.type === "run-end" ? "left" : "returned";
}

/** A branch as it is shown. `elsewhere` is outside the session's past; an unknown `cost` is null. */
function shown(draft: BranchDraft, words: Words) {
  const { begin, decided, parent } = draft;
  const why = words.maybe((begin.fact as FactOf<"branch-fork">).why);
  return {
    facts: [begin.id],
    ...defined({ at: timeOf(begin.fact.at) }),
    by: begin.fact.by,
    branch: draft.name,
    name: draft.name,
    index: draft.index,
    ...(begin.fact.type === "branch-fork" && why !== undefined && { why }),
    ...(parent !== undefined && { parent: parent.name, parentIndex: parent.index }),
    fate: draft.fate ?? "open",
    ...(draft.elsewhere && { elsewhere: true as const }),
    ...(decided !== undefined && { decided: decision(decided, words) }),
    head: draft.tip,
    length: draft.length,
    ...defined({ until: timeOf(draft.until) }),
    models: draft.models,
    tools: draft.tools,
    usage: { ...draft.usage } as Usage,
    cost: draft.cost,
    checks: draft.checks as readonly Check[],
    ...defined({ answer: words.content(draft.answer) }),
  };
}

/** The fact that decided, who and why. */
function decision({ id, fact, into }: NonNullable<BranchDraft["decided"]>, words: Words) {
  const merge = fact.type === "branch-merge" ? fact : undefined;
  return {
    fact: id,
    by: fact.by,
    ...defined({ at: timeOf(fact.at), why: words.maybe(merge?.why) }),
    ...(merge !== undefined && { adopt: merge.adopt }),
    into: into.name,
  };
}

export const branchesSection: Section = {
  id: "branches",
  title: "Branches",
  heading: "Branches and decisions",
  total: ({ branches }) => branches.total,
  body: ({ branches, routes }, anchors) => [
    ...items(branches, (branch) => item(branch, anchors)),
    chosen(routes, anchors),
  ],
};

function item(branch: Branch, anchors: Anchors): Html {
  const { decided, facts, head, models, tools, usage, cost } = branch;
  const tone =
    branch.fate === "accepted" || branch.fate === "result" ? "good" : branch.fate === "rejected" ? "bad" : "";
  return card(
    html`<h3 dir="auto">${branch.name}</h3> <span class="tag ${tone}">${fateWord(branch)}</span>${reason(branch)}${line(
      count(branch.length, "fact"),
      models > 0 && count(models, "model call"),
      tools > 0 && count(tools, "tool call"),
      models > 0 && cost !== 0 && costText(cost),
      branch.parent !== undefined && `from ${branch.parent}`,
    )}`,
    html`${pairs([
      ["Begun by", html`${branch.by}, ${when(branch.at)}`],
      ["Why it was begun", inline(branch.why, 600)],
      [
        branch.fate === "gathered" ? "Gathered by" : "Decided by",
        decided && html`${decided.by}, ${when(decided.at)} ${anchors.id(decided.fact)}`,
      ],
      ["Why", inline(decided?.why, 1_000)],
      ["Went on in", branch.fate === "gathered" ? undefined : decided?.into],
      [
        "Checks",
        branch.checks.length > 0 &&
          branch.checks.map((check) => html`${verdict(check)} ${anchors.id(check.fact)} `),
      ],
      [
        "Tokens",
        usage.input + usage.output > 0 &&
          `${usage.input.toLocaleString("en")} in, ${usage.output.toLocaleString("en")} out`,
      ],
      ["Ends at", anchors.id(head)],
      [
        "In the result's past",
        branch.elsewhere === true && "no: it was found because it hangs from a fact of this session",
      ],
    ])}${told(branch.answer, "Last message on it", "plain")}`,
    anchors,
    facts,
  );
}

/** A check as a word in its colour. */
function verdict({ name, passed, score }: Check): Html {
  return html`<span class="tag ${passed ? "good" : "bad"}">${name} ${passed ? "passed" : "did not pass"}${score !== undefined && `, ${rounded(score)}`}</span>`;
}

/** Why a branch came out as it did: what was said at the merge, and what the last check on it found. */
export function reason({ decided, checks }: Branch): Html {
  const check = checks.at(-1);
  const why = inline(decided?.why);
  return html`${why !== undefined && html` — <span class="why">“${why}”</span>`}${check && html` ${verdict(check)}`}`;
}

function chosen(routes: Dossier["routes"], anchors: Anchors): Html {
  if (routes.total === 0) return html``;
  const rows = items(
    routes,
    (route) =>
      html`<tr><th scope="row">${route.selector}</th><td>${route.chosen ?? "none"}</td><td>${route.candidates.map(({ name, score }) => html`${name}${score !== undefined && ` (${rounded(score)})`} `)}</td><td class="words">${inline(route.why)}</td><td>${route.chooser}</td><td>${anchors.id(route.facts[0] ?? "")}</td></tr>`,
    leftOut(6),
  );
  return html`<p class="label">Choices of selectors</p>${table("Choices of selectors", ["Selector", "Chosen", "Among", "Why", "By", "Fact"].map(column), rows)}`;
}
