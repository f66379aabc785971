import { type Fact, typeOf } from "../../session/index.js";
import type { Recorded, Store } from "../../store/index.js";
import type { Answer } from "./answer.js";
import { tellCall } from "./call.js";
import { stepOf, stepWords } from "./step.js";
import { Telling } from "./telling.js";
import { deedOf, many } from "./words.js";

/** So many facts of one step are told. */
const TOLD = 50;

/** What happened at a step: who called what, who wanted it, on whose word it was done, and everything that came of it. */
export async function whatStep(store: Store, ref: string, step: string | number): Promise<Answer> {
  const telling = new Telling(store, `What happened at step ${step} of ${ref}?`);
  const { reader } = telling;
  const head = await store.resolve(ref);
  const found = await stepOf(reader, head, step);
  const about: Recorded[] = [];
  let more = 0;
  const mark = `"of":"${found.id}"`;
  search: for await (const lines of store.lines(head))
    for (const { id, line } of lines) {
      if (!line.includes(mark) || DECIDED.has(typeOf(line))) continue;
      const one = await reader.read(id, line);
      if ((one.fact as { readonly of?: unknown }).of !== found.id) continue;
      if (about.length < TOLD) about.push(one);
      else more += 1;
      // What came of a call stands before its outcome.
      if (isOutcome(one.fact)) break search;
    }
  const erasures = await reader.erasures();
  const { fact } = found;
  telling.claim(
    `${stepWords(found)[0]?.toUpperCase()}${stepWords(found).slice(1)}: ${fact.by} ${deedOf(fact, erasures, 300)} at ${fact.at}.`,
    found.id,
  );
  const outcome = about.findLast(({ fact: one }) => isOutcome(one));
  const last = outcome ?? about.at(-1);
  if (fact.type !== "model-call" && last !== undefined)
    await tellCall(telling, { ...last.fact, of: found.id } as Fact, last.id);
  for (const { id, fact: one } of about)
    telling.claim(`${one.by} ${deedOf(one, erasures, 300)} at ${one.at}.`, id);
  if (more > 0) telling.gap(`${many(more, "more fact")} of this step are not told here.`);
  if (outcome === undefined) telling.gap("The record does not say how it ended.");
  return telling.done({ step: found.id, ...(found.number !== undefined && { number: found.number }) });
}

/** What is told with the call itself. */
const DECIDED: ReadonlySet<string> = new Set(["policy-decide", "approval-ask", "effect-start"]);

function isOutcome({ type }: Fact): boolean {
  return /-(?:result|reply|failure)$/.test(type);
}
