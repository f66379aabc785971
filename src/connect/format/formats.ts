import { RathError } from "../../session/index.js";
import { nearestOf } from "../../util/index.js";
import { type ExportFormat, ImportError, type ImportFormat, type Source } from "./exchange.js";

/** The formats of other systems that sessions are made from, the most particular first; each is loaded when it is used. */
const readers: { readonly [name: string]: () => Promise<ImportFormat> } = {
  atif: async () => (await import("./atif/read.js")).atif,
  atof: async () => (await import("./atif/atof.js")).atof,
  inspect: async () => (await import("./inspect/read.js")).inspect,
  "swe-agent": async () => (await import("./swe-agent/read.js")).sweAgent,
  openhands: async () => (await import("./openhands/read.js")).openHands,
  "openai-agents": async () => (await import("./openai-agents/read.js")).openaiAgents,
  "tau-bench": async () => (await import("./tau-bench/read.js")).tauBench,
  otel: async () => (await import("./otel/read.js")).otelImport,
  langgraph: async () => (await import("./langgraph/sqlite.js")).langgraph,
  "openrath-python": async () => (await import("./openrath-python/read.js")).openrathPython,
  autogen: async () => (await import("./autogen/read.js")).autogen,
  "claude-code": async () => (await import("./claude-code/read.js")).claudeCode,
  codex: async () => (await import("./codex/read.js")).codex,
  cassette: async () => (await import("./cassette/read.js")).cassette,
  "ai-sdk-ui": async () => (await import("./ai-sdk-ui/read.js")).aiSdkUi,
  react: async () => (await import("./react/read.js")).react,
  reflexion: async () => (await import("./reflexion/read.js")).reflexion,
};

/** The formats that sessions are written in. */
const writers: { readonly [name: string]: () => Promise<ExportFormat> } = {
  otel: async () => (await import("./otel/write.js")).otelExport,
  atif: async () => (await import("./atif/write.js")).atifExport,
  inspect: async () => (await import("./inspect/write.js")).inspectExport,
  "inspect-eval": async () => (await import("./inspect/write.js")).inspectEvalExport,
  "swe-bench": async () => (await import("./swe-bench/write.js")).sweBenchExport,
  "swe-agent": async () => (await import("./swe-agent/write.js")).sweAgentExport,
  "hf-trace": async () => (await import("./hf-trace/write.js")).hfTraceExport,
  "agent-trace": async () => (await import("./agent-trace/write.js")).agentTraceExport,
  mermaid: async () => (await import("./picture/write.js")).mermaid,
  dot: async () => (await import("./picture/write.js")).dot,
  csv: async () => (await import("./csv/write.js")).csv,
};

/** All formats that can be read. */
export function importFormats(): Promise<readonly ImportFormat[]> {
  return Promise.all(Object.values(readers).map((load) => load()));
}

/** All formats that can be written. */
export function exportFormats(): Promise<readonly ExportFormat[]> {
  return Promise.all(Object.values(writers).map((load) => load()));
}

export async function importFormat(name: string): Promise<ImportFormat> {
  return (await named(readers, name, "read")) as ImportFormat;
}

export async function exportFormat(name: string): Promise<ExportFormat> {
  return (await named(writers, name, "write")) as ExportFormat;
}

/** The format that a file looks like. */
export async function formatOf(source: Source): Promise<ImportFormat> {
  for (const format of await importFormats()) if (format.fits(source)) return format;
  throw new ImportError("anything known", source, {
    where: "",
    reason: "it looks like none of the formats",
    hint: "say which it is: rath import FILE --format NAME; rath import --list has the names",
  });
}

async function named(
  known: { readonly [name: string]: () => Promise<ImportFormat | ExportFormat> },
  name: string,
  use: "read" | "write",
): Promise<ImportFormat | ExportFormat> {
  const load = Object.hasOwn(known, name) ? known[name] : undefined;
  if (load !== undefined) return load();
  const names = Object.keys(known);
  const near = nearestOf(name, names);
  throw new RathError(
    "format-unknown",
    `Cannot ${use} the format ${JSON.stringify(name)}: no format has that name.`,
    {
      hint: `${near === undefined ? "" : `did you mean ${near}? `}there are ${names.join(", ")}`,
      data: { format: name, known: names },
    },
  );
}
