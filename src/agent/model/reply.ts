import type { Content, Json, Part, Usage } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { isRecord, OWN, ownMeta, plainJson } from "./content.js";
import type { FinishReason, Generated, Typed } from "./model.js";

/**
 * A model's reply in any SDK version, as the body of a `model-reply` fact without links and costs. `content`
 * is a string when it is only words, else parts. `finish` is the reason ("stop", "tool-calls", "length", …).
 * `meta` holds the provider's metadata, `warnings`, `finish`, `usage`, and `output`, the structured text.
 * `raw` has the provider's `body` and request ids in `headers`.
 */
export type ModelReply = {
  readonly content: Content;
  readonly finish: string;
  readonly usage: Usage;
  readonly model?: string;
  readonly response?: string;
  readonly meta?: { readonly [key: string]: Json };
  readonly raw?: Json;
};

/** A reply as it came, whole or put together from a stream. `broken` says why a call must not be executed. */
export type Came = Omit<Generated, "content" | "response"> & {
  readonly content: readonly (Typed & { readonly broken?: string })[];
  readonly response?: object;
  readonly structuredOutputText?: string;
  readonly chunks?: readonly unknown[];
};

export function replyOf(came: Came, provider: string, mint: (place: number) => string): ModelReply {
  requireContent(came, provider);
  const response = fieldsOf(came.response);
  const finish: FinishReason | undefined = came.finishReason;
  const word = typeof finish === "object" ? finish.unified : finish;
  // Google's client leaves the name of the model in the reply as it came.
  const left = [response.body, came.chunks?.at(-1)].map((body) => fieldsOf(body).modelVersion);
  const model = [response.modelId, ...left].find((name) => typeof name === "string");
  const meta = withoutNothing({
    provider: plainJson(came.providerMetadata),
    warnings: came.warnings?.length ? plainJson(came.warnings) : undefined,
    finish: typeof finish === "object" && finish.raw !== finish.unified ? finish.raw : undefined,
    usage: plainJson(fieldsOf(came.usage).raw),
    output: came.structuredOutputText,
  });
  const raw = withoutNothing({
    headers: requestIds(response.headers),
    body: plainJson(response.body),
    chunks: came.chunks?.length ? plainJson(came.chunks) : undefined,
  });
  return {
    content: contentOf(came.content, provider, mint),
    // V2 has a word of its own for what the others call "other".
    finish: word === undefined || word === "unknown" ? "other" : word,
    usage: usageOf(came.usage),
    ...defined({ model, response: typeof response.id === "string" ? response.id : undefined, meta, raw }),
  };
}

function requireContent(came: unknown, provider: string): void {
  const { content } = fieldsOf(came);
  if (Array.isArray(content) && content.every(isRecord)) return;
  throw new Error(
    `The model of ${provider} answered with ${content === undefined ? "no content" : "content that is not a list of parts"}, which no version of its interface allows.`,
  );
}

/** V2 counts in a flat list, the others in groups; missing counts stay unknown. */
function usageOf(usage: object | undefined): Usage {
  const flat = fieldsOf(usage);
  const input = fieldsOf(flat.inputTokens);
  const output = fieldsOf(flat.outputTokens);
  const parts = count(input.noCache) + count(input.cacheRead) + count(input.cacheWrite);
  const cached = count(flat.cachedInputTokens ?? input.cacheRead);
  const reasoning = count(flat.reasoningTokens ?? output.reasoning);
  return {
    input: typeof flat.inputTokens === "number" ? count(flat.inputTokens) : count(input.total) || parts,
    output:
      typeof flat.outputTokens === "number"
        ? count(flat.outputTokens)
        : count(output.total) || count(output.text) + reasoning,
    ...(cached > 0 && { cached }),
    ...(reasoning > 0 && { reasoning }),
  };
}

function count(value: unknown): number {
  return typeof value === "number" && value > 0 && value <= Number.MAX_SAFE_INTEGER ? value : 0;
}

