import type { Json } from "../../../session/index.js";
import type { Document } from "../document.js";
import { Fields, isObject, type JsonObject, wordsFor } from "../fields.js";

/** A span of a document, in plain JSON. `rest` is what else the document says of it. */
export type ReadSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly name: string;
  readonly kind: number;
  readonly start: Json | undefined;
  readonly end: Json | undefined;
  readonly attributes: JsonObject;
  readonly events: readonly ReadEvent[];
  readonly links: readonly ReadLink[];
  readonly failed: boolean;
  readonly message: string | undefined;
  readonly rest: JsonObject | undefined;
  /** The resource and the scope that it came from. */
  readonly from: Json;
};
export type ReadEvent = {
  readonly name: string;
  readonly time: Json | undefined;
  readonly attributes: JsonObject;
  readonly rest?: JsonObject | undefined;
};
export type ReadLink = {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: JsonObject;
  readonly rest?: JsonObject | undefined;
};

/** The spans of an OTLP/JSON document, or of several, one on each line. */
export function spansIn(document: Document): readonly ReadSpan[] {
  const text = document.text();
  const [first = ""] = text.trimStart().split("\n", 1);
  // One document may have many lines, and each of several documents has one.
  const documents =
    !isOne(text) && isOne(first)
      ? document.lines().map(({ line, value }) => [value, `line ${line}: `] as const)
      : [[document.json(), ""] as const];
  const spans = documents.flatMap(([value, where]) => spansOfDocument(value, where, document));
  if (spans.length === 0) throw document.refusal({ where: "", reason: "there is no span in it" });
  return spans;
}

function isOne(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function spansOfDocument(value: Json, where: string, document: Document): readonly ReadSpan[] {
  const list = (
    holder: Json | undefined,
    place: string,
    ...keys: readonly string[]
  ): readonly JsonObject[] => {
    const found = isObject(holder)
      ? keys.map((key) => holder[key]).find((one) => one !== undefined)
      : undefined;
    if (found === undefined && isObject(holder)) return [];
    if (!Array.isArray(found) || !found.every(isObject))
      throw document.refusal({
        where: `${where}${place}`,
        reason: `a list of objects should be here (${keys[0]})`,
      });
    return found as readonly JsonObject[];
  };
  if (!isObject(value) || !(Array.isArray(value.resourceSpans) || Array.isArray(value.resource_spans)))
    throw document.refusal({ where, reason: "an OTLP document has a list of resourceSpans" });
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
function plain(value: JsonObject): Json {
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]): [string, Json] =>
      key === "attributes" ? [key, attributesIn(inner)] : [key, isObject(inner) ? plain(inner) : inner],
    ),
  );
}

const KINDS = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];

function spanOf(span: JsonObject, from: Json): ReadSpan {
  const fields = new Fields(span);
  const either = (key: string, other: string) => fields.json(key) ?? fields.json(other);
  const kind = fields.json("kind");
  const status = new Fields(fields.object("status") ?? {});
  const code = status.json("code");
  const message = status.text("message");
  fields.keep("status", status.rest);
  const parent = either("parentSpanId", "parent_span_id");
  for (const count of ["droppedAttributesCount", "droppedEventsCount", "droppedLinksCount"])
    fields.drop(count, 0);
  const list = (key: string) => (fields.list(key) ?? []).filter(isObject);
  return {
    traceId: idOf(either("traceId", "trace_id"), 16),
    spanId: idOf(either("spanId", "span_id"), 8),
    parentId: parent === undefined || parent === "" || parent === null ? undefined : idOf(parent, 8),
    name: fields.text("name") ?? "",
    kind:
      typeof kind === "number" ? kind : Math.max(0, KINDS.indexOf(wordsFor(kind).replace("SPAN_KIND_", ""))),
    start: either("startTimeUnixNano", "start_time_unix_nano"),
    end: either("endTimeUnixNano", "end_time_unix_nano"),
    attributes: attributesIn(fields.json("attributes")),
    events: list("events").map((event) => {
      const inner = new Fields(event);
      const [name, time] = [
        inner.text("name") ?? "",
        inner.json("timeUnixNano") ?? inner.json("time_unix_nano"),
      ];
      const attributes = attributesIn(inner.json("attributes"));
      inner.drop("droppedAttributesCount", 0);
      return { name, time, attributes, rest: inner.rest };
    }),
    links: list("links").map((link) => {
      const inner = new Fields(link);
      const traceId = idOf(inner.json("traceId") ?? inner.json("trace_id"), 16);
      const spanId = idOf(inner.json("spanId") ?? inner.json("span_id"), 8);
      const attributes = attributesIn(inner.json("attributes"));
      inner.drop("droppedAttributesCount", 0);
      return { traceId, spanId, attributes, rest: inner.rest };
    }),
    failed: code === 2 || code === "STATUS_CODE_ERROR" || code === "2",
    message,
    rest: fields.rest,
    from,
  };
}

/** Ids are hex in OTLP; whoever writes the JSON of protocol buffers as it comes writes base64. */
function idOf(value: Json | undefined, bytes: number): string {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? "");
  if (new RegExp(`^[0-9a-f]{${bytes * 2}}$`, "i").test(text)) return text.toLowerCase();
  const decoded = /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, "base64") : undefined;
  return decoded?.length === bytes ? decoded.toString("hex") : text;
}

export function attributesIn(list: Json | undefined): JsonObject {
  // Some write an object of plain values.
  if (isObject(list)) return list;
  const attributes = new Map<string, Json>();
  for (const entry of Array.isArray(list) ? (list as readonly Json[]) : []) {
    if (!isObject(entry) || typeof entry.key !== "string") {
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
  if (!isObject(value)) return value ?? null;
  const of = (name: string, other: string) => value[name] ?? value[other];
  const [text, flag, whole, part, bytes] = [
    of("stringValue", "string_value"),
    of("boolValue", "bool_value"),
    of("intValue", "int_value"),
    of("doubleValue", "double_value"),
    of("bytesValue", "bytes_value"),
  ];
  if (text !== undefined) return text;
  if (flag !== undefined) return flag;
  if (whole !== undefined)
    return typeof whole === "string" && Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
  if (part !== undefined) return part;
  if (bytes !== undefined) return bytes;
  const list = of("arrayValue", "array_value");
  if (depth < DEEP && isObject(list))
    return (Array.isArray(list.values) ? (list.values as readonly Json[]) : []).map((one) =>
      plainValue(one, depth + 1),
    );
  const pairs = of("kvlistValue", "kvlist_value");
  if (depth < DEEP && isObject(pairs))
    return Object.fromEntries(
      (Array.isArray(pairs.values) ? (pairs.values as readonly Json[]) : [])
        .filter(isObject)
        .map((pair) => [wordsFor(pair.key), plainValue(pair.value, depth + 1)]),
    );
  return Object.keys(value).length === 0 ? null : value;
}
