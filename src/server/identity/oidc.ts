import type { JWTPayload, JWTVerifyGetKey } from "jose";
import type { Principal } from "../../session/index.js";
import { isText } from "../../util/index.js";
import { ServerError } from "../error.js";
import { RateLimit } from "../guard/rate.js";
import type { Grant, Identity } from "./identity.js";
import { hashOf, isGrant } from "./users.js";

/** Bearer tokens of an OpenID Connect provider. */
export type OidcOptions = {
  /** The `iss` that a token must have. */
  readonly issuer: string;
  /** The `aud` that a token must have: the name of this server at the provider. */
  readonly audience: string;
  /** The address of the key set, https or of this machine. It is read again when a token names a key that is not in it. */
  readonly jwks: string;
  /** The claim that names the person. Default "sub". A person named ada is recorded as `user:ada`. With "email", `email_verified` must be true. */
  readonly claim?: string;
  /** The roles of a person by the claims of the token. Without it they may view everything and nothing more. */
  readonly grants?: (claims: { readonly [claim: string]: unknown }) => readonly Grant[];
};

/** A secret that both sides know would let anybody who has the public key make tokens: signatures of key pairs alone. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
/** Clocks of two machines may differ by so many seconds. */
const TOLERANCE = 30;
const MOST = 8192;
/** Signatures are checked so often for tokens that are new here; those that held once are not kept out by others. */
const NEW = { burst: 400, perSecond: 100 };
const REMEMBERED = 10_000;

export class Oidc {
  readonly #options: OidcOptions;
  #keys: Promise<JWTVerifyGetKey> | undefined;
  readonly #tries = new RateLimit(NEW);
  /** The hashes of tokens that held, the oldest first. */
  readonly #known = new Set<string>();

  constructor(options: OidcOptions) {
    const { issuer, audience, jwks, claim, grants } = options;
    if (!isText(issuer) || !isText(audience) || !isText(jwks))
      throw new ServerError(
        "`oidc` needs an issuer, an audience and the address of a key set",
        'auth: { oidc: { issuer: "https://login.example.com", audience: "rath", jwks: "https://login.example.com/jwks" } }',
      );
    if (!isSafe(jwks))
      throw new ServerError(
        "the key set of `oidc` must come over https",
        "give an https address: anybody on the way could change another",
      );
    if (claim !== undefined && !isText(claim))
      throw new ServerError("the `claim` of `oidc` must be a string", 'claim: "email"');
    if (grants !== undefined && typeof grants !== "function")
      throw new ServerError(
        "the `grants` of `oidc` must be a function",
        'grants: (claims) => [{ roles: ["view"], under: "*" }]',
      );
    this.#options = options;
  }

  /** The person of a token; undefined for one that does not hold, for whatever reason. */
  async identify(token: string): Promise<Identity | undefined> {
    const { issuer, audience, claim = "sub", grants = VIEW } = this.#options;
    if (token.length > MOST || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return undefined;
    const hash = hashOf(token);
    if (!this.#known.has(hash)) this.#tries.take("");
    let claims: JWTPayload;
    try {
      const { jwtVerify } = await import("jose");
      this.#keys ??= this.#remote();
      const verified = await jwtVerify(token, await this.#keys, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        clockTolerance: TOLERANCE,
        requiredClaims: ["exp", "iat"],
      });
      claims = verified.payload;
    } catch {
      return undefined;
    }
    this.#known.add(hash);
    for (const oldest of this.#known) {
      if (this.#known.size <= REMEMBERED) break;
      this.#known.delete(oldest);
    }
    // An address that nobody verified is whatever somebody typed.
    if (claim === "email" && claims.email_verified !== true) return undefined;
    const who = claims[claim];
    if (typeof who !== "string" || !/^[\p{L}\p{N}][\p{L}\p{N}._@|:-]{0,127}$/u.test(who)) return undefined;
    const given = grants(claims);
    if (!Array.isArray(given) || !given.every(isGrant)) return undefined;
    return { principal: `user:${who}` as Principal, grants: given, via: "oidc" };
  }

  /** The keys come from the configured address alone, whatever the header of a token names. */
  async #remote(): Promise<JWTVerifyGetKey> {
    const { createRemoteJWKSet } = await import("jose");
    return createRemoteJWKSet(new URL(this.#options.jwks), {
      timeoutDuration: 5_000,
      cooldownDuration: 10_000,
    });
  }
}

const VIEW = (): readonly Grant[] => [{ roles: ["view"], under: "*" }];

function isSafe(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return (
    protocol === "https:" || (protocol === "http:" && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname))
  );
}
