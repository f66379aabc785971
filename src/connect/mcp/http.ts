import type { FetchLike, OAuthClientProvider } from "@modelcontextprotocol/client";
import { Secrets as Concealed } from "../../runtime/index.js";
import type { Json } from "../../session/index.js";
import { Breach, type Limits, Meter } from "./limits.js";

/** Values by name, or functions that return them. They are never recorded. */
export type Values = {
  readonly [name: string]: string | (() => string | Promise<string>);
};

/** The values as they are now: a token may be another one than a minute ago. */
export async function valuesOf(values: Values): Promise<{ [name: string]: string }> {
  const entries = Object.entries(values).map(
    async ([name, value]) => [name, typeof value === "function" ? await value() : value] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

/**
 * Fetches within limits: an answer that is longer than a message may be, or a stream with such a message in it or with
 * too many, breaks off. `fault` is told why.
 */
export function limitedFetch(
  headers: () => Promise<{ [name: string]: string }>,
  limits: Limits,
  fault: (breach: Breach) => void,
): FetchLike {
  const meter = new Meter(limits.burst);
  return async (url, init) => {
    const all = new Headers(await headers());
    // Headers of the protocol itself cannot be replaced.
    new Headers(init?.headers).forEach((value, name) => {
      all.set(name, value);
    });
    const response = await fetch(url, { ...init, headers: all, redirect: "error" });
    if (response.body === null) return response;
    const stream = /^text\/event-stream/i.test(response.headers.get("content-type") ?? "");
    const body = response.body.pipeThrough(
      stream ? events(limits.frame, meter, fault) : whole(limits.frame, fault),
    );
    return new Response(body, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  };
}

function whole(most: number, fault: (breach: Breach) => void): TransformStream<Uint8Array, Uint8Array> {
  let held = 0;
  return new TransformStream({
    transform(piece, controller) {
      held += piece.length;
      if (held > most) refuse(new Breach("frame", `it sent more than ${most} bytes`), controller, fault);
      else controller.enqueue(piece);
    },
  });
}

const NEWLINE = 10;
const RETURN = 13;

/** Counts the bytes of each event, which an empty line ends. */
function events(
  most: number,
  meter: Meter,
  fault: (breach: Breach) => void,
): TransformStream<Uint8Array, Uint8Array> {
  let held = 0;
  let newline = false;
  return new TransformStream({
    transform(piece, controller) {
      try {
        for (const byte of piece) {
          if (byte === RETURN) continue;
          if (byte === NEWLINE && newline) {
            held = 0;
            meter.take();
          } else held += 1;
          newline = byte === NEWLINE;
        }
        if (held > most) throw new Breach("frame", `it sent a message of more than ${most} bytes`);
        controller.enqueue(piece);
      } catch (error) {
        if (!(error instanceof Breach)) throw error;
        refuse(error, controller, fault);
      }
    },
  });
}

function refuse(
  breach: Breach,
  controller: TransformStreamDefaultController,
  fault: (breach: Breach) => void,
): void {
  fault(breach);
  controller.error(breach);
}

/** How to get leave from a server that asks for it by OAuth. */
export type Authorization = {
  /** Keeps tokens and registrations, and leads a person to the page where they agree: of the package, or your own. */
  readonly provider: OAuthClientProvider;
  /** Waits until the person has agreed: the parameters with which they came back to the redirect address. */
  readonly callback?: () => Promise<URLSearchParams>;
};

type Package = typeof import("@modelcontextprotocol/client");

/**
 * Fetches with leave. A request that was refused for want of it was not heard: leave is asked for, and the request made
 * once more. Requests that are refused at the same time ask together.
 */
export function authorizedFetch(
  { auth, extractWWWAuthenticateParams, computeScopeUnion, isStrictScopeSuperset }: Package,
  url: string | URL,
  { provider, callback }: Authorization,
  fetches: { readonly server: FetchLike; readonly authority: FetchLike },
  secrets: Secrets,
): FetchLike {
  let asking: Promise<void> | undefined;

  const tokens = async (): Promise<
    { readonly access_token: string; readonly scope?: string } | undefined
  > => {
    const known = await provider.tokens();
    if (known === undefined) return undefined;
    const { access_token, refresh_token } = known;
    secrets.add({ access_token, ...(refresh_token !== undefined && { refresh_token }) });
    return known as { readonly access_token: string; readonly scope?: string };
  };

  const ask = async (response: Response, used: string | undefined): Promise<void> => {
    const { resourceMetadataUrl, scope: challenged } = extractWWWAuthenticateParams(response);
    const before = await tokens();
    // Somebody else got leave meanwhile.
    if (response.status === 401 && before !== undefined && before.access_token !== used) return;
    const scope = response.status === 403 ? computeScopeUnion(before?.scope, challenged) : challenged;
    // A refused token may be of an authority that the server has replaced.
    if (response.status === 401 && used !== undefined) await provider.invalidateCredentials?.("discovery");
    const settings = {
      serverUrl: url,
      fetchFn: fetches.authority,
      ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
      ...(scope !== undefined && { scope }),
    };
    const forceReauthorization = isStrictScopeSuperset(scope, before?.scope);
    const sent: { state?: string | null } = {};
    const watched = watching(provider, (page) => {
      sent.state = page.searchParams.get("state");
    });
    if ((await auth(watched, { ...settings, forceReauthorization })) === "AUTHORIZED") return;
    if (callback === undefined)
      throw new Error("a person has to agree first, and nobody waits for that: give auth a callback");
    const back = await callback();
    const [code, iss] = [back.get("code"), back.get("iss")];
    // Another state means that somebody else started this authorization.
    if (typeof sent.state === "string" && back.get("state") !== sent.state)
      throw new Error(
        "what came back belongs to another request for leave: its state is not the one that was sent",
      );
    if (code === null)
      throw new Error(`the person did not agree: ${back.get("error") ?? "no code came back"}`);
    await auth(provider, { ...settings, authorizationCode: code, ...(iss !== null && { iss }) });
  };

  return async (to, init) => {
    const attempt = async (): Promise<{ response: Response; used: string | undefined }> => {
      const headers = new Headers(init?.headers);
      const used = (await tokens())?.access_token;
      if (used !== undefined) headers.set("authorization", `Bearer ${used}`);
      return { response: await fetches.server(to, { ...init, headers }), used };
    };
    const { response, used } = await attempt();
    if (response.status !== 401 && !isShort(response)) return response;
    await response.body?.cancel().catch(() => {});
    asking ??= ask(response, used).finally(() => {
      asking = undefined;
    });
    await asking;
    return (await attempt()).response;
  };
}

/** The same provider, and word of the page that a person is led to. */
function watching(provider: OAuthClientProvider, led: (page: URL) => void): OAuthClientProvider {
  return new Proxy(provider, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      if (key !== "redirectToAuthorization") return value.bind(target);
      return (page: URL) => {
        led(page);
        return target.redirectToAuthorization(page);
      };
    },
  });
}

/** Whether leave was there, and not enough of it. */
function isShort({ status, headers }: Response): boolean {
  return status === 403 && /insufficient_scope/.test(headers.get("www-authenticate") ?? "");
}

/**
 * Knows what a server was given in confidence, and takes it out of what it says: in clear, and in the forms in which
 * programs pass such things on.
 */
export class Secrets {
  #values: { readonly [name: string]: string } = {};
  #concealed = new Concealed({});

  /** Learns values by their names. One that was another value before is still kept off the record. */
  add(values: { readonly [name: string]: string }): void {
    const more = Object.entries(values).flatMap(([name, value]) => {
      // The scheme before the secret is public, and the secret alone is one too.
      const [, bare] = /^(?:Bearer|Basic|Token)\s+(.+)$/i.exec(value) ?? [];
      return bare === undefined ? [[name, value] as const] : [[name, value] as const, [name, bare] as const];
    });
    const known = new Set(Object.values(this.#values));
    const news = more.filter(([, value]) => value !== "" && !known.has(value));
    if (news.length === 0) return;
    const next: { [name: string]: string } = { ...this.#values };
    for (const [name, value] of news) next[freeName(name, next)] = value;
    this.#values = next;
    this.#concealed = new Concealed(next);
  }

  text(text: string): string {
    return this.#concealed.conceal(text).value;
  }

  json(value: Json): Json {
    return this.#concealed.conceal(value).value;
  }
}

function freeName(name: string, taken: { readonly [name: string]: string }): string {
  let free = name;
  for (let count = 2; Object.hasOwn(taken, free); count++) free = `${name}#${count}`;
  return free;
}
