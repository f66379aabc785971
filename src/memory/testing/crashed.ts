import { type Module, openRath, type Rath } from "../../runtime/index.js";
import { fragile } from "../../runtime/testing/fragile.js";
import { openStore, type Store } from "../../store/index.js";
import { workflow } from "../../workflow/index.js";
import { groundsOf, type MemorySpace, memory } from "../index.js";

/** A run that remembers two things and recalls one, killed at save number `at` and gone on with. */
export async function crashed(at: number): Promise<{
  readonly store: Store;
  readonly rath: Rath;
  readonly module: Module & { readonly notes: MemorySpace };
  /** Whether it came to its end before it was to be killed. */
  readonly over: boolean;
}> {
  const store = await openStore("memory:");
  const notes = memory({ name: "notes", scope: "project:rath" });
  const body = workflow("remember", async (session) => {
    const { session: once } = await notes.write(session, {
      text: "The first thing.",
      because: groundsOf(session),
      source: "human-correction",
      by: "user:ada",
    });
    const { session: told } = await notes.recall(once, "the first thing");
    const { session: twice } = await notes.write(told, {
      text: "A second matter, unlike it.",
      because: groundsOf(told),
      source: "reflection",
      by: "agent:a",
    });
    return twice;
  });
  const module = Object.freeze({ ...body, notes });
  const dying = fragile(store, at);
  const first = openRath({ store: dying });
  const begun = first.run(module, first.start("go", { by: "user:ada" }), { name: "n" });
  const over = await Promise.race([
    begun.then(
      () => true,
      () => false,
    ),
    dying.died.then(() => false),
  ]);
  const rath = openRath({ store: fragile(store) });
  const known = (await store.names()).some(({ name }) => name === "n");
  if (!over)
    await (known
      ? rath.resume("n", module)
      : rath.run(module, rath.start("go", { by: "user:ada" }), { name: "n" }));
  return { store, rath, module, over };
}
