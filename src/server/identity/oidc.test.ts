import { expect, it } from "vitest";
import { client } from "../contract/client.js";
import { server } from "../server.js";
import { issuerOf } from "../testing/issuer.js";
import { serving } from "../testing/serving.js";

it("[SI2] a token of the configured provider proves its person, with the roles that its claims give", async () => {
  const { issuer, jwks, sign } = await issuerOf();
  const grants = ({ groups }: { readonly [claim: string]: unknown }) =>
    Array.isArray(groups) && groups.includes("staff")
      ? [{ roles: ["approve"] as const, under: "pay/*" }]
      : [];
  const { url } = await serving({ auth: { oidc: { issuer, audience: "rath", jwks, grants } } });
  const staff = await client(url, { token: await sign({ groups: ["staff"] }) }).me();
  expect(staff).toMatchObject({
    principal: "user:olga",
    grants: [{ roles: ["approve"], under: "pay/*" }],
    via: "oidc",
  });
  const guest = client(url, { token: await sign({ groups: [] }) });
  expect((await guest.me()).grants).toEqual([]);
  await expect(guest.facts({ name: "pay/1" })).rejects.toMatchObject({ status: 403 });
});

it("[SI2] without `grants` they may view; another claim may name them", async () => {
  const { issuer, jwks, sign } = await issuerOf();
  const { url } = await serving({ auth: { oidc: { issuer, audience: "rath", jwks, claim: "email" } } });
  const found = await client(url, {
    token: await sign({ email: "olga@example.com", email_verified: true }),
  }).me();
  expect(found).toMatchObject({
    principal: "user:olga@example.com",
    grants: [{ roles: ["view"], under: "*" }],
  });
  await expect(client(url, { token: await sign() }).me()).rejects.toMatchObject({ status: 401 });
});

it("[SI2] it does not speak for people of the server, nor by an address that nobody verified", async () => {
  const { issuer, jwks, sign } = await issuerOf();
  const ground = await serving({}, { oidc: { issuer, audience: "rath", jwks } });
  const olga = client(ground.url, { token: await sign() });
  expect(await olga.me()).toMatchObject({ principal: "user:olga", via: "oidc" });
  ground.token("olga", ["view"]);
  await expect(olga.me()).rejects.toMatchObject({ status: 401 });
  const single = server(ground.rath, {
    auth: { single: "user:olga", oidc: { issuer, audience: "rath", jwks } },
  });
  const headers = { authorization: `Bearer ${await sign()}` };
  expect((await single(new Request("http://localhost/api/me", { headers }))).status).toBe(401);
  const mail = await serving({ auth: { oidc: { issuer, audience: "rath", jwks, claim: "email" } } });
  for (const email_verified of [undefined, false, "true"]) {
    const token = await sign({ email: "olga@example.com", email_verified });
    await expect(client(mail.url, { token }).me()).rejects.toMatchObject({ status: 401 });
  }
});
