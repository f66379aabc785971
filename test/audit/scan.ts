import type { Fact, FactId } from "openrath";
import type { Answer } from "openrath/evidence";
import { digestOf } from "openrath/session";
import type { Recorded, Store } from "openrath/store";

/** All facts of some sessions, each once: what answers are compared with. */
export async function scan(store: Store, ...names: readonly string[]): Promise<readonly Recorded[]> {
  const all = names.length > 0 ? names : (await store.names()).map(({ name }) => name);
  const found = new Map<FactId, Recorded>();
  for (const name of all) for await (const one of store.history(name)) found.set(one.id, one);
  return [...found.values()];
}

export function ofType<Type extends Fact["type"]>(
  facts: readonly Recorded[],
  type: Type,
): readonly (Recorded & { readonly fact: Extract<Fact, { readonly type: Type }> })[] {
  return facts.filter(({ fact }) => fact.type === type) as never;
}

/** What is wrong with the form of an answer: nothing, if it keeps what every answer promises. */
export async function faultsOf(store: Store, answer: Answer): Promise<readonly string[]> {
  const faults: string[] = [];
  const told = new Set(answer.facts.map(({ id }) => id));
  if (answer.answer !== answer.claims.map(({ text }) => text).join(" "))
    faults.push("the answer is not its claims");
  for (const { text, facts } of answer.claims) {
    if (facts.length === 0) faults.push(`no fact proves: ${text}`);
    for (const id of facts) if (!told.has(id) && (await store.has(id))) faults.push(`not told: ${id}`);
    if (!/[.:]$/.test(text)) faults.push(`no sentence: ${text}`);
  }
  for (const { id, line, at, by, type } of answer.facts) {
    const kept = await store.line(id);
    if (kept === undefined) faults.push(`not in the store: ${id}`);
    else if (line !== undefined && (line !== kept || digestOf(line) !== id))
      faults.push(`not its line: ${id}`);
    else if (!kept?.includes(`"type":"${type}"`) || !kept.includes(at) || !kept.includes(by))
      faults.push(`not what the line says: ${id}`);
  }
  return faults;
}
