import type { Fact, FactId, Json, Principal } from "../../session/index.js";
import { agentIn, isPrincipal, PRINCIPAL_KINDS, readFact, typeOf } from "../../session/index.js";
import { isKeptByRuntime, type Store } from "../../store/index.js";
import { isObject, nearestOf, optionNames } from "../../util/index.js";
import { type Answer, Telling } from "./answer.js";
import { AuditError, requireOptions } from "./error.js";
import { Earliest } from "./time.js";
import { are, many, row } from "./words.js";

export type WhatDidOptions = {
  /** How many deeds are told, earliest first. Default 100. */
  readonly limit?: number;
  /** Only in these sessions. Default: all of the store. */
  readonly names?: readonly string[];
};

type Deed = {
  readonly time: number;
  readonly id: FactId;
  readonly line: string;
  readonly how: How;
  readonly session: string;
};
type How = "by" | "as" | "for" | "asked";

const KNOWN = optionNames<WhatDidOptions>()("limit names");

/** The facts by a principal, in their name or on their behalf, and the questions to them, across all sessions of a store. */
export async function whatDid(
  store: Store,
  principal: string,
  options: WhatDidOptions = {},
  stretch?: string,
): Promise<Answer> {
  requireOptions(options, KNOWN, "ask what somebody did");
  const { limit = 100, names } = options;
  if (!isPrincipal(principal)) throw notAPrincipal(principal);
  const telling = await Telling.open(store, `What did ${principal} do?`);
  // Most lines do not have the name in them at all, and need not be read.
  const word = JSON.stringify(agentIn(principal) ?? principal);
  const deeds = new Earliest<Deed>(limit);
  const counts = new Map<How, Map<string, number>>();
  const first = new Map<How, FactId>();
  const sessions = new Map<string, number>();
  const others = new Set<string>();
  const heads: FactId[] = [];
  let facts = 0;
  for (const session of await namesIn(store, names)) {
    for await (const lines of store.lines(session.id, { without: heads }))
      for (const { id, line } of lines) {
        facts += 1;
        const by = BY.exec(line)?.[2] ?? readFact(line, undefined).by;
        others.add(by);
        let how: How | undefined;
        if (by === principal) how = "by";
        else if (EDITED_OUTSIDE.test(line))
          how = howOf(principal, (await telling.reader.read(id, line)).fact);
        else if (line.includes(word)) how = howOf(principal, readFact(line, undefined));
        if (how === undefined) continue;
        const type = typeOf(line);
        const types = counts.get(how) ?? counts.set(how, new Map()).get(how);
        types?.set(type, (types.get(type) ?? 0) + 1);
        if (!first.has(how)) first.set(how, id);
        sessions.set(session.name, (sessions.get(session.name) ?? 0) + 1);
        deeds.add({ time: Date.parse(timeIn(line)) || 0, id, line, how, session: session.name });
      }
    heads.push(session.id);
  }
  const [head] = heads;
  if (head === undefined) {
    telling.gap`This store has no sessions, so nobody did anything in it.`;
    return telling.done();
  }
  if (deeds.count === 0 && stretch !== undefined) return telling.done();
  if (deeds.count === 0) throw unknownPrincipal(principal, others, facts);
  tellCounts(telling, principal, counts, first, sessions);
  for (const { id, line, how, session } of deeds.values) {
    const { fact } = await telling.reader.read(id, line);
    telling.claim`${[id]} ${SENTENCES[how](principal, fact)} ${telling.deed(fact)}, in ${session}.`;
  }
  telling.left(deeds.more, "more deed", `${are(deeds.more)} counted and not told here.`);
  telling.gap`\`by\` is a claim of the writer of the line: the record proves that it was not changed since, not who sat there.`;
  return telling.done({
    sessions: Object.fromEntries(sessions),
    counts: Object.fromEntries([...counts].map(([how, types]) => [how, Object.fromEntries(types)])),
  } as Json);
}

const SENTENCES: { readonly [how in How]: (principal: string, fact: Fact) => string } = {
  by: (principal, { at }) => `At ${at}, ${principal}`,
  as: (principal, { at, by }) => `At ${at}, for ${principal}, ${by}`,
  for: (principal, { at, by }) => `At ${at}, about something on behalf of ${principal}, ${by}`,
  asked: (principal, { at, by }) => `At ${at}, ${principal} being among those who were asked, ${by}`,
};

