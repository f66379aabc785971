import { statusOf } from "../../runtime/index.js";
import type { FactId, Pending, Session } from "../../session/index.js";
import { costText, goesOnFrom, RathError } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { reason } from "./branches.js";
import type { Dossier } from "./dossier.js";
import { fateWord } from "./graph.js";
import { type Html, html, type Piece } from "./html/html.js";
import { type Anchors, count, gone, lasting, type Section, told, when } from "./html/words.js";
import { firstOf, type Seen, timeOf } from "./item.js";
import { errorOf } from "./tools.js";
import { brief, type Listed, type Told, type Words } from "./words.js";

export type Task = {
  readonly text: Told;
  readonly facts: readonly FactId[];
  readonly by?: string;
  readonly at?: string;
};

export type Outcome = ReturnType<typeof outcomeOf>;

/** The task of the session: the first words of a person, or where it came from. */
export class TaskFinder {
  readonly #words: Words;
  #found: Task | undefined;
  #second: Task | undefined;

  constructor(words: Words) {
    this.#words = words;
  }

  see({ id, fact, elsewhere }: Seen): void {
    if (elsewhere || this.#found !== undefined) return;
    if (fact.type === "session-start" && fact.text !== undefined)
      this.#found = this.#task(id, fact, fact.text);
    else if (fact.type === "message-say" && fact.role === "user")
      this.#found = this.#task(id, fact, fact.content);
    else if (fact.type === "memory-space") this.#second ??= this.#task(id, fact, `Memories of ${fact.space}`);
    else if (fact.type === "record-import") this.#second ??= this.#task(id, fact, fact.source);
    else if (fact.type === "run-start") this.#second ??= this.#task(id, fact, `${fact.module}`);
  }

  get task(): Task {
    return (
      this.#found ?? this.#second ?? { text: this.#words.tell("The record says of no task."), facts: [] }
    );
  }

  #task(id: FactId, { by, at }: Seen["fact"], words: unknown): Task {
    const told = this.#words.content(words) ?? this.#words.tell(words);
    return { text: told, facts: [id], by, ...defined({ at: timeOf(at) }) };
  }
}

const PENDING = 50;

/** How it came out, as the head says: on which branch the result stands, and which requests are pending. */
export function outcomeOf(
  head: Session,
  words: Words,
  times: { readonly began: string | undefined; readonly ended: string | undefined },
) {
  const status = attempt(() => statusOf(head)) ?? "open";
  const answer = attempt(() => answerOf(head));
  const end = endOf(head);
  const error =
    end?.fact.type === "run-end" && end.fact.error !== undefined ? errorOf(end.fact.error, words) : undefined;
  return {
    status,
    ...defined({ answer: answer && words.content(answer.content), error }),
    branch: attempt(() => head.branch) ?? "main",
    ...defined({ began: times.began, ended: times.ended }),
    pending: pendingIn(head),
    facts: [...(answer === undefined ? [] : [answer.id]), ...(end === undefined ? [] : [end.id])],
  };
}

function pendingIn(head: Session): Listed<Pending> {
  const { items, ...rest } = firstOf(attempt(() => head.pending) ?? [], PENDING);
  const shown = items.map(({ id, type, what, doubt }) => ({
    id,
    type,
    what: brief(what),
    ...defined({ doubt }),
  }));
  return { items: shown, ...rest };
}

/** The last words on the adopted way. */
function answerOf(head: Session): { readonly id: FactId; readonly content: unknown } | undefined {
  for (let node: Session | undefined = head; node !== undefined; node = before(node)) {
    const { fact } = node;
    if (fact.type === "model-reply" && hasWords(fact.content)) return { id: node.id, content: fact.content };
    if (fact.type === "message-say" && fact.role === "assistant")
      return { id: node.id, content: fact.content };
  }
  return undefined;
}

function hasWords(content: unknown): boolean {
  return (
    !Array.isArray(content) || content.some((part) => part?.type === "text" || part?.type === "withheld")
  );
}

function before(node: Session): Session | undefined {
  return node.atHorizon ? undefined : goesOnFrom(node);
}

/** The end of the run that the head stands at; later facts about the record are passed over. */
function endOf(head: Session): Session | undefined {
  let node: Session | undefined = head;
  while (node !== undefined && (node.fact.type === "head-sign" || node.fact.type === "content-erase"))
    node = before(node);
  return node?.fact.type === "run-end" || node?.fact.type === "run-suspend" ? node : undefined;
}

/** Views of a long session may lie beyond what is loaded; then the dossier goes without. */
function attempt<Value>(ask: () => Value): Value | undefined {
  try {
    return ask();
  } catch (error) {
    if (error instanceof RathError) return undefined;
    throw error;
  }
}

const STATUS: { readonly [status in Dossier["outcome"]["status"]]: readonly [words: string, tone: string] } =
  {
    finished: ["Finished", "good"],
    failed: ["Failed", "bad"],
    cancelled: ["Cancelled", "warn"],
    waiting: ["Waiting", "warn"],
    open: ["Open", "soft"],
  };

