import type { Imported, ImportFormat } from "../exchange.js";
import { beginsLike, type Foreign, readForeign } from "../foreign.js";
import { Arrival } from "../trajectory/arrival.js";
import { isPython, renamed } from "./python.js";
import { StateReader } from "./state.js";
import { requireAgent, requirePythonVersion, requireVersion } from "./version.js";

const FORMAT = "openai-agents";

/** Run states of the OpenAI Agents SDK for JavaScript and for Python, of all schema versions. */
export const openaiAgents: ImportFormat = {
  name: FORMAT,
  title: "OpenAI Agents SDK run state (JSON)",
  fits: (source) =>
    beginsLike(source, /^\s*\{/, /"currentAgent"\s*:/, /"originalInput"\s*:/) ||
    beginsLike(source, /^\s*\{/, /"\$schemaVersion"\s*:/, /"current_agent"\s*:/, /"original_input"\s*:/),
  read: (source) => readForeign(FORMAT, source, (foreign) => [read(foreign)], { quoteUnsafe: true }),
};

function read(foreign: Foreign): Imported {
  const written = foreign.object(foreign.json(), "", "a run state is an object");
  const python = isPython(written);
  if (python) requirePythonVersion(written, foreign);
  else requireVersion(written, "", foreign);
  const state = python ? renamed(written) : written;
  const name = requireAgent(state, "", foreign) || "run";
  const { originalInput, $schemaVersion: schemaVersion = null } = state;
  const arrival = Arrival.start(foreign, {
    name,
    ...(typeof originalInput === "string" && { text: originalInput }),
    detail: { schemaVersion, ...(python && { sdk: "python" }) },
  });
  const reader = new StateReader(foreign);
  reader.read(arrival, state, "", 0);
  return arrival.imported(name, reader.notes);
}
