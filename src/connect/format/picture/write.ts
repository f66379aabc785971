import { graph, toDot, toMermaid } from "../../../session/index.js";
import type { ExportFormat } from "../exchange.js";

/** The graph of a session for Markdown, notebooks and pages that draw Mermaid. */
export const mermaid: ExportFormat = {
  name: "mermaid",
  title: "the graph as a Mermaid picture",
  extension: ".mmd",
  write: async ({ session }) => toMermaid(graph(session)),
};

/** The graph of a session for Graphviz. */
export const dot: ExportFormat = {
  name: "dot",
  title: "the graph as a Graphviz picture (DOT)",
  extension: ".dot",
  write: async ({ session }) => toDot(graph(session)),
};
