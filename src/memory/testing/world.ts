import { type FactId, Session } from "../../session/index.js";
import { openStore, type Store } from "../../store/index.js";
import { type MemoryOptions, type MemorySpace, memory, type Space } from "../index.js";

/** A store with one session in it, and the facts of that session by what they are. */
export type World = {
  readonly store: Store;
  readonly notes: MemorySpace;
  readonly space: Space;
  readonly said: FactId;
  readonly result: FactId;
  readonly failed: FactId;
  readonly passed: FactId;
  readonly replied: FactId;
  readonly session: Session;
};

export async function world(options: Partial<MemoryOptions> = {}, url = "memory:"): Promise<World> {
  const store = await openStore(url);
  const start = Session.start("Which port does the server use?", { by: "user:ada" });
  const call = start.append({ type: "tool-call", name: "grep", input: { pattern: "port" } });
  const result = call.append({ type: "tool-result", of: call.id, output: "port: 8080" });
  const failed = result.append({ type: "validation-report", name: "tests", passed: false, of: result.id });
  const passed = failed.append({ type: "validation-report", name: "tests", passed: true, of: result.id });
  const asked = passed.append({ type: "model-call", model: "m" });
  const usage = { input: 1, output: 1 };
  const replied = asked.append({ type: "model-reply", of: asked.id, content: "8080", finish: "stop", usage });
  await store.save(replied, { name: "work" });
  const notes = memory({ name: "notes", scope: "project:rath", ...options });
  return {
    store,
    notes,
    space: notes.open(store),
    said: start.id,
    result: result.id,
    failed: failed.id,
    passed: passed.id,
    replied: replied.id,
    session: replied,
  };
}
