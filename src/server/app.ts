import { type Context, Hono } from "hono";
import { jsonOf, RequestError } from "../connect/front/index.js";
import type { Found } from "../store/index.js";
import { keyOf } from "./act/repeat.js";
import { outcomeOf, type Ran } from "./act/under-way.js";
import { type Call, forbidden, type Handlers, type Parts, placeOf } from "./call.js";
import { fieldsOf, parametersOf, type Role, type Route } from "./contract/route.js";
import { routes } from "./contract/routes.js";
import { checkerOf } from "./guard/check.js";
import type { OriginGuard } from "./guard/origin.js";
import type { RateLimit } from "./guard/rate.js";
import type { Identity } from "./identity/identity.js";
import { Stays } from "./identity/stays.js";
import { MOUNTS, type Mounts } from "./mounts.js";

export type AppOptions = Parts & {
  readonly handlers: Handlers;
  readonly guard: OriginGuard;
  /** Requests of each person, and those without an identity, together. */
  readonly requests: RateLimit;
  readonly strangers: RateLimit;
  readonly maxBody: number;
  readonly mounts: Mounts;
};

/** The operations behind their paths. Before an operation runs, its sender is known, may do it, and sent what it takes. */
export function appOf(options: AppOptions): Hono {
  const app = new Hono();
  const stays = new Stays(options.auth);
  for (const [name, route] of Object.entries(routes) as [keyof typeof routes, Route][]) {
    const path = route.path.replaceAll(/\{(\w+)\}/g, ":$1");
    const run = operation(route, options.handlers[name] as Operation, { ...options, stays });
    app.on(route.method, path, run);
  }
  for (const mount of MOUNTS) {
    const answer = async (context: Context): Promise<Response> => {
      const request = context.req.raw;
      const identity = await identified(request, MOUNTED, options);
      return stays.keep(await options.mounts.answer(mount, request, identity), request, identity);
    };
    app.all(`/${mount}`, answer);
    app.all(`/${mount}/*`, answer);
  }
  app.notFound(({ req }) => {
    const allow = PATHS.flatMap(([path, method]) => (path.test(req.path) ? [method] : []));
    if (allow.length > 0)
      throw new RequestError(405, "method-refused", `This address does not support ${req.method}.`, {
        hint: `send ${allow.join(" or ")}`,
        data: { allow },
      });
    throw new RequestError(404, "not-found", "There is nothing at this address.", {
      hint: "list the addresses: GET /openapi.json",
    });
  });
  app.onError((error) => {
    throw error;
  });
  return app;
}

/** The identity that the protocols of other front ends need. */
const MOUNTED = { role: "run", path: "" } as const;

/** Bytes of the body of a request without an identity. */
const SMALL = 64 * 1024;

