import { beginsLike, type Document, readDocument } from "../document.js";
import type { Imported, ImportFormat, Source } from "../exchange.js";
import { isObject } from "../fields.js";
import { startImport } from "../intake.js";
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
  read: (source) => readDocument(FORMAT, source, (document) => [read(source, document)]),
};

function read(source: Source, document: Document): Imported {
  const written = document.json();
  if (!isObject(written)) throw document.refusal({ where: "", reason: "a run state is an object" });
  const python = isPython(written);
  if (python) requirePythonVersion(written, document);
  else requireVersion(written, "", document);
  const state = python ? renamed(written) : written;
  const agent = requireAgent(state, "", document);
  const name = agent === "" ? "run" : agent;
  const { originalInput } = state;
  const text = typeof originalInput === "string" ? { text: originalInput } : {};
  const started = startImport(source, FORMAT, {
    name,
    ...text,
    detail: { schemaVersion: state.$schemaVersion ?? null, ...(python && { sdk: "python" }) },
  });
  const reader = new StateReader(document);
  const session = reader.read(started, state, "", 0);
  return { name, session, notes: [...document.notes, ...reader.notes] };
}
