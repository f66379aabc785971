import { type FactId, isPrincipal } from "../../session/index.js";
import type { Line, Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { catalogue } from "../catalogue/index.js";
import { type Answer, Telling } from "./answer.js";
import { whoApproved } from "./approval.js";
import { whatHappened } from "./between.js";
import { whatDid } from "./principal.js";
import type { QuestionOptions } from "./question.js";

/** So many facts one page of an answer is about, and so many pages of answers are looked at behind it. */
const FACTS = 1000;
const LOOKED_AT = 5;

export type AnswerPage = Answer & { readonly next: string | null };
export type StretchOptions = QuestionOptions & {
  /** Go on after a page: its `next`. */
  readonly after?: string;
};

const ASKS = {
  approvals: (store, session, { limit }, words) => whoApproved(store, session, defined({ limit }), words),
  between: (store, session, { from, to, all, limit }, words) =>
    whatHappened(store, session, defined({ from, to, all, limit }), words),
  by: (store, session, { principal = "", limit }, words) =>
    whatDid(store, principal, { ...defined({ limit }), names: [session] }, words),
} as const satisfies {
  readonly [question: string]: (
    store: Store,
    session: string,
    options: QuestionOptions,
    words: string,
  ) => Promise<Answer>;
};

/** The answer of a thousand facts of a session, in the order of its history. */
export async function askStretch(
  store: Store,
  question: keyof typeof ASKS,
  session: string,
  { after, limit = FACTS, ...options }: StretchOptions,
): Promise<AnswerPage> {
  const { items, next, count, head } = await store.facts(session, { ...defined({ after }), limit: FACTS });
  const [first, last] = [items[0], items.at(-1)];
  const words = `facts ${(first?.index ?? -1) + 1} to ${(last?.index ?? -1) + 1}`;
  const behind = question === "approvals" ? await answersBehind(store, head, items, next) : NONE;
  const lines = [...items, ...behind.lines].map(({ id, line }) => ({ id, line }));
  const answer = await ASKS[question](stretchOf(store, lines), session, { ...options, limit }, words);
  const gaps = [
    ...answer.gaps,
    ...(next === null ? [] : [`This is about ${words} of ${count}; \`next\` leads to the others.`]),
    ...(behind.isCut ? [`Answers that came much later than ${words} were not looked for.`] : []),
  ];
  return { ...answer, gaps, next };
}

const NONE = { lines: [] as readonly Line[], isCut: false };

/** The answers to requests of a stretch that were given behind it. */
async function answersBehind(store: Store, head: FactId, items: readonly Line[], next: string | null) {
  const open = new Set<string>();
  for (const { id, line } of items) {
    if (line.includes('"type":"approval-ask"')) open.add(id);
    const of = ABOUT.exec(line)?.[1];
    if (of !== undefined && GIVEN.some((type) => line.includes(`"type":"${type}"`))) open.delete(of);
  }
  const lines: Line[] = [];
  let after: string | null | undefined = next === null ? null : items.at(-1)?.id;
  for (let pages = 0; open.size > 0 && typeof after === "string" && pages < LOOKED_AT; pages++) {
    const page: Awaited<ReturnType<Store["facts"]>> = await store.facts(head, {
      after,
      type: GIVEN,
      limit: 200,
    });
    for (const one of page.items) if (open.delete(ABOUT.exec(one.line)?.[1] ?? "")) lines.push(one);
    after = page.next;
  }
  return { lines, isCut: open.size > 0 && typeof after === "string" };
}

const GIVEN = ["approval-give", "wait-cancel"] as const;
const ABOUT = /"of":"([0-9a-f]{64})"/;

/** A store whose history is these lines; everything else is as it is. */
function stretchOf(store: Store, lines: readonly Line[]): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === "lines")
        return async function* () {
          yield lines;
        };
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** The facts by a principal in the whole store, those found last first, a page at a time. */
export async function askEverywhere(
  store: Store,
  { principal = "", limit = 100, after }: StretchOptions,
): Promise<AnswerPage> {
  if (!isPrincipal(principal)) return { ...(await whatDid(store, principal)), next: null };
  const found = await catalogue(store).search({
    actor: principal,
    limit: Math.min(limit, 100),
    fresh: "soon",
    ...defined({ after }),
  });
  const telling = await Telling.open(store, `What did ${principal} do?`);
  for (const { id, at, name } of found.items) {
    const fact = (await telling.reader.fact(id))?.fact;
    if (fact !== undefined) telling.claim`${[id]} At ${at}, ${principal} ${telling.deed(fact)}, in ${name}.`;
  }
  telling.gap`Facts in their name by others, and questions to them, are told by this question about one session.`;
  if (found.indexing === true) telling.gap`Something that is new is not in the index yet.`;
  return { ...(await telling.done()), next: found.next };
}
