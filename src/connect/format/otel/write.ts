import type { ExportFormat, Subject } from "../exchange.js";
import { shownOf } from "../trajectory/shown.js";
import { OURS, SERVICE } from "./conventions.js";
import { documentPieces, spanText } from "./otlp.js";
import { spansOf } from "./tracer.js";

/** Spans of the GenAI conventions of OpenTelemetry, as an OTLP/JSON document. */
export const otelExport: ExportFormat = {
  name: "otel",
  title: "OpenTelemetry GenAI spans (OTLP/JSON)",
  extension: ".otlp.json",
  write: async (given, { content = false } = {}) => {
    const subject = { ...given, session: await shownOf(given) };
    const spans = spansOf(subject, { content }).map(spanText);
    const pieces = [...documentPieces(spans, resourceOf(subject)), "\n"];
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    return length < LONGEST_STRING
      ? pieces.join("")
      : Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
  },
};

/** Longer documents are given as bytes: a string has no room for them. */
const LONGEST_STRING = 2 ** 28;

/** What made the spans, and where the session stood. */
export function resourceOf({ session }: Subject, service = "openrath"): { readonly [name: string]: string } {
  return { [SERVICE]: service, [OURS.head]: session.id };
}
