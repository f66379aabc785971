import { setTimeout as pause } from "node:timers/promises";
import type { Rath, RunStream } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import { FencedError } from "../../store/index.js";

/** Milliseconds between two looks at what others record. */
const LOOK = 200;

/**
 * Continues a run. As long as somebody else continues it, in this process or in another one, the record is read instead.
 *
 * @param go asks for the run, again and again while somebody else has it
 * @param look gets the newest session, before the stream tells the rest
 */
export async function takenOver(
  rath: Rath,
  name: string,
  go: () => RunStream,
  look: (session: Session) => void,
  signal?: AbortSignal,
): Promise<RunStream> {
  const store = await rath.store();
  let seen: string | undefined;
  const glance = async (isStale: () => boolean): Promise<void> => {
    const head = await store.head(name);
    if (head === undefined || head === seen) return;
    const session = await rath.load(head);
    if (isStale()) return;
    seen = head;
    look(session);
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
    for (; found === undefined; found = await Promise.race([settled, late()])) await glance(() => isTaken);
    if ("head" in found) {
      look(await rath.load(found.head));
      return stream;
    }
    if (!(found.error instanceof FencedError) || signal?.aborted === true) throw found.error;
    await glance(() => false);
    await late();
  }
}
