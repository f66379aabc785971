import { answerName, type Recorded as Run, recordedRun } from "../../runtime/index.js";
import { type FactId, factTypes, typeOf } from "../../session/index.js";
import type { Recorded, Store } from "../../store/index.js";
import { optionNames } from "../../util/index.js";
import { type Answer, Telling } from "./answer.js";
import { type Said, tellAsk, tellUse } from "./call.js";
import { requireOptions } from "./error.js";
import type { Reader } from "./reader.js";
import { short, were } from "./words.js";

export type ApprovalsOptions = {
  /** How many questions, and how many uses of standing approvals, are told, oldest first. Default 100. */
  readonly limit?: number;
};

/** One question, and what became of it. */
type Asked = {
  readonly ask: Said<"approval-ask">;
  readonly gives: Said<"approval-give">[];
  cancel?: Said<"wait-cancel">;
};

const KNOWN = optionNames<ApprovalsOptions>()("limit");

/**
 * Approvals: every question with the digest of its text checked, every answer, unanswered questions, and
 * every call under a standing approval.
 */
export async function whoApproved(
  store: Store,
  ref: string,
  options: ApprovalsOptions = {},
  stretch?: string,
): Promise<Answer> {
  requireOptions(options, KNOWN, "ask who approved what");
  const { limit = 100 } = options;
  const telling = await Telling.open(store, `Who approved what in ${ref}, and what were they shown?`);
  const { reader } = telling;
  const head = await store.resolve(ref);
  const asked = new Map<FactId, Asked>();
  const uses: Said<"approval-use">[] = [];
  let more = 0;
  let moreUses = 0;
  for await (const found of approvalFacts(reader, head)) {
    const { id, fact } = found;
    if (fact.type === "approval-ask") {
      if (asked.size < limit) asked.set(id, { ask: { id, fact }, gives: [] });
      else more += 1;
    } else if (fact.type === "approval-use") {
      if (uses.length < limit) uses.push({ id, fact });
      else moreUses += 1;
    } else if (fact.type === "approval-give") asked.get(fact.of)?.gives.push({ id, fact });
    else if (fact.type === "wait-cancel") {
      const one = asked.get(fact.of);
      if (one !== undefined) one.cancel = { id, fact };
    }
  }
  // Looked for on the whole way back, so only where an answer may lie beside the record.
  const isOpen = [...asked.values()].some(({ gives, cancel }) => gives.length === 0 && cancel === undefined);
  const run = isOpen ? await recordedRun(store, head) : undefined;
  if (asked.size === 0 && stretch === undefined)
    telling.claim`${[head]} Nobody was asked to approve anything up to ${short(head)}.`;
  for (const one of asked.values()) await tellAsked(telling, one, run);
  for (const use of uses) await tellUse(telling, use);
  telling.left(more, "more question", `${were(more)} asked and not told here.`);
  telling.left(moreUses, "more use", `of standing approvals ${were(moreUses)} recorded and not told here.`);
  return telling.done({ questions: asked.size + more });
}

async function tellAsked(telling: Telling, { ask, gives, cancel }: Asked, run: Run | undefined) {
  const { of, expires } = ask.fact;
  const call = of === undefined ? undefined : await telling.reader.fact(of);
  if (call !== undefined)
    telling.claim`${[call.id, ask.id]} ${call.fact.by} wanted to call ${telling.plain((call.fact as { name?: string }).name ?? call.fact.type)} (${short(call.id)}).`;
  const waiting =
    gives.length > 0 || cancel !== undefined ? undefined : await answerTo(telling.reader, ask, run);
  tellAsk(telling, ask, waiting === undefined ? gives : [waiting]);
  if (waiting !== undefined)
    telling.claim`${[waiting.id, ask.id]} The run has not taken that answer in yet: it does when it is resumed.`;
  if (gives.length > 0 || waiting !== undefined) return;
  if (cancel === undefined) {
    telling.claim`${[ask.id]} Nobody has answered it${expires === undefined ? "" : `; it can be answered until ${telling.plain(expires)}`}.`;
  } else if (cancel.fact.late === true)
    telling.claim`${[cancel.id, ask.id]} Nobody answered in time: it expired at ${cancel.fact.at}.`;
  else
    telling.claim`${[cancel.id, ask.id]} It was withdrawn at ${cancel.fact.at}${telling.because(cancel.fact.why)}.`;
}

/** An answer lies beside the record until the run takes it in. Runs and what-ifs that wait for the same have each their own. */
async function answerTo(reader: Reader, ask: Said<"approval-ask">, run: Run | undefined) {
  const nonce = run?.fact.from === undefined ? ask.fact.run : run.nonce;
  const lies = nonce === undefined ? undefined : await reader.store.head(answerName(nonce, ask.id));
  const found = lies === undefined ? undefined : await reader.fact(lies);
  // Closing a question puts something else there, so that no answer can come later.
  return found?.fact.type === "approval-give" && found.fact.of === ask.id
    ? { id: found.id, fact: found.fact }
    : undefined;
}

const TYPES: ReadonlySet<string> = factTypes("approval-ask approval-give approval-use wait-cancel");

async function* approvalFacts(reader: Reader, head: FactId): AsyncGenerator<Recorded> {
  for await (const lines of reader.store.lines(head))
    for (const { id, line } of lines) if (TYPES.has(typeOf(line))) yield reader.read(id, line);
}
