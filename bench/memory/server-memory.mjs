// @ts-check
// The npm memory server of the Model Context Protocol as a peer: a process of its own, asked over its pipe.
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mcp } from "openrath/mcp";

const BATCH = 100;

/** @typedef {{ keep: (notes: readonly { id: string, text: string }[]) => Promise<void>, find: (query: string) => Promise<readonly string[]> }} Peer */

/**
 * @template {object} Figures
 * @param {(peer: Peer) => Promise<Figures>} measure
 * @returns {Promise<Figures | { server_memory: string }>}
 */
export async function withServerMemory(measure) {
  const require = createRequire(import.meta.url);
  let program;
  try {
    program = require.resolve("@modelcontextprotocol/server-memory/dist/index.js");
  } catch {
    return { server_memory: "not installed" };
  }
  const folder = mkdtempSync(join(tmpdir(), "openrath-bench-"));
  const env = { MEMORY_FILE_PATH: join(folder, "memory.jsonl") };
  const server = mcp({ name: "peer", command: process.execPath, args: [program], env });
  try {
    const tools = new Map((await server.tools()).map((one) => [one.name, one]));
    const call = async (/** @type {string} */ name, /** @type {object} */ input) => {
      const context = { signal: new AbortController().signal, emit: () => {} };
      return tools.get(`peer_${name}`)?.run(input, /** @type {any} */ (context));
    };
    return await measure({
      keep: async (notes) => {
        for (let from = 0; from < notes.length; from += BATCH)
          await call("create_entities", {
            entities: notes
              .slice(from, from + BATCH)
              .map(({ id, text }) => ({ name: id, entityType: "note", observations: [text] })),
          });
      },
      // It looks for the whole question in each note; there is no order of hits but that of writing.
      find: async (query) => {
        const told = JSON.stringify(await call("search_nodes", { query }));
        return [...told.matchAll(/\\?"name\\?":\s*\\?"([^"\\]+)\\?"/g)]
          .map(([, id]) => /** @type {string} */ (id))
          .slice(0, 10);
      },
    });
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
