import { exportJWK, exportSPKI, generateKeyPair, UnsecuredJWT } from "jose";
import { describe, expect, it } from "vitest";
import { Session } from "../session/index.js";
import { type Issuer, issuerOf } from "./testing/issuer.js";
import { raw, requestText } from "./testing/raw.js";
import { type Serving, serving, stateOf } from "./testing/serving.js";

type Attack = {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
  /** The statuses that are a refusal of this one; 0 is a connection that was cut. */
  readonly status: number | readonly number[];
};
type Ground = Serving & {
  readonly issuer: Issuer;
  readonly host: string;
  /** Tokens of a viewer of everything, and of somebody who runs and approves under pay/. */
  readonly viewer: string;
  readonly payer: string;
  readonly expired: string;
  readonly revoked: string;
  readonly cookie: string;
};
type Attacks = { readonly [name: string]: (ground: Ground) => Attack | Promise<Attack> };

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const json = { "content-type": "application/json" };
const now = () => Math.floor(Date.now() / 1000);

/** Who somebody says to be. */
const FORGED: Attacks = {
  "no token": () => ({ status: 401 }),
  "an empty token": () => ({ headers: { authorization: "Bearer " }, status: 401 }),
  "another scheme": ({ viewer }) => ({ headers: { authorization: `Basic ${viewer}` }, status: 401 }),
  "a token without a scheme": ({ viewer }) => ({ headers: { authorization: viewer }, status: 401 }),
  "two tokens in one header": ({ viewer }) => ({
    headers: { authorization: `Bearer ${viewer}, Bearer x` },
    status: 401,
  }),
  "a token in the query": ({ viewer }) => ({ path: `/api/me?token=${viewer}`, status: [400, 401] }),
  "an access_token in the query": ({ viewer }) => ({
    path: `/api/me?access_token=${viewer}`,
    status: [400, 401],
  }),
  "a token in the body": ({ viewer }) => ({
    method: "POST",
    path: "/api/sessions",
    body: `{"token":"${viewer}"}`,
    headers: json,
    status: 405,
  }),
  "an altered secret": ({ viewer }) => ({ headers: bearer(`${viewer.slice(0, -2)}zz`), status: 401 }),
  "an altered id": ({ viewer }) => ({ headers: bearer(viewer.replace(/_./, "_0")), status: [401] }),
  "a secret that is cut": ({ viewer }) => ({ headers: bearer(viewer.slice(0, -1)), status: 401 }),
  "the hash in place of the secret": ({ users }) => ({
    headers: bearer(`rath_${users.tokens[0]?.id}_${users.tokens[0]?.hash}`),
    status: 401,
  }),
  "the id alone": ({ users }) => ({ headers: bearer(`rath_${users.tokens[0]?.id}_`), status: 401 }),
  "an expired token": ({ expired }) => ({ headers: bearer(expired), status: 401 }),
  "a revoked token": ({ revoked }) => ({ headers: bearer(revoked), status: 401 }),
  "a token of another server": () => ({
    headers: bearer(`rath_${"0".repeat(12)}_${"A".repeat(43)}`),
    status: 401,
  }),
  "a token of single-user mode": () => ({ headers: bearer(`single_${"A".repeat(43)}`), status: 401 }),
  "a token of a megabyte": () => ({ headers: bearer("a".repeat(1_000_000)), status: [400, 401, 431, 0] }),
  "a principal in a header": () => ({
    headers: { "x-principal": "user:bea", "x-forwarded-user": "bea" },
    status: 401,
  }),
  "an address that claims to be this machine": () => ({
    headers: { "x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1" },
    status: 401,
  }),
  "a guessed cookie": () => ({ headers: { cookie: "rath_000000000000=AAAA" }, status: 401 }),
  "a cookie whose secret is altered": ({ cookie }) => ({ headers: { cookie: `${cookie}x` }, status: 401 }),
  "a bearer token as a cookie": ({ cookie, viewer }) => ({
    headers: { cookie: `${cookie.split("=")[0]}=${viewer}` },
    status: 401,
  }),
  "two cookies of the name": ({ cookie }) => ({
    headers: { cookie: `${cookie.split("=")[0]}=x; ${cookie}` },
    status: 401,
  }),
  "a good cookie beside a bad token": ({ cookie }) => ({ headers: { cookie, ...bearer("x") }, status: 401 }),
};

