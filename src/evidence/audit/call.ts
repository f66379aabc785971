import type { Fact, FactId, FactOf } from "../../session/index.js";
import { canonical, digestOf, parentsOf, typeOf, Withheld } from "../../session/index.js";
import { lineBefore, type Recorded } from "../../store/index.js";
import type { Telling } from "./answer.js";
import type { Reader } from "./reader.js";
import { row, short } from "./words.js";

export type Said<Type extends Fact["type"]> = { readonly id: FactId; readonly fact: FactOf<Type> };

/** How many facts behind a call are looked at for what was decided about it. */
const ABOUT = 1_000;

/** Everything that was decided about a call between it and the fact that came of it. */
async function decidedAbout(reader: Reader, call: FactId, outcome: FactId) {
  const decisions: Said<"policy-decide">[] = [];
  const asks: Said<"approval-ask">[] = [];
  const gives: Said<"approval-give">[] = [];
  const uses: Said<"approval-use">[] = [];
  const met = new Set([outcome]);
  for (const id of met) {
    if (met.size > ABOUT) break;
    if (id === call) continue;
    const line = await reader.store.line(id);
    if (line === undefined) continue;
    if (/^(?:policy-decide|approval-)/.test(typeOf(line))) {
      const { fact } = await reader.read(id, line);
      if (fact.type === "policy-decide" && fact.of === call) decisions.push({ id, fact });
      else if (fact.type === "approval-ask" && fact.of === call) asks.push({ id, fact });
      else if (fact.type === "approval-give") gives.push({ id, fact });
      else if (fact.type === "approval-use" && fact.of === call) uses.push({ id, fact });
    }
    for (const parent of parentsOf(line)) met.add(parent);
  }
  const asked = new Set(asks.map(({ id }) => id));
  return {
    decisions: decisions.reverse(),
    asks: asks.reverse(),
    gives: gives.reverse().filter(({ fact }) => asked.has(fact.of)),
    uses: uses.reverse(),
  };
}

/** Says which call a fact came of, who wanted it, and on whose word it was done. `outcome` is that fact's id. */
export async function tellCall(telling: Telling, fact: Fact, outcome: FactId): Promise<void> {
  const { reader } = telling;
  const of = (fact as { readonly of?: unknown }).of;
  const call = typeof of === "string" ? await reader.fact(of) : undefined;
  if (call === undefined) {
    if (typeof of === "string") telling.gap`The call ${short(of)} that did it is not in this store.`;
    return;
  }
  const { name, input } = call.fact as { readonly name?: string; readonly input?: unknown };
  telling.claim`${[call.id]} The call ${short(call.id)} did it: ${call.fact.by} called ${telling.plain(name ?? call.fact.type)}${input === undefined ? "" : ` with ${telling.plain(input, 200)}`}.`;
  await tellWanted(telling, call);
  const { decisions, asks, gives, uses } = await decidedAbout(reader, call.id, outcome);
  for (const { id, fact: decided } of decisions)
    telling.claim`${[id, call.id]} ${policiesOf(decided)} decided: ${decided.verdict}${rulesOf(decided)}${Array.isArray(decided.for) ? `, on behalf of ${row(decided.for)}` : ""}${telling.because(decided.why)}.`;
  for (const ask of asks)
    tellAsk(
      telling,
      ask,
      gives.filter(({ fact: give }) => give.of === ask.id),
    );
  for (const use of uses) await tellUse(telling, use);
  if (decisions.length === 0 && asks.length === 0 && uses.length === 0)
    telling.gap`The record has no decision of a policy and no approval about the call ${short(call.id)}.`;
}

/** Says what was asked and what was answered, and whether what was shown is what was agreed to. */
export function tellAsk(
  telling: Telling,
  { id, fact }: Said<"approval-ask">,
  gives: readonly Said<"approval-give">[],
): void {
  const { what, digest, to, rule, edited } = fact;
  const whom = to === undefined || !Array.isArray(to) || to.length === 0 ? "Anybody" : row(to);
  telling.claim`${[id]} ${whom} ${Array.isArray(to) && to.length > 1 ? "were" : "was"} asked at ${fact.at}${rule === undefined ? "" : ` by the rule ${telling.plain(rule)}`} and shown ${telling.quoted(what, 400)}.`;
  if (edited !== undefined && !((edited as unknown) instanceof Withheld))
    telling.claim`${[id]} It had been put in place of ${telling.quoted(edited.was)} by ${edited.by}.`;
  if ((what as unknown) instanceof Withheld)
    telling.gap`The content that ${short(id)} showed is not here, so its digest ${short(digest)} cannot be checked.`;
  else if (digestOf(canonical(what)) === digest)
    telling.claim`${[id]} The content shown has the digest ${short(digest)} that the question names.`;
  else telling.gap`The content of ${short(id)} does not have the digest that it names: it proves nothing.`;
  for (const give of gives) tellGive(telling, id, digest, give);
}

