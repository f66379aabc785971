import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { onTestFinished } from "vitest";

export type Issuer = {
  readonly issuer: string;
  readonly jwks: string;
  readonly key: CryptoKey;
  readonly publicKey: CryptoKey;
  /** A token that holds, but for what is said otherwise. */
  sign(
    claims?: { readonly [claim in keyof JWTPayload]: JWTPayload[claim] | undefined },
    header?: { readonly [name: string]: unknown },
    key?: CryptoKey | Uint8Array,
  ): Promise<string>;
};

/** An OpenID Connect provider on this machine: its key set, and tokens of it. */
export async function issuerOf(audience = "rath"): Promise<Issuer> {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const keys = [{ ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256", use: "sig" }];
  const provider = createServer((_, outgoing) => {
    outgoing.setHeader("content-type", "application/json");
    outgoing.end(JSON.stringify({ keys }));
  });
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        provider.close(() => resolve());
        provider.closeAllConnections();
      }),
  );
  const issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  return {
    issuer,
    jwks: `${issuer}/keys`,
    key: privateKey,
    publicKey,
    sign: (claims = {}, header = {}, key = privateKey) => {
      const now = Math.floor(Date.now() / 1000);
      const times = { iat: now, exp: now + 600 };
      return new SignJWT({ iss: issuer, aud: audience, sub: "olga", ...times, ...claims } as JWTPayload)
        .setProtectedHeader({ alg: "ES256", kid: "k1", ...header })
        .sign(key);
    },
  };
}
