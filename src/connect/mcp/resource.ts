import { canonical, digestOf, type Json } from "../../session/index.js";
import { McpAnswerError } from "./error.js";
import type { Secrets } from "./http.js";
import { Aborted, timed } from "./limits.js";
import type { Link } from "./link.js";
import type { Version, Watch } from "./tools.js";

/** Gives a resource as soon as its digest is another than that of `after`, or as it is at `end`. */
export async function awaitChange(
  link: Link,
  { uri, after }: Watch,
  { server, secrets, end }: { readonly server: string; readonly secrets: Secrets; readonly end: number },
  signal: AbortSignal,
): Promise<Version> {
  if (!link.subscribes)
    throw new McpAnswerError(server, `the subscription to ${uri}`, "it does not tell of changes");
  let told = (): void => {};
  const watcher = (changed: string): void => {
    if (changed === uri) told();
  };
  link.watchers.add(watcher);
  // Heard first and read then: a change in between is not missed.
  const stop = await link.subscribe(uri);
  try {
    for (;;) {
      const update = new Promise<void>((resolve) => {
        told = resolve;
      });
      const { contents = null } = await link.ask("resources/read", { uri }, { signal });
      const kept = secrets.json(contents as Json);
      const digest = digestOf(canonical(kept));
      const left = end - performance.now();
      if (digest !== after || left <= 0)
        return { uri, digest, changed: after !== undefined && digest !== after, contents: kept };
      await sleep(left, signal, Promise.race([update, link.ended]));
    }
  } finally {
    link.watchers.delete(watcher);
    await stop();
  }
}

/** Waits, or until something happens. Fails with the reason of the signal. */
export async function sleep(
  milliseconds: number,
  signal: AbortSignal,
  until: Promise<void> = new Promise(() => {}),
): Promise<void> {
  const late = new Error("late");
  try {
    await timed(
      milliseconds,
      signal,
      () => until,
      () => late,
    );
  } catch (error) {
    if (error !== late) throw error instanceof Aborted ? error.reason : error;
  }
}
