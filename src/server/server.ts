import { type Handler, RequestError } from "../connect/front/index.js";
import type { Module, Rath } from "../runtime/index.js";
import { warnOf } from "../session/index.js";
import { optionNames } from "../util/index.js";
import { isModule, requireOptions } from "../workflow/index.js";
import { Alarms } from "./act/alarms.js";
import { Erasures } from "./act/erase.js";
import { Following } from "./act/follow.js";
import { Repeats } from "./act/repeat.js";
import { forgetRequests } from "./act/request.js";
import { resumeAll } from "./act/runs.js";
import { type RunLimits, UnderWay } from "./act/under-way.js";
import { appOf } from "./app.js";
import { ServerError } from "./error.js";
import { OriginGuard, type OriginOptions, preflight } from "./guard/origin.js";
import { type Rate, RateLimit } from "./guard/rate.js";
import { handlers } from "./handlers.js";
import { Auth, type AuthOptions } from "./identity/auth.js";
import { Live, type LiveLimits } from "./live/live.js";
import { Mounts } from "./mounts.js";
import { problemResponse } from "./problem.js";

export type ServerLimits = LiveLimits &
  RunLimits & {
    /** Bytes of the body of a request. */
    readonly body: number;
    /** Requests of each person. */
    readonly requests: Rate;
    /** Requests without a valid identity, of everybody together. */
    readonly strangers: Rate;
  };

export type ServerOptions = OriginOptions & {
  /** How people prove who they are. */
  readonly auth: AuthOptions;
  /** The modules that can be run, by name. */
  readonly modules?: { readonly [name: string]: Module };
  readonly limits?: Partial<ServerLimits>;
  /** Answers GET requests outside of the API, for anybody: the files of a page. */
  readonly pages?: Handler;
};

/** A fetch handler, and what its owner does with it. */
export type Server = Handler & {
  /** The bearer token of the one person of single-user mode. */
  readonly token: string | undefined;
  /** A token for the fragment of a link; a page exchanges it once for a cookie, within ten minutes. */
  start(): string;
  /**
   * Goes on with runs that were cut off, whose timers are due or whose answers came meanwhile, and gives their names. From then on
   * until `close`, runs that are answered in another process go on too, and indexes are kept as sessions are saved.
   */
  resume(): Promise<readonly string[]>;
  /** Ends the open streams. The runtime stays open, and closing it leaves runs to be resumed. */
  close(): void;
};

const OPTIONS = optionNames<ServerOptions>()("auth modules limits pages hosts origins");
const LIMITS: ServerLimits = {
  streams: 2_000,
  streamsPerPerson: 32,
  runs: 1_000,
  runsPerPerson: 100,
  body: 4 * 1024 ** 2,
  requests: { burst: 1_000, perSecond: 500 },
  strangers: { burst: 100, perSecond: 20 },
};

/**
 * Everything that the record answers and that people do, over HTTP, each action with a verified identity.
 *
 * ```ts
 * const handler = server(rath, { modules: { clerk }, auth: { users: "rath.db.users.json" } });
 * const { url } = await serve(handler, { port: 7284 });
 * ```
 */
export function server(rath: Rath, options: ServerOptions): Server {
  return serverWith(rath, options);
}

/** The same with the sign-ins of an earlier server: they outlive a store that was replaced. */
export function serverWith(rath: Rath, options: ServerOptions, signIns?: Auth): Server {
  const refuse = (reason: string, hint: string) => new ServerError(reason, hint);
  requireOptions(options, refuse, 'server(rath, { auth: { single: "user:ada" } })', OPTIONS);
  const { modules = {}, pages, limits = {} } = options;
  for (const [name, module] of Object.entries(modules))
    if (!isModule(module))
      throw refuse(`the module ${JSON.stringify(name)} is not a module`, "modules: { clerk }");
  requireOptions(limits, refuse, "limits: { streams: 2000 }", LIMITS);
  const most = { ...LIMITS, ...limits };
  const auth = signIns ?? new Auth(options.auth);
  const guard = new OriginGuard(options);
  const live = new Live(rath, most);
  const acts = {
    underWay: new UnderWay(most),
    repeats: new Repeats(),
    erasures: new Erasures(),
    alarms: new Alarms(),
  };
  const following = new Following();
  const mounts = new Mounts(
    { rath, modules, auth, live, underWay: acts.underWay },
    { ...options, maxBody: most.body },
  );
  const app = appOf({
    rath,
    mounts,
    acts,
    auth,
    live,
    modules,
    guard,
    handlers,
    requests: new RateLimit(most.requests),
    strangers: new RateLimit(most.strangers),
    maxBody: most.body,
  });
  const handle = async (request: Request): Promise<Response> => {
    let allowed: { readonly [header: string]: string } = {};
    let response: Response;
    try {
      allowed = guard.check(request);
      const { pathname } = new URL(request.url);
      if (request.method === "OPTIONS") response = preflight(allowed);
      else if (pages !== undefined && !isOfApi(pathname)) response = await page(pages, request);
      else response = await app.fetch(request);
    } catch (error) {
      response = problemResponse(error);
    }
    return guarded(response, allowed);
  };
  return Object.assign(handle, {
    token: auth.token,
    start: () => auth.start(),
    resume: async () => {
      const store = await rath.store();
      following.begin({ rath, modules, acts }, store);
      forgetRequests(store).catch((error: unknown) => warnOf(error, "OPENRATH_SERVER"));
      return resumeAll({ rath, modules, acts });
    },
    close: () => {
      following.stop();
      live.close();
      acts.underWay.close();
      acts.alarms.close();
      void mounts.close().catch(() => {});
    },
  });
}

function isOfApi(path: string): boolean {
  return /^\/(api|ui|agui|a2a|mcp|\.well-known)(\/|$)|^\/openapi\.json$/.test(path);
}

async function page(pages: Handler, request: Request): Promise<Response> {
  if (request.method === "GET" || request.method === "HEAD") return pages(request);
  throw new RequestError(405, "method-refused", "This address does not support the method.", {
    hint: "send GET",
    data: { allow: ["GET", "HEAD"] },
  });
}

/** Nothing of an answer is run by a browser, and nothing is kept unless the answer says so. */
const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

function guarded(response: Response, allowed: { readonly [header: string]: string }): Response {
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(HEADERS)) if (!headers.has(name)) headers.set(name, value);
  for (const [name, value] of Object.entries(allowed)) headers.set(name, value);
  return new Response(response.body, { status: response.status, headers });
}
