import type { Json } from "../../../session/index.js";
import type { ExportFormat, Subject } from "../exchange.js";
import { shownOf } from "../trajectory/line.js";
import { DOUBLES, OURS, SERVICE } from "./conventions.js";
import type { Attributes, Span } from "./span.js";
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

/** The service that made the spans, and the head of the session. */
export function resourceOf({ session }: Subject, service = "openrath"): { readonly [name: string]: string } {
  return { [SERVICE]: service, [OURS.head]: session.id };
}

/** Sampled, and known to be of this process: what the official exporters write too. */
const FLAGS = 0x101;
const FAILED = 2;

/** Spans as an OTLP/JSON document: an `ExportTraceServiceRequest` in the JSON of its protocol. */
export function documentOf(spans: readonly Span[], resource: Attributes = { [SERVICE]: "openrath" }): Json {
  return JSON.parse([...documentPieces(spans.map(spanText), resource)].join("")) as Json;
}

/** The text of such a document in pieces: together they may be longer than a string can be. */
export function* documentPieces(spans: Iterable<string>, resource: Attributes): Generator<string> {
  const about = { attributes: attributesOf(resource), droppedAttributesCount: 0 };
  yield `{"resourceSpans":[{"resource":${JSON.stringify(about)},"scopeSpans":[{"scope":{"name":"openrath"},"spans":[`;
  let first = true;
  for (const span of spans) {
    yield first ? span : `,${span}`;
    first = false;
  }
  yield "]}]}]}";
}

export function spanText(span: Span): string {
  return JSON.stringify(spanOf(span));
}

function spanOf(span: Span): Json {
  const { traceId, spanId, parentSpanId, name, kind, start, end, events, links, error } = span;
  return {
    traceId,
    spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    name: name.toWellFormed(),
    kind,
    startTimeUnixNano: start,
    endTimeUnixNano: end,
    attributes: attributesOf(span.attributes),
    droppedAttributesCount: 0,
    events: events.map((event) => ({
      name: event.name,
      timeUnixNano: event.time,
      attributes: attributesOf(event.attributes),
      droppedAttributesCount: 0,
    })),
    droppedEventsCount: 0,
    status:
      error === undefined
        ? { code: 0 }
        : { code: FAILED, ...(error.message !== undefined && { message: error.message.toWellFormed() }) },
    links: links.map((link) => ({
      traceId: link.traceId,
      spanId: link.spanId,
      attributes: attributesOf(link.attributes),
      droppedAttributesCount: 0,
      flags: FLAGS,
    })),
    droppedLinksCount: 0,
    flags: FLAGS,
  };
}

function attributesOf(attributes: Attributes): Json {
  return Object.entries(attributes).map(([key, value]) => ({
    key: key.toWellFormed(),
    value: typeof value === "number" && DOUBLES.has(key) ? { doubleValue: value } : anyOf(value),
  }));
}

/** Whole numbers have 64 bits in the protocol, which JSON holds as text; text must be Unicode there. */
function anyOf(value: Attributes[string]): Json {
  if (typeof value === "string") return { stringValue: value.toWellFormed() };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number")
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: value.map(anyOf) } };
}