/** The questions that come first: the task, its outcome, what was turned down, the cost, the proof. */
export const summarySection: Section = {
  id: "summary",
  title: "Outcome",
  body: (dossier, anchors) => {
    const { outcome, proof } = dossier;
    const [words, tone] = STATUS[outcome.status];
    return html`<p><span class="status ${tone}">${words}</span> <span class="soft">${outcomeLine(dossier)}</span></p>
${answer(outcome.answer)}${outcome.error !== undefined && told(outcome.error, "It ended with")}${pending(dossier, anchors)}
${figures(dossier)}${rejected(dossier, anchors)}
<p class="label">Proof</p><p class="small">The head <a class="hash" href="#proof">${proof.head}</a> covers every fact above it; each was held against its id when this was made.${
      proof.signatures.total > 0 &&
      ` ${count(proof.signatures.total, "signature")} of heads ${proof.signatures.total === 1 ? "is" : "are"} in the record; rath verify checks them.`
    }</p>
${dossier.notes.map((note) => html`<p class="small warn">Note: ${note}.</p>`)}`;
  },
};

function outcomeLine({ outcome, branches }: Dossier): Piece {
  const accepted = branches.items.find(({ name, fate }) => name === outcome.branch && fate === "accepted");
  const at = outcome.ended === undefined ? undefined : when(outcome.ended);
  const on =
    outcome.branch === "main"
      ? ""
      : accepted === undefined
        ? ` on ${outcome.branch}`
        : `, ${outcome.branch} accepted`;
  return html`${at ?? "no times are told"}${on}`;
}

function answer(text: Told | undefined): Html {
  if (text === undefined) return html``;
  if ("withheld" in text) return gone(text);
  // An answer of a few screens is one; a longer one is folded.
  if (text.text.length <= 1_500) return html`<div class="answer" dir="auto">${text.text}</div>`;
  return html`<div class="answer" dir="auto">${text.text.slice(0, 900)}…</div>${told(text, "The whole answer", "plain")}`;
}

function pending({ outcome }: Dossier, anchors: Anchors): Html {
  const { items, total } = outcome.pending;
  if (total === 0) return html``;
  return html`<p class="label">Waits for</p><ul>${items.map(
    ({ id, type, what, doubt }) =>
      html`<li>${what} <span class="soft">(${type}${doubt === true && ", in doubt"})</span> ${anchors.id(id)}</li>`,
  )}</ul>${total > items.length && html`<p class="more">${total - items.length} more in the bundle.</p>`}`;
}

function figures(dossier: Dossier): Html {
  const { counts, models, tools, patch, spending, outcome, commands, approvals } = dossier;
  const { total } = spending;
  const time =
    outcome.began === undefined || outcome.ended === undefined
      ? undefined
      : lasting(Date.parse(outcome.ended) - Date.parse(outcome.began));
  const shown = (count: number): string | undefined => (count === 0 ? undefined : count.toLocaleString("en"));
  const some = (count: number, words: string): string | undefined =>
    count > 0 ? words.replace("N", count.toLocaleString("en")) : undefined;
  const calls = [some(models.total - total.calls, "and N elsewhere"), some(tokens(total.usage), "N tokens")];
  const checks = counts.testsPassed + counts.testsFailed;
  const rows: readonly (readonly [string, string | undefined, (string | undefined)?])[] = [
    ["Facts", counts.facts.toLocaleString("en"), some(counts.elsewhere, "and N elsewhere")],
    ["Branches", counts.branches.toLocaleString("en"), some(counts.rejected, "N rejected")],
    [
      "Model calls",
      models.total === 0 ? undefined : total.calls.toLocaleString("en"),
      calls.filter(Boolean).join(", ") || undefined,
    ],
    [
      "Tool calls and steps",
      shown(tools.total),
      commands.total > 0 ? count(commands.total, "command") : undefined,
    ],
    [
      "Files in the patch",
      patch?.files.total.toLocaleString("en"),
      patch === null ? undefined : `+${patch.added} −${patch.removed} lines`,
    ],
    ["Checks", shown(checks), `${counts.testsPassed} passed, ${counts.testsFailed} did not`],
    ["Approvals", shown(approvals.total)],
    [
      "Cost",
      total.calls === 0 ? undefined : costText(total.cost),
      total.cost === null ? "some replies have no price" : undefined,
    ],
    ["Time", time],
  ];
  return html`<dl class="figures">${rows.map(
    ([name, value, more]) =>
      value !== undefined &&
      html`<div><dt>${name}</dt><dd>${value}${more !== undefined && html`<small>${more}</small>`}</dd></div>`,
  )}</dl>`;
}

function tokens({ input, output }: { readonly input: number; readonly output: number }): number {
  return input + output;
}

const SHOWN = 8;

/** Branches that were not taken, and why. */
function rejected({ branches }: Dossier, anchors: Anchors): Html {
  const list = branches.items.filter(
    ({ fate, elsewhere }) =>
      fate === "rejected" || fate === "left" || (fate === "open" && elsewhere === true),
  );
  if (list.length === 0) return html``;
  return html`<p class="label">Not taken, and why</p><ul class="reasons">${list
    .slice(0, SHOWN)
    .map(
      (branch) =>
        html`<li><b dir="auto">${branch.name}</b> <span class="soft">${fateWord(branch)}</span>${reason(branch)} ${anchors.id(branch.decided?.fact ?? branch.head)}</li>`,
    )}</ul>${
    list.length > SHOWN && html`<p class="more"><a href="#branches">All ${list.length} of them</a></p>`
  }`;
}