function contentOf(parts: Came["content"], provider: string, mint: (place: number) => string): Content {
  const content: Part[] = [];
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  parts.forEach((part, place) => {
    const fields = fieldsOf(part);
    const given = typeof fields.toolCallId === "string" ? fields.toolCallId : "";
    if (part.type === "tool-call") {
      const id = given === "" || taken.has(given) ? mint(place) : given;
      taken.add(id);
      ids.set(given, id);
    }
    const kept = partOf(part, fields, ids.get(given) ?? given, provider);
    if (kept !== undefined) content.push(kept);
  });
  const [only] = content;
  return content.length === 1 && only?.type === "text" && only.meta === undefined ? only.text : content;
}

type Fields = { readonly [field: string]: unknown };

function partOf(
  part: Came["content"][number],
  fields: Fields,
  call: string,
  provider: string,
): Part | undefined {
  const meta = plainJson(fields.providerMetadata);
  const name = String(fields.toolName ?? "");
  switch (part.type) {
    case "text": {
      const citations = plainJson(fields.citations);
      const words = String(fields.text ?? "");
      return words === "" && meta === undefined
        ? undefined
        : { type: "text", text: words, ...noted(meta, citations && { citations }) };
    }
    case "reasoning":
      return { type: "reasoning", text: String(fields.text ?? ""), ...noted(meta) };
    case "tool-call": {
      const told = ownMeta(meta).broken;
      const [input, broken] = inputOf(fields.input, typeof told === "string" ? told : part.broken);
      const ran = fields.providerExecuted === true;
      return {
        type: "tool-call",
        call,
        name,
        input,
        ...(ran && { provider: true }),
        ...noted(meta, (ran || broken) && withoutNothing({ broken, provider: ran ? provider : undefined })),
      };
    }
    case "tool-result":
      return {
        type: "tool-result",
        call,
        name,
        output: plainJson(fields.result) ?? null,
        ...(fields.isError === true && { failed: true }),
        ...noted(meta, { provider }),
      };
    case "file": {
      const data = dataOf(fields.data);
      if (data === undefined) return undefined;
      return { type: "file", media: String(fields.mediaType ?? ""), data, ...noted(meta) };
    }
    case "source":
      return { type: "source", source: plainJson(part) ?? null };
    default:
      return { type: "other", value: plainJson(part) ?? null };
  }
}

function noted(meta: Json | undefined, own?: Json | false | "" | undefined): { meta?: Json } {
  if (!own) return meta === undefined ? {} : { meta };
  // A recorded reply was annotated when it first came.
  return { meta: { ...(isRecord(meta) ? meta : {}), [OWN]: { ...(own as object), ...ownMeta(meta) } } };
}

/** The input of a call. A text that is not JSON stays as it is, with a note on the problem. */
function inputOf(input: unknown, broken: string | undefined): readonly [Json, string | undefined] {
  if (typeof input !== "string") return [plainJson(input) ?? {}, broken];
  if (broken !== undefined) return [input, broken];
  if (input.trim() === "") return [{}, undefined];
  try {
    const parsed: Json = JSON.parse(input);
    return isDeep(parsed, 0) ? [input, "its input is nested too deeply"] : [parsed, undefined];
  } catch {
    return [input, "its input is not JSON"];
  }
}

function isDeep(value: Json, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth > 400 || Object.values(value).some((inner) => isDeep(inner, depth + 1));
}

/** Text or bytes, or since V4 an object that says which, or that it is a URL. */
function dataOf(data: unknown): string | undefined {
  const held = isRecord(data) && "type" in data ? fieldsOf(data) : undefined;
  const plain = plainJson(held === undefined ? data : (held.data ?? held.url));
  return typeof plain === "string" ? plain : undefined;
}

/** Of the headers only what finds the call again at the provider: others may hold secrets. */
function requestIds(headers: unknown): Json | undefined {
  const ids = Object.entries(fieldsOf(headers)).filter(
    ([name, value]) => /request-id$|^cf-ray$|trace-id$/i.test(name) && typeof value === "string",
  );
  return ids.length === 0 ? undefined : (Object.fromEntries(ids) as Json);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function withoutNothing(fields: {
  readonly [key: string]: Json | undefined;
}): { readonly [key: string]: Json } | undefined {
  const some = defined(fields);
  return Object.keys(some).length === 0 ? undefined : (some as { [key: string]: Json });
}
