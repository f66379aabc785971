// @ts-check
// The engines of this folder, for crash campaigns and benches.
import { fileURLToPath } from "node:url";
import { ensurePeer } from "../bench/peer.mjs";

/** What `rath worker --engine` takes. @param {string} engine */
export function engineFile(engine) {
  return engine === "local" ? engine : fileURLToPath(new URL(`./${engine}/index.mjs`, import.meta.url));
}

/**
 * Installs an engine, starts the servers that it needs beside the store, and tells the workers to come where they are.
 *
 * @param {string} engine
 * @param {number} [nodes]
 */
export async function startServers(engine, nodes) {
  if (engine === "local") return undefined;
  const installed = await ensurePeer(new URL(`./${engine}/`, import.meta.url), `the engine ${engine}`);
  if (!installed.ok) throw new Error(`${engine} cannot be installed: ${installed.reason}`);
  if (engine !== "restate") return undefined;
  const { RestateServers, whyNoRestate } = await import("./restate/server.mjs");
  const reason = whyNoRestate();
  if (reason !== undefined) throw new Error(reason);
  const servers = await RestateServers.start(nodes);
  Object.assign(process.env, servers.environment);
  return servers;
}
