import type { Json } from "../../../session/index.js";
import type { Imported, ImportFormat } from "../exchange.js";
import { addTo, isSame } from "../fields.js";
import { beginsLike, defineImport, type Foreign } from "../foreign.js";
import { startImport } from "../intake.js";
import { type Branch, Builder } from "./builder.js";
import { type ReadSpan, spansIn } from "./parse.js";
import { timeOf } from "./span.js";
import { type Understood, understood } from "./understand.js";

/** Traces of OpenTelemetry: each conversation a session, or each trace where no conversation is named. */
export const otelImport: ImportFormat = defineImport({
  name: "otel",
  title: "OpenTelemetry traces (OTLP/JSON)",
  fits: (source) => beginsLike(source, /^\s*\{/, /"(resourceSpans|resource_spans)"\s*:/),
  quoteUnsafe: true,
  read,
});

type Told = { readonly span: ReadSpan; readonly is: Understood };

function read(foreign: Foreign): readonly Imported[] {
  const spans = spansIn(foreign).map((span) => ({ span, is: understood(span) }));
  const conversations = new Map<string, Told[]>();
  const named = new Map<string, string>();
  // A conversation that one span of a trace names is that of the trace.
  for (const { span, is } of spans)
    if (is.conversation !== undefined && !named.has(span.traceId)) named.set(span.traceId, is.conversation);
  for (const told of spans) {
    const key = told.is.conversation ?? named.get(told.span.traceId) ?? told.span.traceId;
    addTo(conversations, key, told);
  }
  return [...conversations].map(([key, told]) => sessionOf(key, told, foreign));
}

function sessionOf(key: string, told: readonly Told[], foreign: Foreign): Imported {
  const from: Json[] = [];
  for (const { span } of told) if (!from.some((one) => isSame(one, span.from))) from.push(span.from);
  const roots = treesOf(told);
  const [at] = told.flatMap(({ span }) => timeOf(span.start) ?? []).sort();
  const name = key === "" ? "trace" : key.length > 60 ? key.slice(0, 12) : key;
  const started = startImport(foreign.source, foreign.format, {
    name: key,
    at,
    detail: { conversation: key, from },
  });
  const builder = new Builder(started);
  for (const root of roots) builder.add(root);
  const notes = builder.kept
    ? ["Attributes outside the conventions are kept in notes, one for each span."]
    : [];
  return foreign.imported(name, builder.finish(), notes);
}

/** Spans below their parents, by the time they began. A span without a known parent, or in a circle, is a root. */
function treesOf(told: readonly Told[]): readonly Branch[] {
  type Growing = { readonly span: ReadSpan; readonly is: Understood; readonly below: Growing[] };
  const all: readonly Growing[] = [...told]
    .map((one, index) => ({ one, index, start: startOf(one.span) }))
    .sort((one, other) => Number(one.start - other.start) || one.index - other.index)
    .map(({ one }) => ({ ...one, below: [] }));
  const known = new Map<string, Growing>();
  for (const one of all) known.set(`${one.span.traceId}/${one.span.spanId}`, one);
  const parent = (one: Growing): Growing | undefined =>
    one.span.parentId === undefined ? undefined : known.get(`${one.span.traceId}/${one.span.parentId}`);
  const roots: Growing[] = [];
  const grounded = new Set<Growing>();
  for (const one of all) {
    const way = new Set<Growing>();
    let at: Growing | undefined = one;
    while (at !== undefined && !grounded.has(at) && !way.has(at)) {
      way.add(at);
      at = parent(at);
    }
    // A circle has no beginning: it begins where it was found.
    const circle = at !== undefined && way.has(at) ? at : undefined;
    for (const step of way) {
      grounded.add(step);
      const above = step === circle ? undefined : parent(step);
      if (above === undefined) roots.push(step);
    }
  }
  const isRoot = new Set(roots);
  for (const one of all) if (!isRoot.has(one)) parent(one)?.below.push(one);
  return all.filter((one) => isRoot.has(one));
}

function startOf({ start }: ReadSpan): bigint {
  return timeOf(start) === undefined ? 0n : BigInt(start as string | number);
}
