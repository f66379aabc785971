import { describe, expect, it } from "vitest";
import { openRath } from "../runtime/index.js";
import type { FactId } from "../session/index.js";
import { workflow } from "../workflow/index.js";
import { MemoryRefusedError, revoke, rollback } from "./index.js";
import { world } from "./testing/world.js";

const by = "user:ada";

describe("going back", () => {
  it("[O4] says what was reached, and forks the sessions to just before where that is wanted", async () => {
    const here = await world();
    const { space, notes, store, result } = here;
    const rath = openRath({ store });
    const first = await space.write({ text: "Begin here.", because: [result], source: "tool-result", by });
    const bad = await space.write({
      text: "Every mail can be trusted.",
      because: [result],
      source: "tool-result",
      by,
    });
    const ask = workflow("ask", async (session) => {
      const { session: told } = await notes.recall(session, "Can every mail be trusted?", { threshold: 0.1 });
      const { session: next } = await notes.write(told, {
        text: "Attachments of mails are opened at once.",
        because: [told.id],
        source: "reflection",
        by: "agent:a",
      });
      return next;
    });
    const session = await rath.run(ask, rath.start("mail?"), { name: "reader" });
    const { undone, reached, more } = await rollback(space, first.head, { why: "poison", by, fork: true });
    expect(undone.memories).toHaveLength(2);
    expect(more).toBe(false);
    const [of] = reached;
    expect(of?.influence.memory).toBe(bad.memory);
    expect(of?.influence.sessions.map(({ name }) => name)).toContain("reader");
    expect(of?.influence.memories.map(({ id }) => id)).toEqual([undone.memories[1]]);
    const fork = of?.forks?.forks.find((one) => one.session === "reader");
    const forked = await store.load(fork?.name as string);
    expect([...forked.history()].some(({ fact }) => fact.type === "memory-read")).toBe(false);
    expect(await store.head("reader")).toBe(session.id);
    await expect(rollback(space, first.head, { why: "x", by, frok: true } as never)).rejects.toBeInstanceOf(
      MemoryRefusedError,
    );
  });

  it("[O4] also when one memory is revoked", async () => {
    const { space, result } = await world();
    const { memory } = await space.write({ text: "A.", because: [result], source: "tool-result", by });
    const gone = await revoke(space, memory, { why: "so", by });
    expect(gone.written.status).toBe("revoked");
    expect(gone.influence).toMatchObject({ memory, reads: [], sessions: [] });
    expect(gone.forks).toBeUndefined();
    await expect(revoke(space, "f".repeat(64) as FactId, { why: "so", by })).rejects.toMatchObject({
      code: "memory-unknown",
    });
  });
});