/** Tokens that are not of the provider. */
const CONFUSED: Attacks = {
  "alg none": ({ issuer }) => ({
    headers: bearer(
      new UnsecuredJWT({ sub: "olga" })
        .setIssuer(issuer.issuer)
        .setAudience("rath")
        .setIssuedAt()
        .setExpirationTime("1h")
        .encode(),
    ),
    status: 401,
  }),
  "alg None in another case": async ({ issuer }) => ({
    headers: bearer(await recast(issuer, { alg: "nOnE", kid: "k1" }, "")),
    status: 401,
  }),
  "HS256 with the public key as the secret (PEM)": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({}, { alg: "HS256" }, Buffer.from(await exportSPKI(issuer.publicKey)))),
    status: 401,
  }),
  "HS256 with the public key as the secret (JWK)": async ({ issuer }) => ({
    headers: bearer(
      await issuer.sign({}, { alg: "HS256" }, Buffer.from(JSON.stringify(await exportJWK(issuer.publicKey)))),
    ),
    status: 401,
  }),
  "HS512 with the coordinates of the public key": async ({ issuer }) => ({
    headers: bearer(
      await issuer.sign(
        {},
        { alg: "HS512" },
        Buffer.from((await exportJWK(issuer.publicKey)).x as string, "base64url"),
      ),
    ),
    status: 401,
  }),
  "a key of somebody else": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({}, {}, (await generateKeyPair("ES256")).privateKey)),
    status: 401,
  }),
  "a key of somebody else in the header (jwk)": async ({ issuer }) => {
    const pair = await generateKeyPair("ES256", { extractable: true });
    const jwk = await exportJWK(pair.publicKey);
    return { headers: bearer(await issuer.sign({}, { jwk }, pair.privateKey)), status: 401 };
  },
  "a key set of somebody else in the header (jku)": async () => {
    const other = await issuerOf();
    return { headers: bearer(await other.sign({}, { jku: other.jwks })), status: 401 };
  },
  "a certificate address in the header (x5u)": async ({ issuer }) => {
    const pair = await generateKeyPair("ES256");
    return {
      headers: bearer(await issuer.sign({}, { x5u: "http://127.0.0.1:1/cert" }, pair.privateKey)),
      status: 401,
    };
  },
  "a kid that is not there": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({}, { kid: "k2" })),
    status: 401,
  }),
  "a kid that is a path": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({}, { kid: "../../../../dev/null" })),
    status: 401,
  }),
  "a kid that is SQL": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({}, { kid: "k1' OR '1'='1" })),
    status: 401,
  }),
  "a kid that is __proto__": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({}, { kid: "__proto__" })),
    status: 401,
  }),
  "another issuer": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({ iss: "https://evil.example" })),
    status: 401,
  }),
  "an issuer that begins like ours": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({ iss: `${issuer.issuer}.evil.example` })),
    status: 401,
  }),
  "no issuer": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({ iss: undefined })),
    status: 401,
  }),
  "another audience": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({ aud: "other" })),
    status: 401,
  }),
  "no audience": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({ aud: undefined })),
    status: 401,
  }),
  "an audience in another case": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({ aud: "RATH" })),
    status: 401,
  }),
  "several other audiences": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({ aud: ["a", "b"] })),
    status: 401,
  }),
  "an expired one": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({ exp: now() - 120 })),
    status: 401,
  }),
  "one that does not expire": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({ exp: undefined })),
    status: 401,
  }),
  "one that is not valid yet": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({ nbf: now() + 600 })),
    status: 401,
  }),
  "one whose expiry is a text": async ({ issuer }) => ({
    headers: bearer(await recast(issuer, undefined, undefined, { exp: "9999999999" })),
    status: 401,
  }),
  "altered claims": async ({ issuer }) => ({
    headers: bearer(await recast(issuer, undefined, undefined, { sub: "root" })),
    status: 401,
  }),
  "an altered header": async ({ issuer }) => ({
    headers: bearer(await recast(issuer, { alg: "ES384", kid: "k1" })),
    status: 401,
  }),
  "a signature that is cut": async ({ issuer }) => ({
    headers: bearer((await issuer.sign()).slice(0, -20)),
    status: 401,
  }),
  "an empty signature": async ({ issuer }) => ({
    headers: bearer((await issuer.sign()).replace(/[^.]+$/, "")),
    status: 401,
  }),
  "a signature of zeros": async ({ issuer }) => ({
    headers: bearer((await issuer.sign()).replace(/[^.]+$/, "A".repeat(86))),
    status: 401,
  }),
  "an unknown critical header": async ({ issuer }) => {
    const [head, body, end] = (await issuer.sign()).split(".") as [string, string, string];
    const header = {
      ...(JSON.parse(Buffer.from(head, "base64url").toString()) as object),
      crit: ["x"],
      x: 1,
    };
    return { headers: bearer(`${part(header)}.${body}.${end}`), status: 401 };
  },
  "no person": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({ sub: undefined })),
    status: 401,
  }),
  "a person that is a line break": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({ sub: "bea\nroot" })),
    status: 401,
  }),
  "a person that is empty": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({ sub: "" })),
    status: 401,
  }),
  "a person that is a list": async ({ issuer }) => ({
    headers: bearer(await issuer.sign({ sub: ["bea"] as never })),
    status: 401,
  }),
  "one of five parts": async ({ issuer }) => ({ headers: bearer(`${await issuer.sign()}.a.b`), status: 401 }),
  "one that is encrypted": () => ({
    headers: bearer("eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..a.b.c"),
    status: 401,
  }),
};

