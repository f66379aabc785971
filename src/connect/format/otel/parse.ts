import type { Json } from "../../../session/index.js";
import { parseJson } from "../../../util/index.js";
import { FieldReader, type Fields, isFields, listOf, objectsOf, wordsFor } from "../fields.js";
import type { Foreign } from "../foreign.js";

/** A span of a document, in plain JSON. `rest` is what else the document says of it. */
export type ReadSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly name: string;
  readonly kind: number;
  readonly start: Json | undefined;
  readonly end: Json | undefined;
  readonly attributes: Fields;
  readonly events: readonly ReadEvent[];
  readonly links: readonly ReadLink[];
  readonly failed: boolean;
  readonly message: string | undefined;
  readonly rest: Fields | undefined;
  /** The resource and the scope that it came from. */
  readonly from: Json;
};
export type ReadEvent = {
  readonly name: string;
  readonly time: Json | undefined;
  readonly attributes: Fields;
  readonly rest?: Fields | undefined;
};
export type ReadLink = {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: Fields;
  readonly rest?: Fields | undefined;
};

/** The spans of OTLP/JSON: one document, or one on each line. */
export function spansIn(foreign: Foreign): readonly ReadSpan[] {
  const text = foreign.text();
  const [first = ""] = text.trimStart().split("\n", 1);
  // One document may have many lines, but each of many documents has one.
  const isMany = parseJson(text) === undefined && parseJson(first) !== undefined;
  const documents = isMany
    ? foreign.jsonLines((value) => value).map(({ line, value }) => [value, `line ${line}: `] as const)
    : [[foreign.json(text), ""] as const];
  const spans = documents.flatMap(([value, where]) => spansOfDocument(value, where, foreign));
  return spans.length > 0 ? spans : foreign.refuse("", "there is no span in it");
}

function spansOfDocument(value: Json, where: string, foreign: Foreign): readonly ReadSpan[] {
  const list = (holder: Fields, place: string, ...keys: readonly string[]): readonly Fields[] => {
    const found = keys.map((key) => holder[key]).find((one) => one !== undefined) ?? [];
    return Array.isArray(found) && found.every(isFields)
      ? found
      : foreign.refuse(`${where}${place}`, `a list of objects should be here (${keys[0]})`);
  };
  if (!isFields(value) || !(Array.isArray(value.resourceSpans) || Array.isArray(value.resource_spans)))
    return foreign.refuse(where, "an OTLP document has a list of resourceSpans");
  return list(value, "resourceSpans", "resourceSpans", "resource_spans").flatMap((resource, first) => {
    const { scopeSpans: _, scope_spans: __, instrumentationLibrarySpans: ___, ...around } = resource;
    const place = `resourceSpans[${first}]`;
    return list(resource, place, "scopeSpans", "scope_spans", "instrumentationLibrarySpans").flatMap(
      (scope, second) => {
        const { spans: ____, ...about } = scope;
        const from = plain({ ...around, scope: about });
        return list(scope, `${place}.scopeSpans[${second}]`, "spans").map((span) => spanOf(span, from));
      },
    );
  });
}

/** Attribute lists anywhere in what surrounds spans, as objects. */
function plain(value: Fields): Json {
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]): [string, Json] =>
      key === "attributes" ? [key, attributesIn(inner)] : [key, isFields(inner) ? plain(inner) : inner],
    ),
  );
}

const KINDS = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];

function spanOf(span: Fields, from: Json): ReadSpan {
  const fields = new FieldReader(span);
  const kind = fields.json("kind");
  const status = fields.inside("status");
  const code = status.json("code");
  const message = status.text("message");
  fields.keep("status", status.rest);
  const parent = either(fields, "parentSpanId", "parent_span_id") ?? "";
  for (const count of ["droppedAttributesCount", "droppedEventsCount", "droppedLinksCount"])
    fields.drop(count, 0);
  const list = (key: string) => (fields.list(key) ?? []).filter(isFields).map((one) => new FieldReader(one));
  return {
    ...idsIn(fields),
    parentId: parent === "" ? undefined : idOf(parent, 8),
    name: fields.text("name") ?? "",
    kind:
      typeof kind === "number" ? kind : Math.max(0, KINDS.indexOf(wordsFor(kind).replace("SPAN_KIND_", ""))),
    start: either(fields, "startTimeUnixNano", "start_time_unix_nano"),
    end: either(fields, "endTimeUnixNano", "end_time_unix_nano"),
    attributes: attributesIn(fields.json("attributes")),
    events: list("events").map((event) => ({
      name: event.text("name") ?? "",
      time: either(event, "timeUnixNano", "time_unix_nano"),
      ...attributesAndRest(event),
    })),
    links: list("links").map((link) => ({ ...idsIn(link), ...attributesAndRest(link) })),
    failed: code === 2 || code === "STATUS_CODE_ERROR" || code === "2",
    message,
    rest: fields.rest,
    from,
  };
}

function either(fields: FieldReader, key: string, other: string): Json | undefined {
  return fields.json(key) ?? fields.json(other);
}

function idsIn(fields: FieldReader): { readonly traceId: string; readonly spanId: string } {
  return {
    traceId: idOf(either(fields, "traceId", "trace_id"), 16),
    spanId: idOf(either(fields, "spanId", "span_id"), 8),
  };
}

function attributesAndRest(fields: FieldReader): {
  readonly attributes: Fields;
  readonly rest: Fields | undefined;
} {
  const attributes = attributesIn(fields.json("attributes"));
  fields.drop("droppedAttributesCount", 0);
  return { attributes, rest: fields.rest };
}

/** Ids are hex in OTLP, but base64 in the plain JSON of protocol buffers. */
function idOf(value: Json | undefined, bytes: number): string {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? "");
  if (new RegExp(`^[0-9a-f]{${bytes * 2}}$`, "i").test(text)) return text.toLowerCase();
  const decoded = /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, "base64") : undefined;
  return decoded?.length === bytes ? decoded.toString("hex") : text;
}

export function attributesIn(list: Json | undefined): Fields {
  // Some write an object of plain values.
  if (isFields(list)) return list;
  const attributes = new Map<string, Json>();
  for (const entry of listOf(list)) {
    if (!isFields(entry) || typeof entry.key !== "string") {
      attributes.set(`#${attributes.size}`, entry);
      continue;
    }
    const key = attributes.has(entry.key) ? `${entry.key}#${attributes.size}` : entry.key;
    attributes.set(key, plainValue(entry.value));
  }
  return Object.fromEntries(attributes);
}

const DEEP = 100;

function plainValue(value: Json | undefined, depth = 0): Json {
  if (!isFields(value)) return value ?? null;
  const of = (kind: string) => value[`${kind}Value`] ?? value[`${kind}_value`];
  const whole = of("int");
  const isNumber = typeof whole === "string" && Number.isSafeInteger(Number(whole));
  const simple =
    of("string") ?? of("bool") ?? (isNumber ? Number(whole) : whole) ?? of("double") ?? of("bytes");
  if (simple !== undefined) return simple;
  const [list, pairs] = [of("array"), of("kvlist")];
  if (depth < DEEP && isFields(list)) return listOf(list.values).map((one) => plainValue(one, depth + 1));
  if (depth < DEEP && isFields(pairs))
    return Object.fromEntries(
      objectsOf(pairs.values).map((pair) => [wordsFor(pair.key), plainValue(pair.value, depth + 1)]),
    );
  return Object.keys(value).length === 0 ? null : value;
}
