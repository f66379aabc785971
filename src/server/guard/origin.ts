import { RequestError } from "../../connect/front/index.js";

export type OriginOptions = {
  /** Names that this server is reached by, beside those of this machine: "rath.example.com". A port is part of it where it is not the usual one. */
  readonly hosts?: readonly string[];
  /** Pages of other origins that may call it with a bearer token: "https://app.example.com". Default: none. */
  readonly origins?: readonly string[];
};

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;
const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
/** A page of another origin cannot set this header without being asked first. */
export const CSRF_HEADER = "x-rath";

/** Refuses requests that a page of another origin made a browser send. */
export class OriginGuard {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;

  constructor({ hosts = [], origins = [] }: OriginOptions) {
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()));
    this.#origins = new Set(origins);
  }

  /** Throws for a request that must not be answered; gives the headers that let a known other origin read the answer. */
  check(request: Request): { readonly [header: string]: string } {
    const { host, protocol } = new URL(request.url);
    // A name of somebody else that leads to this machine must not reach it: DNS rebinding.
    const named = request.headers.get("host") ?? host;
    if (named.toLowerCase() !== host.toLowerCase() || !this.#isOurs(host))
      throw new RequestError(
        421,
        "host-refused",
        "This server does not accept requests for this host name.",
        {
          hint: 'use the address of the server, or allow the host: server(rath, { hosts: ["…"] }), rath serve --allow-host …',
          data: { host: named.slice(0, 255) },
        },
      );
    const origin = request.headers.get("origin");
    if (origin === null || origin === `${protocol}//${host}`) {
      const site = request.headers.get("sec-fetch-site");
      if (
        origin === null &&
        site !== null &&
        site !== "same-origin" &&
        site !== "none" &&
        !SAFE.has(request.method)
      )
        throw foreign(site);
      return {};
    }
    if (!this.#origins.has(origin)) throw foreign(origin);
    return {
      "access-control-allow-origin": origin,
      "access-control-expose-headers": "etag, retry-after, content-range",
      vary: "origin",
    };
  }

  /** A cookie proves only that the browser has it: an action needs a header that forms and foreign pages cannot send. */
  requireIntent(request: Request): void {
    if (SAFE.has(request.method) || request.headers.has(CSRF_HEADER)) return;
    throw new RequestError(403, "csrf-refused", "An action with a cookie needs the header x-rath.", {
      hint: "send x-rath: 1, or a bearer token instead of the cookie",
    });
  }

  #isOurs(host: string): boolean {
    return LOOPBACK.test(host) || this.#hosts.has(host.toLowerCase());
  }
}

/** The answer to a browser that asks whether a page of another origin may send a request. */
export function preflight(allowed: { readonly [header: string]: string }): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...allowed,
      "access-control-allow-methods": "GET, POST, DELETE",
      "access-control-allow-headers": `authorization, content-type, idempotency-key, last-event-id, range, if-none-match, ${CSRF_HEADER}`,
      "access-control-max-age": "600",
    },
  });
}

function foreign(origin: string): RequestError {
  return new RequestError(403, "origin-refused", "A page of another origin may not call this server.", {
    hint: 'allow the origin: server(rath, { origins: ["https://…"] }), rath serve --allow-origin …',
    data: { origin: origin.slice(0, 255) },
  });
}