/** Pages of other origins, and names that lead here. */
const FOREIGN: Attacks = {
  "another host": ({ viewer }) => ({ headers: { ...bearer(viewer), host: "evil.example" }, status: 421 }),
  "another host with our port": ({ viewer, host }) => ({
    headers: { ...bearer(viewer), host: `evil.example:${host.split(":")[1]}` },
    status: 421,
  }),
  "a host that begins like ours": ({ viewer }) => ({
    headers: { ...bearer(viewer), host: "localhost.evil.example" },
    status: 421,
  }),
  "a host that ends like ours": ({ viewer }) => ({
    headers: { ...bearer(viewer), host: "evil-localhost" },
    status: 421,
  }),
  "a host with a user": ({ viewer }) => ({
    headers: { ...bearer(viewer), host: "localhost@evil.example" },
    status: [400, 421],
  }),
  "a host with a path": ({ viewer }) => ({
    headers: { ...bearer(viewer), host: "evil.example/localhost" },
    status: [400, 421],
  }),
  "this machine as 127.1": ({ viewer }) => ({ headers: { ...bearer(viewer), host: "127.1" }, status: 421 }),
  "this machine as a number": ({ viewer }) => ({
    headers: { ...bearer(viewer), host: "2130706433" },
    status: 421,
  }),
  "0.0.0.0": ({ viewer }) => ({ headers: { ...bearer(viewer), host: "0.0.0.0" }, status: 421 }),
  "a rebound name": ({ viewer }) => ({
    headers: { ...bearer(viewer), host: "127.0.0.1.nip.io" },
    status: 421,
  }),
  "a whole address of another host": ({ viewer }) => ({
    path: "http://evil.example/api/me",
    headers: bearer(viewer),
    status: 421,
  }),
  "a forwarded host alone": ({ viewer }) => ({
    headers: { ...bearer(viewer), host: "evil.example", "x-forwarded-host": "localhost" },
    status: 421,
  }),
  "a page of another origin": ({ viewer }) => ({
    headers: { ...bearer(viewer), origin: "https://evil.example" },
    status: 403,
  }),
  "a page of another port": ({ cookie }) => ({
    headers: { cookie, origin: "http://127.0.0.1:1" },
    status: 403,
  }),
  "a page of our name over https": ({ cookie, host }) => ({
    headers: { cookie, origin: `https://${host}` },
    status: 403,
  }),
  "a page without an origin (null)": ({ cookie }) => ({ headers: { cookie, origin: "null" }, status: 403 }),
  "an origin that begins like ours": ({ cookie, host }) => ({
    headers: { cookie, origin: `http://${host}.evil.example` },
    status: 403,
  }),
  "a preflight of another origin": () => ({
    method: "OPTIONS",
    headers: { origin: "https://evil.example", "access-control-request-method": "POST" },
    status: 403,
  }),
  "an action with a cookie and no header": ({ cookie }) => ({
    method: "POST",
    path: "/api/leave",
    headers: { cookie },
    status: 403,
  }),
  "a form of another site": ({ cookie }) => ({
    method: "POST",
    path: "/api/leave",
    headers: { cookie, "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "cross-site" },
    body: "a=b",
    status: 403,
  }),
  "a form of the same site": ({ cookie }) => ({
    method: "POST",
    path: "/api/leave",
    headers: { cookie, "x-rath": "1", "sec-fetch-site": "same-site" },
    status: 403,
  }),
  "JSON as plain text": ({ viewer }) => ({
    method: "POST",
    path: "/api/start",
    headers: { ...bearer(viewer), "content-type": "text/plain" },
    body: `{"token":"${viewer}"}`,
    status: 415,
  }),
  "a method in a header": ({ viewer }) => ({
    path: "/api/start",
    headers: { ...bearer(viewer), "x-http-method-override": "POST" },
    status: 405,
  }),
};

/** What stands in paths, headers and bodies. */
const INJECTED: Attacks = {
  "a path upwards": ({ viewer }) => ({ path: "/api/../../etc/passwd", headers: bearer(viewer), status: 404 }),
  "an encoded path upwards": ({ viewer }) => ({
    path: "/api/sessions/..%2f..%2fetc%2fpasswd/facts",
    headers: bearer(viewer),
    status: 404,
  }),
  "a path encoded twice": ({ viewer }) => ({
    path: "/api/sessions/%252e%252e%252fetc/facts",
    headers: bearer(viewer),
    status: 404,
  }),
  "a NUL in the path": ({ viewer }) => ({
    path: "/api/sessions/a%00b/facts",
    headers: bearer(viewer),
    status: 400,
  }),
  "a broken encoding": ({ viewer }) => ({
    path: "/api/sessions/%E0%A4%A/facts",
    headers: bearer(viewer),
    status: [400, 404],
  }),
  "a name of the runtime": ({ payer }) => ({
    path: "/api/sessions/run%2Fx/facts",
    headers: bearer(payer),
    status: 403,
  }),
  "a name of two thousand characters": ({ viewer }) => ({
    path: `/api/sessions/${"a".repeat(2000)}/facts`,
    headers: bearer(viewer),
    status: 400,
  }),
  "a session of others": ({ payer }) => ({
    path: "/api/sessions/secret/facts",
    headers: bearer(payer),
    status: 403,
  }),
  "a session of others through ~": ({ payer }) => ({
    path: "/api/sessions/secret~1/facts",
    headers: bearer(payer),
    status: 403,
  }),
  "a session of others by its id": async ({ payer, store }) => ({
    path: `/api/sessions/${await store.head("secret")}/facts`,
    headers: bearer(payer),
    status: 403,
  }),
  "a fact of others through a session of mine": async ({ payer, store }) => ({
    path: `/api/sessions/pay%2F1/facts/${await store.head("secret")}`,
    headers: bearer(payer),
    status: 404,
  }),
  "a cursor of another list": ({ viewer }) => ({
    path: `/api/sessions?after=${Buffer.from('["facts",3]').toString("base64url")}`,
    headers: bearer(viewer),
    status: 400,
  }),
  "a cursor that is not JSON": ({ viewer }) => ({
    path: "/api/sessions?after=%00%01",
    headers: bearer(viewer),
    status: 400,
  }),
  "a line break in a header": ({ viewer }) => ({
    headers: { ...bearer(viewer), "x-a": "b\nauthorization: Bearer x" },
    status: [400, 401, 0],
  }),
  "an event id with a line break": ({ viewer }) => ({
    path: "/api/events",
    headers: { ...bearer(viewer), "last-event-id": "a\r b" },
    status: [400, 0],
  }),
  "an event id of another kind": ({ viewer }) => ({
    path: "/api/events",
    headers: { ...bearer(viewer), "last-event-id": "<script>" },
    status: 400,
  }),
  "two lengths": ({ viewer }) => ({
    method: "POST",
    path: "/api/start",
    headers: { ...bearer(viewer), ...json, "content-length": "5", "Content-Length": "50" },
    body: "{}   ",
    status: [400, 0],
  }),
  "a length and chunks": ({ viewer }) => ({
    method: "POST",
    path: "/api/start",
    headers: { ...bearer(viewer), ...json, "content-length": "5", "transfer-encoding": "chunked" },
    body: "0\r\n\r\n",
    status: [400, 0],
  }),
  "a method that is not one": ({ viewer }) => ({ method: "PATCH", headers: bearer(viewer), status: 405 }),
  TRACE: ({ viewer }) => ({ method: "TRACE", headers: bearer(viewer), status: 405 }),
  CONNECT: () => ({ method: "CONNECT", path: "evil.example:443", status: [400, 404, 405, 421, 0] }),
  "a body of JSON that is broken": ({ viewer }) => ({
    method: "POST",
    path: "/api/start",
    headers: { ...bearer(viewer), ...json },
    body: '{"token":',
    status: 400,
  }),
  "a body that is not UTF-8": ({ viewer }) => ({
    method: "POST",
    path: "/api/start",
    headers: { ...bearer(viewer), ...json },
    body: '{"token":"\u00ff\u00fe"}',
    status: [400, 401],
  }),
  "a body of nesting": ({ viewer }) => ({
    method: "POST",
    path: "/api/start",
    headers: { ...bearer(viewer), ...json },
    body: `${"[".repeat(20_000)}${"]".repeat(20_000)}`,
    status: 400,
  }),
  "a body that is too long": ({ viewer }) => ({
    method: "POST",
    path: "/api/start",
    headers: { ...bearer(viewer), ...json },
    body: JSON.stringify({ token: "a".repeat(5_000_000) }),
    status: [413, 0],
  }),
  "a length that is too long": ({ viewer }) => ({
    method: "POST",
    path: "/api/start",
    headers: { ...bearer(viewer), ...json, "content-length": "99999999999" },
    status: 413,
  }),
  "a field that is not known": ({ viewer }) => ({
    method: "POST",
    path: "/api/start",
    headers: json,
    body: JSON.stringify({ token: viewer, principal: "user:root" }),
    status: 400,
  }),
  "__proto__ in the body": ({ viewer }) => ({
    method: "POST",
    path: "/api/start",
    headers: json,
    body: `{"token":"${viewer}","__proto__":{"admin":true}}`,
    status: 400,
  }),
  "HEAD of a stream": ({ viewer }) => ({
    method: "HEAD",
    path: "/api/events",
    headers: bearer(viewer),
    status: 405,
  }),
};

const ATTACKS = { ...FORGED, ...CONFUSED, ...FOREIGN, ...INJECTED };

describe("attacks", () => {
  it("[SG1] the same requests, as they are meant, are answered", async () => {
    const { url, host, viewer, payer, cookie, issuer } = await prepared();
    const get = (path: string, headers: Attack["headers"]) =>
      raw(url, requestText("GET", path, { host, ...headers }));
    expect((await get("/api/me", bearer(viewer))).status).toBe(200);
    expect((await get("/api/me", { cookie })).body).toContain('"via":"cookie"');
    expect((await get("/api/me", bearer(await issuer.sign()))).body).toContain("user:olga");
    expect((await get("/api/me", { ...bearer(viewer), origin: `http://${host}` })).status).toBe(200);
    expect((await get("/api/sessions/secret/facts", bearer(viewer))).status).toBe(200);
    expect((await get("/api/sessions/pay%2F1/facts", bearer(payer))).status).toBe(200);
    const leave = requestText("POST", "/api/leave", { host, cookie, "x-rath": "1" });
    expect((await raw(url, leave)).status).toBe(200);
    expect((await get("/api/me", { cookie })).status).toBe(401);
  });

  it("[SG1] a request that comes slowly is cut off", async () => {
    const { url, host, viewer, store } = await prepared();
    const before = await stateOf(store);
    const slow: readonly string[] = [
      "GET /api/me HTTP/1.1\r\n",
      `GET /api/me HTTP/1.1\r\nhost: ${host}\r\nx-a: `,
      `POST /api/start HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${viewer}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
      `POST /api/start HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n`,
    ];
    const answers = await Promise.all(slow.map((text) => raw(url, text, 60_000)));
    expect(answers.map(({ status }) => status).filter((status) => ![400, 408, 0].includes(status))).toEqual(
      [],
    );
    expect(await stateOf(store)).toBe(before);
  });

  it("[SG1] are refused, and leave no fact", async () => {
    const ground = await prepared();
    const { store, url, host } = ground;
    expect(Object.keys(ATTACKS).length).toBeGreaterThan(100);
    const before = await stateOf(store);
    const broken: string[] = [];
    for (const [name, make] of Object.entries(ATTACKS)) {
      const { method = "GET", path = "/api/me", headers = {}, body, status } = await make(ground);
      const answer = await raw(url, requestText(method, path, { host, ...headers }, body));
      if (![status].flat().includes(answer.status))
        broken.push(`${name}: ${answer.status} ${answer.body.slice(0, 200)}`);
      if (/user:(ada|bea)"|secret words|BEGIN/.test(answer.body)) broken.push(`${name}: it shows something`);
      if (answer.head.includes("access-control-allow-origin"))
        broken.push(`${name}: another origin may read it`);
      if ((await stateOf(store)) !== before) broken.push(`${name}: the store has changed`);
    }
    expect(broken).toEqual([]);
  });
});

async function prepared(): Promise<Ground> {
  const issuer = await issuerOf();
  const { issuer: name, jwks } = issuer;
  const made = await serving(
    { limits: { strangers: { burst: 10_000, perSecond: 1 } } },
    { patience: 300, oidc: { issuer: name, audience: "rath", jwks } },
  );
  const { store, users, url, handler, token } = made;
  const session = Session.start("secret words", { by: "user:bea" });
  await store.save(session, { name: "secret" });
  await store.save(Session.start("Pay.", { by: "user:ada" }), { name: "pay/1" });
  const viewer = token("ada", ["view"]);
  const expires = new Date(Date.now() + 50).toISOString();
  const expired = users.add({ name: "eve", roles: ["view"], under: "*", expires }).token;
  const revoked = token("rob", ["view"]);
  users.revoke("rob");
  const entered = await handler(
    new Request(`${url}/api/start`, {
      method: "POST",
      headers: json,
      body: JSON.stringify({ token: viewer }),
    }),
  );
  const [cookie = ""] = (entered.headers.get("set-cookie") ?? "").split(";");
  await new Promise((resolve) => setTimeout(resolve, 60));
  return {
    ...made,
    issuer,
    host: new URL(url).host,
    viewer,
    payer: token("pia", ["run", "approve"], "pay/*"),
    expired,
    revoked,
    cookie,
  };
}

/** A token of the provider with another header, signature or claims. */
async function recast(
  issuer: Issuer,
  header?: object,
  signature?: string,
  claims: object = {},
): Promise<string> {
  const [head, body, end] = (await issuer.sign()).split(".") as [string, string, string];
  const given = JSON.parse(Buffer.from(body, "base64url").toString()) as object;
  const payload = Object.keys(claims).length > 0 ? part({ ...given, ...claims }) : body;
  return `${header === undefined ? head : part(header)}.${payload}.${signature ?? end}`;
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
