import { type Principal, warnOf } from "../../session/index.js";
import type { Refuse } from "../../workflow/index.js";
import { isSender, requireAccess, SENDERS } from "../options.js";
import { loadServer } from "./error.js";

/** Access by HTTP, and the names of the host. */
export type DoorOptions = {
  /**
   * Says who sent a request, which is on the record as `by` and separates the runs of callers; or answers instead, with a
   * 401 or 403. Where it says nothing, or throws, nobody comes in.
   */
  readonly principal?: (
    request: Request,
  ) => Principal | Response | undefined | Promise<Principal | Response | undefined>;
  /** Lets anybody in, all as one and the same `by`. Without it, and without `principal`, `fetch` refuses everybody. */
  readonly open?: boolean;
  /**
   * Lets the person behind a client approve and settle the calls that the client's request leads to. Default false: only
   * other people may, or the approvers that the terms name. The caller must be a person: `by: "user:ada"`, or `principal`.
   */
  readonly selfApproval?: boolean;
  /** Says whether a caller may approve and settle in the run of this name. Default: as `selfApproval` and the terms say. */
  readonly mayApprove?: (who: Principal, name: string) => boolean;
  /** The names of the host under which it is reached by HTTP. Default: those of this machine alone. */
  readonly hosts?: readonly string[];
  /** The names of hosts whose pages may call it. Default: those of this machine alone. */
  readonly origins?: readonly string[];
};

/** Refuses options that would open the door to everybody by mistake, or to nobody. */
export function requireDoor(
  { hosts, origins, by, ...access }: DoorOptions & { readonly by?: Principal },
  refuse: Refuse,
): void {
  requireAccess(access, by ?? "", refuse);
  for (const [option, names] of Object.entries({ hosts, origins }))
    if (names !== undefined && !(Array.isArray(names) && names.every((name) => typeof name === "string")))
      throw refuse(`its \`${option}\` must be a list of names`, `${option}: ["tools.example.com"]`);
}

/** The sender of a request, or the response that refuses it. */
export async function whoSent(
  request: Request,
  { principal, open, hosts, origins }: DoorOptions,
  by: Principal,
): Promise<Principal | Response> {
  const { validateHostHeader, originValidationResponse, ...names } = await loadServer();
  // A page of a stranger may know the address, and a name of a stranger may lead here: both are looked at. A request that
  // a program made has no such header: then its address says where it was sent.
  const host = request.headers.get("host") ?? new URL(request.url).host;
  const reached = validateHostHeader(host, [...(hosts ?? names.localhostAllowedHostnames())]);
  if (!reached.ok)
    return refusal(403, reached.message, 'say under which names it is reached: hosts: ["tools.example.com"]');
  const page = originValidationResponse(request, [...(origins ?? names.localhostAllowedOrigins())]);
  if (page !== undefined) return page;
  if (open === true) return by;
  if (principal === undefined)
    return refusal(
      403,
      "Nobody says who may come in.",
      'say who sends a request: mcpServer({ principal: (request) => "user:ada" }); or let anybody in: mcpServer({ open: true })',
    );
  let who: unknown;
  try {
    who = await principal(request);
  } catch (error) {
    // The reason may hold anything: it is for the log of the server.
    warnOf(error, "OPENRATH_MCP");
  }
  if (who instanceof Response) return who;
  if (isSender(who)) return who;
  if (typeof who === "string" && who !== "")
    return refusal(403, "The sender of this request is not known.", SENDERS);
  return refusal(
    401,
    "The sender of this request is not known.",
    "send what the server knows you by, such as a token",
    {
      "www-authenticate": "Bearer",
    },
  );
}

/** A refusal in the words of the protocol, which says what to do. */
export function refusal(
  status: number,
  message: string,
  hint: string,
  headers: { readonly [name: string]: string } = {},
): Response {
  const error = { code: -32_001, message: `${message} (${hint})`, data: { reason: message, hint } };
  return Response.json(
    { jsonrpc: "2.0", error, id: null },
    { status, headers: { "cache-control": "no-store", ...headers } },
  );
}
