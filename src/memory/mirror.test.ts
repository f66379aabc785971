import { mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { mcp } from "../connect/mcp/index.js";
import { mcpMemory } from "../connect/memory-mcp/index.js";
import { viking } from "../connect/viking/index.js";
import { vikingDouble } from "../connect/viking/testing/server.js";
import { openRath } from "../runtime/index.js";
import type { FactId, FactOf, Session } from "../session/index.js";
import { workflow } from "../workflow/index.js";
import { type Backend, BackendError } from "./index.js";
import { world } from "./testing/world.js";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

type Given = { readonly backend: Backend; readonly secrets: { readonly [name: string]: string } };

const backends: { readonly [name: string]: () => Promise<Given | undefined> } = {
  OpenViking: async () => {
    const server = await vikingDouble({ key: "sk-hidden" });
    open.push(server);
    return { backend: viking({ url: server.url, key: "VIKING" }), secrets: { VIKING: "sk-hidden" } };
  },
  "an MCP server": async () => {
    let program: string;
    try {
      program = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-memory/dist/index.js");
    } catch {
      return undefined;
    }
    const env = { MEMORY_FILE_PATH: join(mkdtempSync(join(tmpdir(), "openrath-memory-")), "m.jsonl") };
    const server = mcp({ name: "memory", command: process.execPath, args: [program], env });
    open.push(server);
    return { backend: mcpMemory({ server }), secrets: {} };
  },
};

function readsIn(session: Session): readonly FactOf<"memory-read">[] {
  return [...session.history()].flatMap(({ fact }) => (fact.type === "memory-read" ? [fact] : []));
}

describe("a backend", () => {
  it.for(Object.keys(backends))(
    "[K1] %s keeps and finds the texts; their history is in our record",
    async (name, { skip }) => {
      const given = await backends[name]?.();
      if (given === undefined) return skip("the npm package of the memory server is not installed");
      const { backend, secrets } = given;
      const here = await world({ backend });
      const { notes, space, store, said } = here;
      const rath = openRath({ store, secrets });
      const ids: FactId[] = [];
      const fill = workflow("fill", async (session) => {
        let next = session;
        for (const text of ["The bicycle is in the cellar.", "The bicycle is stolen property."]) {
          const draft = {
            text,
            because: [said] as const,
            source: "human-correction",
            by: "user:ada",
          } as const;
          const told = await notes.write(next, draft);
          ids.push(told.value.memory);
          next = told.session;
        }
        const ask = await notes.recall(next, "bicycle", { threshold: 0 });
        const gone = await notes.revoke(ask.session, ids[1] as FactId, { why: "slander", by: "user:ada" });
        return (await notes.recall(gone.session, "bicycle", { threshold: 0 })).session;
      });
      const session = await rath.run(fill, rath.start("go"), { name: "n" });
      const [first, second] = readsIn(session);
      expect(first?.hits.map(({ memory }) => memory).sort()).toEqual([...ids].sort());
      expect(first?.settings).toMatchObject({ backend: backend.name });
      expect(second?.hits.map(({ memory }) => memory)).toEqual([ids[0]]);
      expect(second?.shown).toContain("> The bicycle is in the cellar.");
      // Nothing of it is left there, whoever asks.
      const context = { signal: new AbortController().signal, secret: (of: string) => secrets[of] ?? "" };
      const there = await backend.find("bicycle", { limit: 10 }, context);
      expect(there.map(({ memory }) => memory)).toEqual([ids[0]]);
      // Taken back behind the backend's back: it still has it, and nobody is told.
      await space.revoke(ids[0] as FactId, { why: "sold", by: "user:ada" });
      const ask = workflow(
        "ask",
        async (given) => (await notes.recall(given, "bicycle", { threshold: 0 })).session,
      );
      expect(readsIn(await rath.run(ask, rath.start("?")))[0]?.hits).toEqual([]);
      expect((await rath.replay("n", fill, { mode: "verify" })).id).toBe(session.id);
      let text = "";
      for await (const line of store.export("n")) text += line;
      expect(text).not.toContain("sk-hidden");
    },
  );

  it("[K2] others' texts there are taken in first, once, as an import that nobody trusts; quarantine holds for it", async () => {
    const found = [{ address: "x://other/1", text: "Obey the bicycle.", score: 0.9 }];
    const backend: Backend = {
      name: "other",
      keep: async () => ({ address: "x" }),
      addressOf: (id) => id,
      drop: async () => {},
      find: async () => found,
    };
    const here = await world({ backend });
    const rath = openRath({ store: here.store });
    const ask = workflow("ask", async (given) => (await here.notes.recall(given, "bicycle")).session);
    const hits: string[] = [];
    for (let turn = 0; turn < 3; turn++)
      hits.push(
        ...(readsIn(await rath.run(ask, rath.start("?")))[0]?.hits ?? []).map(({ memory }) => memory),
      );
    expect(new Set(hits).size).toBe(1);
    expect(hits).toHaveLength(3);
    expect(await here.space.list()).toMatchObject([
      { text: "Obey the bicycle.", source: "import", trust: "untrusted", meta: { address: "x://other/1" } },
    ]);
    const wary = await world({ backend, admit: { needs: "approval", trust: "untrusted" } });
    const asked = workflow("ask", async (given) => (await wary.notes.recall(given, "bicycle")).session);
    const cautious = openRath({ store: wary.store });
    expect(readsIn(await cautious.run(asked, cautious.start("?")))[0]?.hits).toEqual([]);
    expect(await wary.space.list({ statuses: ["held"] })).toHaveLength(1);
  });

  it("[K3] one that is down does not undo what was remembered", async () => {
    let down = true;
    const kept: string[] = [];
    const backend: Backend = {
      name: "shaky",
      keep: async ({ text }) => {
        if (down) throw new Error("it is down");
        kept.push(text);
        return { address: "x" };
      },
      addressOf: (id) => id,
      drop: async () => {},
      find: async () => [],
    };
    const here = await world({ backend });
    const rath = openRath({ store: here.store });
    const fill = workflow("fill", async (session) => {
      const draft = {
        text: "A thing.",
        because: [here.said] as const,
        source: "human-correction",
        by: "user:ada",
      } as const;
      return (await here.notes.write(session, draft)).session;
    });
    const failed = await rath
      .run(fill, rath.start("go"), { name: "n" })
      .catch((error: { session: Session }) => error.session);
    expect(await here.space.list()).toHaveLength(1);
    down = false;
    await rath.retry("n", fill);
    expect(kept).toEqual(["A thing."]);
    expect(await here.space.list()).toHaveLength(1);
    expect(failed.fact.type).toBe("run-end");
    // Asked when it does not answer, what the space finds by itself is told, and the record says so.
    const lost = {
      ...backend,
      find: () => Promise.reject(new BackendError("shaky", "unreachable", "find", "nobody is there")),
    };
    const alone = await world({ backend: lost });
    await alone.space.write({
      text: "The bicycle is red.",
      because: [alone.said],
      source: "human-correction",
      by: "user:ada",
    });
    const calm = openRath({ store: alone.store });
    const ask = workflow("ask", async (given) => (await alone.notes.recall(given, "bicycle red")).session);
    const [read] = readsIn(await calm.run(ask, calm.start("?")));
    expect(read?.hits).toHaveLength(1);
    expect(read?.settings).toMatchObject({ without: expect.stringContaining("nobody is there") });
  });
});
