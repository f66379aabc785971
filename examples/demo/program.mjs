// @ts-check
// The program of a demonstration: what `rath run`, `rath resume` and `rath replay` load.
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compatible } from "openrath";
import { agentsFor } from "./agents.mjs";
import { notesOf, TASK } from "./project.mjs";
import { repair } from "./repair.mjs";

/**
 * A model that the environment names: its address and its name. The key is not part of it.
 *
 * @typedef {{ readonly url: string, readonly model: string }} Endpoint
 *
 * The settings of a demonstration. They are written into its program, so that every process makes the same.
 *
 * @typedef {object} Settings
 * @property {string} name
 * @property {"local" | "host"} sandbox
 * @property {Endpoint} [endpoint] the model, where it is not the script
 */

/** What a run with a real model may spend. */
export const BUDGET = { steps: 80, tokens: 600_000, milliseconds: 900_000 };

const { env } = process;

/**
 * The endpoint that the environment names, if any. A key alone means the address that such keys usually are for.
 *
 * @returns {Endpoint | undefined}
 */
export function endpointInEnvironment() {
  const url = env.RATH_BASE_URL || env.OPENAI_BASE_URL;
  if (!url && key() === undefined) return undefined;
  return {
    url: url || "https://api.openai.com/v1",
    model: env.RATH_MODEL || env.OPENAI_MODEL || "gpt-5-mini",
  };
}

/** The model of an endpoint. */
export function modelAt(/** @type {Endpoint} */ { url, model }) {
  const secret = key();
  return compatible({ url, model, ...(secret !== undefined && { key: secret }) });
}

/** @param {Settings & { readonly folder: URL }} settings */
export async function demoProgram({ name, folder, sandbox, endpoint }) {
  const model = endpoint && (await modelAt(endpoint));
  const secret = endpoint && key();
  const notes = notesOf(name);
  return {
    module: repair(agentsFor(notes, model), notes),
    start: { text: TASK, sandbox, spec: specFor(sandbox, join(fileURLToPath(folder), "repo")) },
    // The key never reaches the record, even if a model or a command prints it.
    options: secret === undefined ? {} : { secrets: { API_KEY: secret } },
  };
}

function key() {
  return env.RATH_API_KEY || env.OPENAI_API_KEY || undefined;
}

/**
 * The first files; and without a sandbox the folder of this Node, where PATH does not have it.
 *
 * @param {Settings["sandbox"]} sandbox
 * @param {string} workspace
 */
function specFor(sandbox, workspace) {
  const folder = dirname(process.execPath);
  const path = env.PATH ?? "";
  if (sandbox === "local" || path.split(delimiter).includes(folder)) return { workspace };
  return { workspace, env: { PATH: `${folder}${delimiter}${path}` } };
}
