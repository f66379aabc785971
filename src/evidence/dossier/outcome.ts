import { statusOf } from "../../runtime/index.js";
import { type FactId, goesOnFrom, RathError, type Session } from "../../session/index.js";
import type { Listed, Outcome, Task } from "./dossier.js";
import { brief } from "./saying.js";
import { type Seen, timeOf } from "./seen.js";
import { errorOf } from "./tools.js";
import type { Words } from "./words.js";

/** What the session was to do: the first words of a person, or where it came from. */
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
    else if (fact.type === "memory-space")
      this.#second ??= this.#task(id, fact, `What is remembered in ${fact.space}`);
    else if (fact.type === "record-import") this.#second ??= this.#task(id, fact, fact.source);
    else if (fact.type === "run-start") this.#second ??= this.#task(id, fact, `${fact.module}`);
  }

  get task(): Task {
    return (
      this.#found ?? this.#second ?? { text: this.#words.tell("The record says of no task."), facts: [] }
    );
  }

  #task(id: FactId, { by, at }: Seen["fact"], words: unknown): Task {
    const time = timeOf(at);
    const told = this.#words.content(words) ?? this.#words.tell(words);
    return { text: told, facts: [id], by, ...(time !== undefined && { at: time }) };
  }
}

const PENDING = 50;

/** How it came out, as the head says. */
export function outcomeOf(
  head: Session,
  words: Words,
  times: { readonly began?: string; readonly ended?: string },
): Outcome {
  const status = attempt(() => statusOf(head)) ?? "open";
  const answer = attempt(() => answerOf(head));
  const answered = answer && words.content(answer.content);
  const end = endOf(head);
  const error =
    end?.fact.type === "run-end" && end.fact.error !== undefined ? errorOf(end.fact.error, words) : undefined;
  return {
    status,
    ...(answered !== undefined && { answer: answered }),
    ...(error !== undefined && { error }),
    branch: attempt(() => head.branch) ?? "main",
    ...(times.began !== undefined && { began: times.began }),
    ...(times.ended !== undefined && { ended: times.ended }),
    pending: pendingIn(head),
    facts: [...(answer === undefined ? [] : [answer.id]), ...(end === undefined ? [] : [end.id])],
  };
}

function pendingIn(head: Session): Listed<Outcome["pending"]["items"][number]> {
  const pending = attempt(() => head.pending) ?? [];
  const items = pending.slice(0, PENDING).map(({ id, type, what, doubt }) => ({
    id,
    type,
    what: brief(what),
    ...(doubt !== undefined && { doubt }),
  }));
  return { items, total: pending.length, ...(items.length < pending.length && { gap: items.length }) };
}

/** What was said last on the way that was adopted. */
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

/** The end of the run that the head stands at; what is said about the record afterwards is passed over. */
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
