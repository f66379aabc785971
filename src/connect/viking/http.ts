import type { BackendContext, BackendFault } from "../../memory/index.js";
import { BackendError, MemoryRefusedError } from "../../memory/index.js";
import type { Json } from "../../session/index.js";
import { defined, isObject, optionNames, parseJson, showValue } from "../../util/index.js";
import { requireMilliseconds, requireOptions } from "../../workflow/index.js";
import { type VikingAddress, vikingAddress } from "./address.js";

/** One request: what it is for in words, and what is sent. */
export type Asking = {
  readonly use: string;
  readonly method?: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly query?: { readonly [name: string]: string | number | boolean | undefined };
  readonly body?: { readonly [name: string]: Json | undefined };
  /** Its answer is not in the envelope that all others are in. */
  readonly bare?: true;
};

/** The server, asked within one context. */
export class VikingServer {
  readonly signal: AbortSignal;
  readonly ask: (asking: Asking) => Promise<Json>;
  readonly failed: (use: string, reason: string, fault?: BackendFault) => BackendError;

  constructor(settings: VikingSettings, context: BackendContext) {
    this.signal = context.signal;
    this.ask = (asking) => ask(settings, context, asking);
    this.failed = (use, reason, fault = "malformed") => new BackendError(settings.name, fault, use, reason);
  }

  get(use: string, path: string, query: Asking["query"] = {}): Promise<Json> {
    return this.ask({ use, path: `/api/v1/${path}`, query });
  }

  post(use: string, path: string, body: NonNullable<Asking["body"]>): Promise<Json> {
    return this.ask({ use, method: "POST", path: `/api/v1/${path}`, body });
  }
}

/** Asks the server, within limits of time and bytes. Throws a `BackendError`, never with the key in it. */
async function ask(settings: VikingSettings, context: BackendContext, asking: Asking): Promise<Json> {
  const { use } = asking;
  const secret = settings.key === undefined ? undefined : context.secret(settings.key);
  const fail = (
    fault: BackendFault,
    reason: string,
    data: { readonly [key: string]: Json } = {},
  ): BackendError => new BackendError(settings.name, fault, use, without(secret, reason), data);
  if (context.signal.aborted) throw fail("stopped", "it was stopped before it was asked");
  // A header cannot hold it, and the refusal of that would quote it.
  if (secret !== undefined && !/^[\x21-\x7e]+$/.test(secret))
    throw fail("refused", `the secret "${settings.key}" cannot be sent as a key`);
  // Of an answer that nobody reads to its end, nothing more is read.
  const done = new AbortController();
  const late = AbortSignal.timeout(settings.timeout);
  try {
    const response = await fetch(requestUrl(settings, asking), {
      method: asking.method ?? "GET",
      headers: {
        accept: "application/json",
        ...settings.headers,
        ...defined({ "X-API-Key": secret }),
        ...(asking.body !== undefined && { "content-type": "application/json" }),
      },
      ...(asking.body !== undefined && { body: JSON.stringify(asking.body) }),
      // The key is not for the server that a redirect names.
      redirect: "manual",
      signal: AbortSignal.any([context.signal, late, done.signal]),
    });
    const text = await textOf(response, settings.maxAnswer, fail);
    return asking.bare ? bareIn(response, text, fail) : resultIn(response, text, fail);
  } catch (error) {
    if (error instanceof BackendError) throw error;
    if (context.signal.aborted) throw fail("stopped", "it was stopped while it was asked");
    if (late.aborted) throw fail("timeout", `it gave no answer within ${settings.timeout} ms`);
    throw fail("unreachable", reasonOf(error));
  } finally {
    done.abort();
  }
}

type Fail = (fault: BackendFault, reason: string, data?: { readonly [key: string]: Json }) => BackendError;

function requestUrl(settings: VikingSettings, { path, query = {} }: Asking): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return `${settings.url}${path}${search.size === 0 ? "" : `?${search}`}`;
}

async function textOf(response: Response, most: number, fail: Fail): Promise<string> {
  if (response.status >= 300 && response.status < 400)
    throw fail("refused", "it points to another place, and the key is not for that", {
      http: response.status,
    });
  const tooLarge = (): BackendError => fail("too-large", `its answer has more than ${most} bytes`);
  if (Number(response.headers.get("content-length") ?? 0) > most) throw tooLarge();
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body ?? []) {
    size += (piece as Uint8Array).byteLength;
    if (size > most) throw tooLarge();
    pieces.push(piece as Uint8Array);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces));
  } catch {
    throw fail("malformed", "its answer is not UTF-8 text");
  }
}

function resultIn(response: Response, text: string, fail: Fail): Json {
  const answer = parseJson(text) as Json | undefined;
  if (isObject(answer) && answer.status === "error" && isObject(answer.error)) {
    const { code, message, details } = answer.error;
    const said = typeof code === "string" ? code.slice(0, 60) : "UNKNOWN";
    throw fail(FAULTS[said] ?? "refused", typeof message === "string" ? message : said, {
      code: said,
      http: response.status,
      ...(isObject(details) && typeof details.actual === "string" && { actual: details.actual.slice(0, 60) }),
    });
  }
  if (!response.ok) throw silent(response, fail);
  if (!isObject(answer) || answer.status !== "ok" || answer.result === undefined)
    throw fail(
      "malformed",
      answer === undefined ? "its answer is not JSON" : "its answer is not in its envelope",
    );
  return answer.result;
}

