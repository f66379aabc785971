import { digestOf } from "../../../session/index.js";
import type { Store } from "../../../store/index.js";
import type { Answer } from "../index.js";

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