function tellCounts(
  telling: Telling,
  principal: string,
  counts: ReadonlyMap<How, ReadonlyMap<string, number>>,
  first: ReadonlyMap<How, FactId>,
  sessions: ReadonlyMap<string, number>,
): void {
  const words: { readonly [how in How]: string } = {
    by: `${principal} is on the record`,
    as: `Models and tools acted for ${principal}`,
    for: `Policies decided on behalf of ${principal}`,
    asked: `${principal} was asked`,
  };
  for (const [how, types] of counts) {
    const total = [...types.values()].reduce((sum, one) => sum + one, 0);
    const listed = [...types]
      .sort(([, one], [, other]) => other - one)
      .map(([type, count]) => `${type} ${count}`);
    telling.claim`${[first.get(how) as FactId]} ${words[how]} ${many(total, "time")}: ${row(listed)}.`;
  }
  const named = [...sessions].map(([name, count]) => `${name} (${count})`);
  telling.claim`${[[...first.values()][0] as FactId]} They stand in ${many(sessions.size, "session")}: ${row(named.slice(0, 20))}${named.length > 20 ? ` and ${named.length - 20} more` : ""}.`;
}

/** In which way a fact by somebody else has to do with a principal. */
function howOf(principal: Principal, told: Fact): How | undefined {
  const agent = agentIn(principal);
  const { agent: author, for: behalf, to, edited } = told as Fact & { readonly [field: string]: unknown };
  if (agent !== undefined && author === agent) return "as";
  if (isAmong(behalf, principal)) return "for";
  if (told.type === "approval-ask" && isAmong(to, principal)) return "asked";
  return isObject(edited) && edited.by === principal ? "as" : undefined;
}

function isAmong(list: unknown, principal: Principal): boolean {
  return Array.isArray(list) && list.includes(principal);
}

/** The author of changed arguments stands beside them, and they may be in a blob. */
const EDITED_OUTSIDE = /"edited":\{"digest":"[0-9a-f]{64}","size":/;
const BY = /"fact":\{"type":"[^"\\]*","at":"([^"\\]*)"(?:,"run":"[^"\\]*")?(?:,"seq":\d+)?,"by":"([^"\\]*)"/;

function timeIn(line: string): string {
  return BY.exec(line)?.[1] ?? readFact(line, undefined).at;
}

/** The names to look in, those that people gave first: a fact is told under the first name that leads to it. */
export async function namesIn(store: Store, names: readonly string[] | undefined) {
  if (names !== undefined) {
    const found: { name: string; id: FactId }[] = [];
    for (const name of names) found.push({ name, id: await store.resolve(name) });
    return found;
  }
  const all = await store.names();
  return [...all].sort(
    (one, other) => Number(isKeptByRuntime(one.name)) - Number(isKeptByRuntime(other.name)),
  );
}

function notAPrincipal(given: string): AuditError {
  const text = String(given).slice(0, 80);
  const kind = nearestOf(text.split(":")[0] ?? "", PRINCIPAL_KINDS);
  return new AuditError(
    "question-refused",
    `${JSON.stringify(text)} names nobody who could have acted.`,
    kind === undefined || !text.includes(":")
      ? `say what kind: user:${text.replace(/[^\w.-]/g, "") || "ada"}, agent:coder, workflow:repair, tool:write, runtime or service`
      : `did you mean ${kind}:${text.slice(text.indexOf(":") + 1)}?`,
    { principal: text },
  );
}

function unknownPrincipal(principal: string, others: ReadonlySet<string>, facts: number): AuditError {
  const known = [...others].sort();
  const near =
    known.find((one) => one.toLowerCase() === principal.toLowerCase()) ?? nearestOf(principal, known);
  return new AuditError(
    "question-refused",
    `${principal} did nothing in the ${many(facts, "fact")} of these sessions.`,
    near === undefined
      ? `those who did are ${known.slice(0, 12).join(", ")}${known.length > 12 ? ", …" : ""}`
      : `did you mean ${near}?`,
    { principal },
  );
}