/** The paths of the operations, and their methods. */
const PATHS = Object.values(routes).map(
  ({ path, method }) => [new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`), method] as const,
);

type Operation = (call: Call) => unknown;
type Operating = AppOptions & { readonly stays: Stays };

function operation(route: Route, run: Operation, options: Operating) {
  const query = checkerOf(route.query, "query");
  const body = checkerOf(route.body, "body");
  const parameters = parametersOf(route.path);
  const { rath, auth, live, modules, acts, maxBody, stays } = options;
  const answered = async (context: Context): Promise<Response> => {
    const request = context.req.raw;
    if (request.method === "HEAD" && "media" in route.answer)
      throw new RequestError(405, "method-refused", "This address does not support HEAD.", {
        hint: "send GET",
        data: { allow: [route.method] },
      });
    const identity = await identified(request, route, options);
    const most = identity === undefined ? Math.min(maxBody, SMALL) : maxBody;
    const path = Object.fromEntries(parameters.map((name) => [name, parameterOf(context, name)]));
    const given = {
      query: await query(queryOf(request, route)),
      body: route.body === undefined ? {} : await body(await jsonOf(request, { maxBody: most })),
    };
    const store = await rath.store();
    const { name } = path as { readonly name?: string };
    const session: Found | undefined =
      name === undefined || route.role === "anyone" || route.role === "member"
        ? undefined
        : await placeOf(store, identity as Identity, route.role, name);
    const parts = { rath, auth, live, modules, acts, request, store, identity, session };
    const respond = async (): Promise<Response> => {
      const answer = await run({ ...parts, path, ...given } as Call);
      if (!(answer instanceof Response)) return Response.json(answer);
      return identity === undefined ? answer : stays.keep(answer, request, identity);
    };
    // A repeated stream attaches to its run, and what only looks is looked at anew.
    const isKeyed = request.method === "POST" && !("media" in route.answer) && !isLook(route, given.body);
    if (identity === undefined || !isKeyed) return respond();
    const outcome = async ({ name, id }: Ran): Promise<Ran> => outcomeOf(name, await rath.load(id));
    return acts.repeats.once(keyOf(request, identity.principal, given.body), identity, respond, outcome);
  };
  if (route !== routes.start) return answered;
  // Only what is refused is counted: nobody is kept from entering by others who try to.
  return (context: Context): Promise<Response> =>
    answered(context).catch((error) => {
      options.strangers.take(route.path);
      throw error;
    });
}

/** Whether a request changes nothing. Its answer has words of the record, so none is remembered. */
function isLook(route: Route, body: object): boolean {
  return (
    route === routes.replay || route === routes.rerunPlan || (route === routes.erase && !("token" in body))
  );
}

/** The verified sender. A request without one gets 401, and after many tries 429. */
async function identified(
  request: Request,
  route: { readonly role: Role; readonly path: string },
  options: AppOptions,
): Promise<Identity>;
async function identified(
  request: Request,
  route: Pick<Route, "role" | "path">,
  options: AppOptions,
): Promise<Identity | undefined>;
async function identified(
  request: Request,
  route: Pick<Route, "role" | "path">,
  { auth, guard, requests, strangers }: AppOptions,
): Promise<Identity | undefined> {
  if (route.role === "anyone") {
    if (route !== routes.start) strangers.take(route.path);
    if (request.headers.has("cookie")) guard.requireIntent(request);
    return undefined;
  }
  const identity = await auth.identify(request);
  if (identity === undefined) {
    strangers.take("");
    throw new RequestError(401, "identity-missing", "The request does not identify its sender.", {
      hint: "send authorization: Bearer TOKEN; create a token: rath user add NAME --role view",
    });
  }
  if (identity.via === "cookie") guard.requireIntent(request);
  requests.take(identity.principal);
  const { role } = route;
  if (role !== "member" && !identity.grants.some(({ roles }) => role === "view" || roles.includes(role)))
    throw forbidden(identity, role);
  return identity;
}

function parameterOf(context: Context, name: string): string {
  const value = context.req.param(name) ?? "";
  if (value !== "" && value.length <= 1024 && !value.includes("\0")) return value;
  throw new RequestError(400, "path-broken", `The ${name} in the path is not encoded correctly.`, {
    hint: "encode it with encodeURIComponent",
  });
}

/** The parameters of a query, as the types that their schema names. */
function queryOf(request: Request, { query }: Route): { readonly [name: string]: unknown } {
  const fields = fieldsOf(query);
  const found: { [name: string]: unknown } = Object.create(null);
  for (const [name, value] of new URL(request.url).searchParams) {
    const type = Object.hasOwn(fields, name) ? fields[name]?.type : undefined;
    if (type === "array") {
      found[name] = [...((found[name] as string[] | undefined) ?? []), value];
      continue;
    }
    if (name in found)
      throw new RequestError(400, "query-broken", `The query contains ${name.slice(0, 60)} twice.`, {
        hint: "send it once",
      });
    found[name] =
      type === "integer" || type === "number"
        ? /^-?\d{1,15}(\.\d+)?$/.test(value)
          ? Number(value)
          : value
        : type === "boolean" && (value === "true" || value === "false")
          ? value === "true"
          : value;
  }
  return { ...found };
}
