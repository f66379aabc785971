// @ts-check
// Keeps what an authority gives, and is the person who agrees on its page: the page of the suite needs no more than a look.

/** @typedef {import("@modelcontextprotocol/client").OAuthClientProvider} OAuthClientProvider */

const REDIRECT = "http://localhost:3000/callback";

/** @implements {OAuthClientProvider} */
export class Provider {
  redirectUrl = REDIRECT;
  clientMetadata = { client_name: "openrath", redirect_uris: [REDIRECT] };
  clientMetadataUrl = "https://conformance-test.local/client-metadata.json";
  /** @type {any} */ #client;
  /** @type {any} */ #tokens;
  /** @type {any} */ #discovery;
  #verifier = "";
  /** @type {URLSearchParams | undefined} */ #back;

  /** @param {{ client_id?: string, client_secret?: string }} known */
  constructor({ client_id, client_secret }) {
    if (client_id !== undefined) this.#client = { client_id, client_secret, redirect_uris: [REDIRECT] };
  }

  clientInformation() {
    return this.#client;
  }

  saveClientInformation(/** @type {unknown} */ client) {
    this.#client = client;
  }

  tokens() {
    return this.#tokens;
  }

  saveTokens(/** @type {unknown} */ tokens) {
    this.#tokens = tokens;
  }

  discoveryState() {
    return this.#discovery;
  }

  saveDiscoveryState(/** @type {unknown} */ state) {
    this.#discovery = state;
  }

  codeVerifier() {
    return this.#verifier;
  }

  saveCodeVerifier(/** @type {string} */ verifier) {
    this.#verifier = verifier;
  }

  invalidateCredentials(/** @type {string} */ what) {
    if (what === "all" || what === "client") this.#client = undefined;
    if (what === "all" || what === "tokens") this.#tokens = undefined;
    if (what === "all" || what === "discovery") this.#discovery = undefined;
  }

  async redirectToAuthorization(/** @type {URL} */ page) {
    const { headers } = await fetch(page, { redirect: "manual" });
    this.#back = new URL(headers.get("location") ?? REDIRECT).searchParams;
  }

  /** The parameters with which the person came back. */
  async callback() {
    return this.#back ?? new URLSearchParams();
  }
}
