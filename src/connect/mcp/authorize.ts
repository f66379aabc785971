import type { FetchLike, OAuthClientProvider } from "@modelcontextprotocol/client";
import type { Secrets } from "./secret.js";

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
    // A token that is no good any more may be of an authority that is not the server's any more.
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
    // Whoever comes back with another state was led here by somebody else.
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