function bareIn(response: Response, text: string, fail: Fail): Json {
  const answer = parseJson(text) as Json | undefined;
  // Not ready is an answer too, and says what is missing.
  if (isObject(answer)) return answer;
  if (!response.ok) throw silent(response, fail);
  throw fail("malformed", "its answer is not an object");
}

/** A failure of which the server, or whatever stands before it, says nothing but a number. */
function silent({ status }: Response, fail: Fail): BackendError {
  const gone = status === 502 || status === 503 || status === 504;
  return fail(gone ? "unreachable" : "refused", `it answers with HTTP ${status} and does not say why`, {
    http: status,
  });
}

const FAULTS: { readonly [code: string]: BackendFault } = {
  NOT_FOUND: "not-found",
  SESSION_EXPIRED: "not-found",
  DEADLINE_EXCEEDED: "timeout",
  UNAVAILABLE: "unreachable",
  NOT_INITIALIZED: "unreachable",
};

function without(secret: string | undefined, text: string): string {
  return secret === undefined ? text : text.replaceAll(secret, "(the key)");
}

/** The message of fetch is "fetch failed"; its cause has the reason. */
function reasonOf(error: unknown): string {
  const below = (error as { readonly cause?: { readonly code?: unknown; readonly message?: unknown } }).cause;
  const code = typeof below?.code === "string" ? below.code : undefined;
  const words = typeof below?.message === "string" && below.message !== "" ? below.message : String(error);
  return code === undefined || words.includes(code) ? words : `${code}: ${words}`;
}

export type VikingOptions = {
  /** Where it answers. Default http://127.0.0.1:1933. */
  readonly url?: string;
  /** The name of the secret that is its key; never the key itself. */
  readonly key?: string;
  readonly account?: string;
  readonly user?: string;
  /** Milliseconds that one request may take. Default 30,000. */
  readonly timeout?: number;
  /** Bytes that one answer may have. Default 8 MB. */
  readonly maxAnswer?: number;
  /** The folder that memories are kept in. Default "viking://~/memories/openrath", or that of `user`. */
  readonly root?: string;
  /** Folders of others that are looked into as well. */
  readonly among?: readonly string[];
};

/** Options that were checked. */
export type VikingSettings = {
  readonly name: string;
  readonly url: string;
  readonly key: string | undefined;
  readonly headers: { readonly [name: string]: string };
  readonly timeout: number;
  readonly maxAnswer: number;
  readonly root: VikingAddress;
  readonly among: readonly VikingAddress[];
};

const OPTIONS = optionNames<VikingOptions>()("url key account user timeout maxAnswer root among");

const EXAMPLE = 'viking({ url: "http://127.0.0.1:1933", key: "OPENVIKING_KEY" })';
/** Names of accounts and users: what is one step of an address, and no more. */
const PLAIN = /^[\w.@-]{1,128}$/;

export function settingsOf(options: VikingOptions): VikingSettings {
  const refuse = (reason: string, hint: string): Error =>
    new MemoryRefusedError("option", "use OpenViking", reason, hint);
  requireOptions(options, refuse, EXAMPLE, OPTIONS);
  const { key, account, user, timeout = 30_000, maxAnswer = 8_000_000, among = [] } = options;
  const url = urlOf(options.url ?? "http://127.0.0.1:1933", refuse);
  if (key !== undefined && (typeof key !== "string" || key === ""))
    throw refuse(
      `its \`key\` is ${showValue(key)}`,
      'the name of a secret that the runtime has: key: "OPENVIKING_KEY"',
    );
  for (const [name, value] of Object.entries({ account, user }))
    if (value !== undefined && (typeof value !== "string" || !PLAIN.test(value) || /^\.+$/.test(value)))
      throw refuse(`its \`${name}\` is ${showValue(value)}`, `${name}: "ada"`);
  requireMilliseconds(timeout, "timeout", refuse);
  if (!Number.isSafeInteger(maxAnswer) || maxAnswer < 1_000)
    throw refuse(
      `its \`maxAnswer\` is ${showValue(maxAnswer)}, not a number of bytes from 1,000`,
      "maxAnswer: 8_000_000",
    );
  if (!Array.isArray(among))
    throw refuse("`among` must be a list of addresses", 'among: ["viking://resources"]');
  const home = user === undefined ? "viking://~" : `viking://user/${user}`;
  const root = vikingAddress(options.root ?? `${home}/memories/openrath`);
  if (root.path.length === 0)
    throw refuse(
      `its \`root\` is ${showValue(root.text)}, which is not only ours`,
      'root: "viking://~/memories/openrath"',
    );
  return {
    name: `openviking ${url}`,
    url,
    key,
    headers: { ...defined({ "X-OpenViking-Account": account, "X-OpenViking-User": user }) },
    timeout,
    maxAnswer,
    root,
    among: among.map((one) => vikingAddress(one)),
  };
}

/** Without a name or a password in it: it goes on the record with every reading. */
function urlOf(given: unknown, refuse: (reason: string, hint: string) => Error): string {
  const url = typeof given === "string" && URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw refuse("`url` must be the address of a web server", EXAMPLE);
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw refuse(
      "`url` must have no credentials, query or fragment",
      `the key is a secret of the runtime: ${EXAMPLE}`,
    );
  return url.href.replace(/\/+$/, "");
}