/** Says which standing approval a call relied on, who gave it and when. Nobody was asked about that call. */
export async function tellUse(telling: Telling, { id, fact }: Said<"approval-use">): Promise<void> {
  const { of, approval, from, rule } = fact;
  const given = await telling.reader.fact(approval);
  const asked = rule === undefined ? "" : `, in place of asking by the rule ${telling.plain(rule)}`;
  const use = `The call ${short(of)} relied at ${fact.at} on the standing approval ${short(approval)} of ${from}${asked}`;
  if (given?.fact.type !== "approval-give") {
    telling.claim`${[id, of]} ${use}.`;
    telling.gap`The standing approval ${short(approval)} is not in this store.`;
    return;
  }
  const { at, by, always, why } = given.fact;
  telling.claim`${[id, approval, of]} ${use}, which ${by} gave at ${at}${laterText(" for", always)}${telling.because(why)}.`;
}

function laterText(before: string, always: FactOf<"approval-give">["always"]): string {
  const calls = always === "tool" ? "call of the tool" : "call with these arguments";
  return always === undefined ? "" : `${before} every later ${calls} in this session`;
}

function tellGive(telling: Telling, ask: FactId, digest: string, { id, fact }: Said<"approval-give">): void {
  const why = telling.because(fact.why);
  const same = fact.digest === digest ? ", naming the digest of what was shown" : "";
  const verb =
    fact.decision === "reject"
      ? "rejected it"
      : fact.decision === "take-over"
        ? `took it over and gave ${telling.quoted(fact.value)} in place of the outcome`
        : fact.edit === undefined
          ? "agreed to exactly that"
          : `agreed to ${telling.quoted(fact.edit, 300)} in place of it`;
  telling.claim`${[id, ask]} ${fact.by} ${verb}${laterText(", and to", fact.always)} at ${fact.at}${same}${why}.`;
  if (same === "")
    telling.gap`The answer ${short(id)} names another digest than what was shown: it counts for nothing.`;
}

/** The reply of a model that asked for a call. */
async function tellWanted(telling: Telling, call: Recorded): Promise<void> {
  const { call: wanted } = call.fact as { readonly call?: unknown };
  if (typeof wanted !== "string") return;
  const { store } = telling.reader;
  let id = await lineBefore(store, call.id, call.line);
  // A reply may ask for several calls: they stand one after the other behind it.
  for (let steps = 0; id !== undefined && steps < 100; steps++) {
    const before = await telling.reader.fact(id);
    if (before?.fact.type === "model-reply") {
      const { content, agent, of } = before.fact;
      const asked =
        Array.isArray(content) && content.some((part) => part.type === "tool-call" && part.call === wanted);
      if (!asked) return;
      const request = typeof of === "string" ? await telling.reader.fact(of) : undefined;
      const model = request?.fact.type === "model-call" ? request.fact.model : before.fact.model;
      const named = model === undefined ? "" : ` ${telling.plain(model)}`;
      telling.claim`${[before.id, of]} The model${named} wanted it: its reply ${short(before.id)} to ${telling.plain(agent ?? "the caller")} asked for that call.`;
      return;
    }
    id = before && (await lineBefore(store, id, before.line));
  }
}

function policiesOf({ policies }: FactOf<"policy-decide">): string {
  if (!Array.isArray(policies)) return "A policy";
  const names = policies.map((one) => {
    const { name, version } = one as { readonly name?: string; readonly version?: string };
    return `${name ?? "?"}${version === undefined ? "" : ` (version ${version.slice(0, 12)})`}`;
  });
  return names.length === 1 ? `The policy ${names[0]}` : `The policies ${row(names)}`;
}

function rulesOf({ rules }: FactOf<"policy-decide">): string {
  return Array.isArray(rules) && rules.length > 0 ? ` by ${row(rules)}` : "";
}
