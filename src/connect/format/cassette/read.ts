import type { Failure, Json } from "../../../session/index.js";
import { defined, firstLine } from "../../../util/index.js";
import { wordsAlone } from "../../ai-sdk/conversation.js";
import type { Imported, ImportFormat } from "../exchange.js";
import { fieldsIn, fieldsOf, isSame, stringOf, wordsFor } from "../fields.js";
import { beginsLike, defineImport, type Foreign } from "../foreign.js";
import { heard, replyParts } from "../otel/said.js";
import { Arrival } from "../trajectory/arrival.js";
import { type Exchange, exchangesIn, jsonIn } from "./exchange.js";
import type { Answered, Asked, Provider } from "./provider.js";
import { anthropic, chatCompletions, eventsIn, google, responses } from "./provider.js";

const PROVIDERS: readonly Provider[] = [chatCompletions, responses, anthropic, google];

/** HTTP traffic with providers of models, as VCR and its kin record it: YAML or JSON. */
export const cassette: ImportFormat = defineImport({
  name: "cassette",
  title: "recorded HTTP traffic with model providers (VCR cassettes, YAML or JSON)",
  fits: (source) =>
    beginsLike(source, /^\s*\{/, /"(http_)?interactions"\s*:/) ||
    beginsLike(source, /^(http_)?interactions:/m, /^[ \t]*(- )?request:/m),
  quoteUnsafe: true,
  read,
});

async function read(foreign: Foreign): Promise<Imported> {
  const exchanges = await exchangesIn(await parsedFile(foreign), foreign);
  const name = foreign.source.name.replace(/\.(ya?ml|json)$/i, "") || "cassette";
  const arrival = Arrival.start(foreign, { name, detail: { exchanges: exchanges.length } });
  for (const [index, exchange] of exchanges.entries()) {
    tell(arrival, exchange, (reason) =>
      foreign.warnings.add(
        `interactions[${index}].response: the answer of the model is unreadable: ${reason}.`,
      ),
    );
    arrival.rest("exchange", exchange.rest);
  }
  foreign.notes.add("Headers and what else the recorder kept of each exchange are in notes.");
  return arrival.imported(name);
}

/** JSON as it is; YAML with the package of that name, which has to be installed for cassettes. */
async function parsedFile(foreign: Foreign): Promise<Json> {
  const text = foreign.text();
  if (/^\s*\{/.test(text)) return foreign.json(text);
  let yaml: typeof import("yaml");
  try {
    yaml = await import("yaml");
  } catch (cause) {
    const hint = "npm install yaml, or write the cassette as JSON";
    return foreign.refuse("", "it is YAML, and the package yaml is not installed", { hint, cause });
  }
  try {
    return plain(yaml.parse(text, { logLevel: "error", customTags: ["binary", BINARY] }));
  } catch (cause) {
    const message = cause instanceof Error ? firstLine(cause.message) : "unreadable";
    return foreign.refuse("", `it is not YAML (${message.slice(0, 200)})`, { cause });
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

function tell(arrival: Arrival, exchange: Exchange, unreadable: (reason: string) => void): void {
  const { method, path, sent, address, status, got } = exchange;
  const provider = method === "POST" ? PROVIDERS.find((one) => one.path.test(path)) : undefined;
  const body = jsonIn(sent);
  if (provider === undefined || body === undefined) {
    // A request that asks no model.
    const input = { address, body: sent };
    const of = arrival.add({ type: "step-call", name: `${method} ${path}`, input });
    if (status >= 400) arrival.add({ type: "step-failure", of, error: failureOf(exchange) });
    else arrival.add({ type: "step-result", of, value: { status, body: got } });
    return;
  }
  const asked = provider.asked(body, path);
  const { model, instructions, messages } = asked;
  arrival.session = heard(arrival.session, messages, undefined, arrival.session.fact.at);
  const config =
    instructions === undefined
      ? undefined
      : arrival.add({ type: "agent-configure", agent: "", instructions });
  const of = arrival.ask(model, undefined, { method, address, body: sent }, config);
  if (status >= 400) arrival.add({ type: "model-failure", of, error: failureOf(exchange) });
  else tellReply(arrival, of, exchange, { provider, asked, unreadable });
}

type Call = {
  readonly provider: Provider;
  readonly asked: Asked;
  readonly unreadable: (reason: string) => void;
};

function tellReply(arrival: Arrival, of: string, exchange: Exchange, call: Call): void {
  const { status, got } = exchange;
  const raw = { status, body: got };
  const answer = exchange.unreadable === undefined ? answerIn(call.provider, got, call.asked) : undefined;
  if (answer === undefined) {
    const reason = exchange.unreadable ?? "its body is not a complete answer of this API";
    call.unreadable(reason);
    // The provider answered: that nobody can read the answer here is not a failure of the model.
    const content = [{ type: "other", value: { unreadable: reason } } as const];
    const usage = { input: 0, output: 0 };
    arrival.add({ type: "model-reply", of, content, finish: "unreadable", usage, raw });
    return;
  }
  const { parts, finish, usage, id, model } = answer;
  const content = wordsAlone(replyParts([{ role: "assistant", parts }]));
  arrival.add({ type: "model-reply", of, content, finish, usage, ...defined({ response: id, model }), raw });
}

function answerIn(provider: Provider, got: Json, asked: Asked): Answered | undefined {
  const isStream = typeof got === "string" && /^(event|data|:)/m.test(got.slice(0, 1_000));
  const body = jsonIn(got) ?? (isStream ? provider.joined(eventsIn(got)) : undefined);
  return body && provider.answered(body, asked);
}

function failureOf({ status, got, rest }: Exchange): Failure {
  const { message } = fieldsIn(fieldsOf(jsonIn(got)), "error");
  const answered = fieldsIn(fieldsIn(fieldsOf(rest), "response"), "status");
  const said = stringOf(message) ?? wordsFor(answered.message ?? "");
  return {
    name: "HttpError",
    message: said === "" ? `HTTP ${status}` : said,
    code: String(status),
    data: isSame(got, null) ? { status } : { status, body: got },
  };
}
