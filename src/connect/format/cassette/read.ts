import type { Json, Session } from "../../../session/index.js";
import { beginsLike, type Document, readDocument } from "../document.js";
import type { Imported, ImportFormat, Source } from "../exchange.js";
import { isObject, isSame, objectOf, wordsFor } from "../fields.js";
import { keepRest, startImport } from "../intake.js";
import { heard, replyParts } from "../otel/said.js";
import type { Answered, Asked, Provider } from "./api.js";
import { type Exchange, exchangesIn, jsonIn } from "./exchange.js";
import { eventsIn, providerFor } from "./provider.js";

const FORMAT = "cassette";

/** HTTP traffic with providers of models, as VCR and its kin record it: YAML or JSON. */
export const cassette: ImportFormat = {
  name: FORMAT,
  title: "recorded HTTP traffic with model providers (VCR cassettes, YAML or JSON)",
  fits: (source) =>
    beginsLike(source, /^\s*\{/, /"(http_)?interactions"\s*:/) ||
    beginsLike(source, /^(http_)?interactions:/m, /^[ \t]*(- )?request:/m),
  read: (source) => readDocument(FORMAT, source, async (document) => [await read(source, document)]),
};

async function read(source: Source, document: Document): Promise<Imported> {
  const exchanges = await exchangesIn(await parsed(document), document);
  const name = source.name.replace(/\.(ya?ml|json)$/i, "") || "cassette";
  const isMore = isObject(exchanges[0]?.rest);
  let session = startImport(source, FORMAT, { name, detail: { exchanges: exchanges.length } });
  for (const [index, exchange] of exchanges.entries())
    session = added(session, exchange, (reason) =>
      document.warn(`interactions[${index}].response: the answer of the model is unreadable: ${reason}.`),
    );
  if (isMore) document.note("Headers and what else the recorder kept of each exchange are in notes.");
  return { name, session, notes: [...document.notes] };
}

/** JSON as it is; YAML with the package of that name, which whoever has cassettes has to install. */
async function parsed(document: Document): Promise<Json> {
  const text = document.text();
  if (/^\s*\{/.test(text)) return document.json();
  let yaml: typeof import("yaml");
  try {
    yaml = await import("yaml");
  } catch (cause) {
    throw document.refusal({
      where: "",
      reason: "it is YAML, and the package yaml is not installed",
      hint: "npm install yaml, or write the cassette as JSON",
      cause,
    });
  }
  try {
    return plain(yaml.parse(text, { logLevel: "error", customTags: ["binary", BINARY] }));
  } catch (cause) {
    const message = cause instanceof Error ? (cause.message.split("\n")[0] as string) : "unreadable";
    throw document.refusal({ where: "", reason: `it is not YAML (${message.slice(0, 200)})`, cause });
  }
}

/** The tag that recorders in Ruby write for `!!binary`. */
const BINARY = { tag: "!binary", resolve: (text: string) => Buffer.from(text, "base64") };

/** YAML has bytes and numbers that JSON has not. */
function plain(value: unknown): Json {
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString("base64") };
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value !== "object" || value === null) return null;
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}

function added(session: Session, exchange: Exchange, unreadable: (reason: string) => void): Session {
  const { method, path, sent, rest } = exchange;
  const provider = providerFor(method, path);
  const body = jsonIn(sent);
  const next =
    provider === undefined || body === undefined
      ? stepped(session, exchange)
      : called(session, exchange, { provider, asked: provider.asked(body, path), unreadable });
  return keepRest(next, "exchange", rest);
}

type Call = {
  readonly provider: Provider;
  readonly asked: Asked;
  readonly unreadable: (reason: string) => void;
};

function called(session: Session, exchange: Exchange, { provider, asked, unreadable }: Call): Session {
  const at = session.fact.at;
  const { model, instructions, messages } = asked;
  let next = heard(session, messages, undefined, at);
  if (instructions !== undefined)
    next = next.append({ type: "agent-configure", agent: "", instructions, at });
  const config = instructions === undefined ? {} : { config: next.id };
  const { address, method, sent, status, got } = exchange;
  next = next.append({
    type: "model-call",
    model,
    ...config,
    parameters: { method, address, body: sent },
    at,
  });
  const of = next.id;
  if (status >= 400) return next.append({ type: "model-failure", of, error: failureOf(exchange), at });
  const raw = { status, body: got };
  const answer = exchange.unreadable === undefined ? answerIn(provider, got, asked) : undefined;
  if (answer === undefined) {
    const reason = exchange.unreadable ?? "its body is not a complete answer of this API";
    unreadable(reason);
    // The provider answered: that nobody can read the answer here is not a failure of the model.
    const content = [{ type: "other", value: { unreadable: reason } } as const];
    const usage = { input: 0, output: 0 };
    return next.append({ type: "model-reply", of, content, finish: "unreadable", usage, raw, at });
  }
  const parts = replyParts([{ role: "assistant", parts: answer.parts }]);
  const [only] = parts;
  return next.append({
    type: "model-reply",
    of,
    content: parts.length === 1 && only?.type === "text" ? only.text : parts,
    finish: answer.finish,
    usage: answer.usage,
    ...(answer.id !== undefined && { response: answer.id }),
    ...(answer.model !== undefined && { model: answer.model }),
    raw,
    at,
  });
}

function answerIn(provider: Provider, got: Json, asked: Asked): Answered | undefined {
  if (typeof got === "string" && /^(event|data|:)/m.test(got.slice(0, 1_000)) && jsonIn(got) === undefined) {
    const joined = provider.joined(eventsIn(got));
    return joined === undefined ? undefined : provider.answered(joined, asked);
  }
  const body = jsonIn(got);
  return body === undefined ? undefined : provider.answered(body, asked);
}

/** A request that asks no model. */
function stepped(session: Session, exchange: Exchange): Session {
  const at = session.fact.at;
  const { method, path, address, sent, status, got } = exchange;
  const call = session.append({
    type: "step-call",
    name: `${method} ${path}`,
    input: { address, body: sent },
    at,
  });
  return call.append(
    status >= 400
      ? { type: "step-failure", of: call.id, error: failureOf(exchange), at }
      : { type: "step-result", of: call.id, value: { status, body: got }, at },
  );
}

function failureOf({ status, got, rest }: Exchange) {
  const body = jsonIn(got);
  const { message } = objectOf(body?.error);
  const said =
    typeof message === "string"
      ? message
      : wordsFor(objectOf(objectOf(objectOf(rest).response).status).message ?? "");
  const isTold = isSame(got, null);
  return {
    name: "HttpError",
    message: said === "" ? `HTTP ${status}` : said,
    code: String(status),
    data: isTold ? { status } : { status, body: got },
  };
}
