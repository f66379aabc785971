import { dueOf } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { factAt, nameOf, unfinishedRuns } from "./recorded.js";

/** A run that has not ended. */
export type Unfinished = {
  readonly run: string;
  readonly name: string;
  /** The name of the module that began it. */
  readonly module: string;
  /** Whether it waits for somebody or something; otherwise it is under way in some process, or was cut off. */
  readonly waiting: boolean;
  /** When the first timer is due that it waits for, or the first time to agree is up. */
  readonly due?: string;
};

/** Every run that has not ended, and whether it waits. */
export async function unfinishedIn(store: Store): Promise<readonly Unfinished[]> {
  const found: Unfinished[] = [];
  for await (const { fact } of unfinishedRuns(store)) {
    const name = nameOf({ nonce: fact.nonce, fact });
    found.push({ run: fact.nonce, name, module: fact.module, ...(await waitingOf(store, name)) });
  }
  return found;
}

/** Whether a run waits, and until when at least. */
async function waitingOf(store: Store, name: string): Promise<Pick<Unfinished, "waiting" | "due">> {
  const head = await store.head(name);
  const newest = head === undefined ? undefined : await factAt(store, head);
  if (newest?.type !== "run-suspend") return { waiting: false };
  const timers: string[] = [];
  for (const id of newest.waiting) {
    const fact = await factAt(store, id);
    if (fact?.type === "timer-set") timers.push(dueOf(fact));
    if (fact?.type === "approval-ask" && fact.expires !== undefined) timers.push(fact.expires);
  }
  const [due] = timers.sort();
  return { waiting: true, ...(due !== undefined && { due }) };
}
