import type { Json } from "../../../session/index.js";
import { decodePart } from "../../../util/index.js";
import { type DoorOptions, jsonOf } from "../door.js";
import { failureOf, type Params, type RpcCall } from "./message.js";
import { jsonNames } from "./proto-name.js";

/** The call that a request by HTTP+JSON makes, or undefined where it makes none. */
export async function restCallOf(
  request: Request,
  base: string,
  options: DoorOptions,
): Promise<RpcCall | undefined> {
  const { pathname, searchParams } = new URL(request.url);
  const path = pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname;
  for (const [methods, pattern, method, names] of ROUTES) {
    const found = methods.includes(request.method) ? pattern.exec(path) : null;
    if (found === null) continue;
    const inPath = names.map((name, place) => [name, decodePart(found[place + 1] ?? "")] as const);
    const query = Object.entries(Object(jsonNames(Object.fromEntries(searchParams))));
    const inQuery = query.map(([name, value]) => [name, typed(name, String(value))] as const);
    const isBodied = request.method === "POST" && BODIED.has(method);
    const body = isBodied ? Object(await jsonOf(request, options)) : {};
    const given = { ...Object.fromEntries(inQuery), ...Object(jsonNames(body)) };
    return { method, params: { ...given, ...Object.fromEntries(inPath) } as Params };
  }
  return undefined;
}

const CONFIGS = /^\/tasks\/([^/:]+)\/pushNotificationConfigs$/;
const CONFIG = /^\/tasks\/([^/:]+)\/pushNotificationConfigs\/([^/:]+)$/;

const ROUTES: readonly (readonly [
  methods: string,
  pattern: RegExp,
  method: string,
  names: readonly string[],
])[] = [
  ["POST", /^\/message:send$/, "SendMessage", []],
  ["POST", /^\/message:stream$/, "SendStreamingMessage", []],
  ["GET", /^\/tasks$/, "ListTasks", []],
  ["GET", /^\/tasks\/([^/:]+)$/, "GetTask", ["id"]],
  ["POST", /^\/tasks\/([^/:]+):cancel$/, "CancelTask", ["id"]],
  ["GET POST", /^\/tasks\/([^/:]+):subscribe$/, "SubscribeToTask", ["id"]],
  ["POST", CONFIGS, "CreateTaskPushNotificationConfig", ["taskId"]],
  ["GET", CONFIGS, "ListTaskPushNotificationConfigs", ["taskId"]],
  ["GET", CONFIG, "GetTaskPushNotificationConfig", ["taskId", "id"]],
  ["DELETE", CONFIG, "DeleteTaskPushNotificationConfig", ["taskId", "id"]],
  ["GET", /^\/extendedAgentCard$/, "GetExtendedAgentCard", []],
];

const BODIED: ReadonlySet<string> = new Set([
  "SendMessage",
  "SendStreamingMessage",
  "CreateTaskPushNotificationConfig",
]);

/** A query has texts alone. */
function typed(name: string, value: string): Json {
  if (name === "includeArtifacts") return value === "true";
  if (name === "historyLength" || name === "pageSize") return value === "" ? null : Number(value);
  return value;
}

const TYPE = { "content-type": "application/a2a+json", "cache-control": "no-store" };

export function restResult(result: Json): Response {
  return new Response(JSON.stringify(result), { headers: TYPE });
}

export function restError(error: unknown): Response {
  const body = restErrorBody(error);
  return new Response(JSON.stringify(body), { status: body.error.code, headers: TYPE });
}

/** An error as `google.rpc.Status` has it. */
export function restErrorBody(error: unknown): {
  readonly error: { readonly code: number } & { [field: string]: Json };
} {
  const { reason, message, status, info } = failureOf(error);
  const [code, name] = STATUSES[reason] ?? [status < 400 ? 400 : status, NAMES[status] ?? "INVALID_ARGUMENT"];
  return { error: { code, status: name, message, details: [info] } };
}

const STATUSES: { readonly [reason: string]: readonly [code: number, name: string] | undefined } = {
  TASK_NOT_FOUND: [404, "NOT_FOUND"],
  METHOD_NOT_FOUND: [404, "NOT_FOUND"],
  TASK_NOT_CANCELABLE: [400, "FAILED_PRECONDITION"],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [400, "FAILED_PRECONDITION"],
  UNSUPPORTED_OPERATION: [400, "FAILED_PRECONDITION"],
  VERSION_NOT_SUPPORTED: [400, "FAILED_PRECONDITION"],
  INTERNAL_ERROR: [500, "INTERNAL"],
};

const NAMES: { readonly [status: number]: string | undefined } = {
  403: "PERMISSION_DENIED",
  409: "FAILED_PRECONDITION",
};
