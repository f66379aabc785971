import { setTimeout as pause } from "node:timers/promises";
import type { RunStream } from "../../../runtime/index.js";
import { FencedError } from "../../../store/index.js";
import type { UiDoor } from "./options.js";
import { catchUp, type RecordedAnswer } from "./record.js";

/** Milliseconds between two looks at what others record. */
const LOOK = 200;

/**
 * Goes on with the run of an answer. Until it is this request's to go on with, somebody else may be at it, in this process or
 * in another one: the answer is told what they record.
 *
 * @param go asks for the run; asked again after another process had it
 */
export async function takenOver(
  { rath, module }: UiDoor,
  name: string,
  answer: RecordedAnswer,
  go: () => RunStream,
): Promise<RunStream> {
  const store = await rath.store();
  let seen: string | undefined;
  const look = async (isStale: () => boolean): Promise<void> => {
    const head = await store.head(name);
    if (head === undefined || head === seen) return;
    const session = await rath.load(head);
    if (isStale()) return;
    seen = head;
    catchUp(answer, session, module.name);
  };
  for (;;) {
    const stream = go();
    let isTaken = false;
    const settled = stream.taken.then(
      (head) => {
        isTaken = true;
        return { head };
      },
      (error: unknown) => ({ error }),
    );
    const late = (): Promise<undefined> => pause(LOOK, undefined, { ref: false });
    let found = await Promise.race([settled, late()]);
    // Once the run is taken, the stream tells the rest.
    for (; found === undefined; found = await Promise.race([settled, late()])) await look(() => isTaken);
    if ("head" in found) {
      catchUp(answer, await rath.load(found.head), module.name);
      return stream;
    }
    if (!(found.error instanceof FencedError)) throw found.error;
    await look(() => false);
    await late();
  }
}
