import { generateKeyPair } from "jose";
import { expect, it } from "vitest";
import { Session } from "../session/index.js";
import { StoreError } from "../store/index.js";
import { client } from "./contract/client.js";
import { RateLimit } from "./guard/rate.js";
import { problemOf, problemResponse } from "./problem.js";
import { server } from "./server.js";
import { eventsOf } from "./testing/events.js";
import { issuerOf } from "./testing/issuer.js";
import { serving } from "./testing/serving.js";

it("[SG2] requests of each person are limited, and those of strangers together", async () => {
  const { url, token } = await serving({
    limits: { requests: { burst: 3, perSecond: 0.001 }, strangers: { burst: 2, perSecond: 0.001 } },
  });
  const [ada, bea] = [
    client(url, { token: token("ada", ["view"]) }),
    client(url, { token: token("bea", ["view"]) }),
  ];
  for (let index = 0; index < 3; index++) await ada.me();
  await expect(ada.me()).rejects.toMatchObject({ status: 429, code: "rate-limited" });
  await bea.me();
  const strangers = [];
  for (let index = 0; index < 4; index++) strangers.push((await fetch(`${url}/api/me`)).status);
  expect(strangers).toEqual([401, 401, 429, 429]);
  const refused = await fetch(`${url}/api/me`);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  // Strangers do not keep out the people who are known.
  await bea.me();
});

it("[SG2] strangers keep nobody from entering, neither by asking nor by trying tokens", async () => {
  const { issuer, jwks, sign } = await issuerOf();
  const limits = { strangers: { burst: 3, perSecond: 0.001 } };
  const { url, token } = await serving({ limits }, { oidc: { issuer, audience: "rath", jwks } });
  const enter = async (given: string): Promise<number> => {
    const body = JSON.stringify({ token: given });
    const headers = { "content-type": "application/json" };
    return (await fetch(`${url}/api/start`, { method: "POST", headers, body })).status;
  };
  const olga = await sign();
  expect(await enter(olga)).toBe(200);
  for (let count = 0; count < 6; count++) await fetch(`${url}/api/me`);
  const tried = [];
  for (let count = 0; count < 5; count++) tried.push(await enter(`rath_${count}`));
  expect(tried).toEqual([401, 401, 401, 429, 429]);
  expect((await fetch(`${url}/openapi.json`)).status).toBe(200);
  const ada = token("ada", ["view"]);
  expect(await enter(ada)).toBe(200);
  // Tokens that nobody has seen before are checked so often, and those of people who are known always.
  const other = await generateKeyPair("ES256");
  const forged = await sign({ sub: "eve" }, {}, other.privateKey);
  const states = await Promise.all(
    Array.from({ length: 600 }, () =>
      fetch(`${url}/api/me`, { headers: { authorization: `Bearer ${forged}` } }).then(({ status }) => status),
    ),
  );
  expect(states).toContain(429);
  expect(await enter(olga)).toBe(200);
  expect(await enter(ada)).toBe(200);
});

it("[SG2] a limit fills again with time, and forgets who called longest ago", () => {
  let now = 0;
  const limit = new RateLimit({ burst: 2, perSecond: 1 }, () => now);
  limit.take("a");
  limit.take("a");
  expect(() => limit.take("a")).toThrow("Too many requests");
  now = 1_000;
  limit.take("a");
  expect(() => limit.take("a")).toThrow();
  for (let index = 0; index < 10_001; index++) limit.take(`other ${index}`);
  limit.take("a");
});

it("[SG2] open streams are limited, in all and for each person", async () => {
  const { url, token } = await serving({ limits: { streams: 3, streamsPerPerson: 2 } });
  const [ada, bea] = [
    client(url, { token: token("ada", ["view"]) }),
    client(url, { token: token("bea", ["view"]) }),
  ];
  const stop = new AbortController();
  // A response that nobody holds is collected, and its stream is closed.
  const held: Response[] = [];
  const open = async (one: typeof ada, { signal } = stop) => {
    const response = await one.events({}, { signal });
    held.push(response);
    return response;
  };
  const first = new AbortController();
  await open(ada, first);
  await open(ada);
  await expect(open(ada)).rejects.toMatchObject({ status: 429, code: "streams-limited" });
  await open(bea);
  await expect(open(bea)).rejects.toMatchObject({ status: 503, code: "streams-limited" });
  // One that was closed makes room.
  first.abort();
  for (let tries = 0; tries < 200; tries++) {
    const again = await open(bea).catch(() => undefined);
    if (again !== undefined) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await expect(open(bea)).rejects.toMatchObject({ status: 429 });
  stop.abort();
  expect(held.length).toBe(4);
});

it("[SG3] an error that is not about the request shows nothing of itself", () => {
  expect(problemOf(new Error("password=hunter2"))).toEqual({
    type: "urn:openrath:error:internal",
    title: "The server failed",
    status: 500,
    detail: "The server could not do this.",
    code: "internal",
  });
  const data = { url: "postgres://db.internal", retry: true };
  const away = problemResponse(new StoreError("unreachable", "No way to db.internal.", "wait", { data }));
  expect([away.status, away.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(JSON.stringify(problemOf(new StoreError("unreachable", "No way.", "wait", { data })))).not.toContain(
    "internal",
  );
});

it("[SG4] every answer says that it is not run, framed, sniffed or kept", async () => {
  const { url, token } = await serving();
  const headers = { authorization: `Bearer ${token("ada", ["view"])}` };
  for (const path of ["/api/me", "/api/sessions", "/api/nothing", "/nothing", "/api/events"]) {
    const response = await fetch(url + path, { headers });
    await response.body?.cancel();
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(response.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(response.headers.get("cache-control")).toMatch(/no-store|no-cache/);
    expect(response.headers.get("cross-origin-resource-policy")).toBe("same-origin");
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  }
});

it("[SG5] a body that is nested too deep and a wrong method are refused by what they are", async () => {
  const { url, token } = await serving();
  const headers = { authorization: `Bearer ${token("ada", ["run"])}`, "content-type": "application/json" };
  const send = (method: string, path: string, body?: string) =>
    fetch(url + path, { method, headers, ...(body && { body }) });
  for (const depth of [501, 100_000]) {
    const body = `{"module":"clerk","input":${"[".repeat(depth)}${"]".repeat(depth)}}`;
    const response = await send("POST", "/api/runs", body);
    expect([response.status, ((await response.json()) as { readonly code: string }).code]).toEqual([
      400,
      "json-broken",
    ]);
  }
  const quoted = JSON.stringify({ token: '\\"[{'.repeat(600) });
  expect((await send("POST", "/api/start", quoted)).status).toBe(401);
  for (const [method, path, allow] of [
    ["PUT", "/api/me", "GET"],
    ["DELETE", "/api/sessions/x", "GET"],
    ["GET", "/api/runs", "POST"],
    ["PATCH", "/api/sessions/a%2Fb/fork", "POST"],
  ] as const) {
    const response = await send(method, path);
    expect([response.status, response.headers.get("allow")]).toEqual([405, allow]);
  }
  expect((await send("GET", "/api/nothing")).status).toBe(404);
});

it("[SG4] a known other origin may read answers; pages are served outside of the API", async () => {
  const { rath } = await serving();
  const handler = server(rath, {
    auth: { single: "user:ada" },
    origins: ["https://app.example.com"],
    hosts: ["rath.example.com"],
    pages: async () => new Response("<p>", { headers: { "content-security-policy": "default-src 'self'" } }),
  });
  const origin = "https://app.example.com";
  const asked = await handler(
    new Request("http://rath.example.com/api/me", { method: "OPTIONS", headers: { origin } }),
  );
  expect(asked.status).toBe(204);
  expect(asked.headers.get("access-control-allow-origin")).toBe(origin);
  expect(asked.headers.get("access-control-allow-credentials")).toBeNull();
  const me = await handler(
    new Request("http://rath.example.com/api/me", {
      headers: { origin, authorization: `Bearer ${handler.token}` },
    }),
  );
  expect([me.status, me.headers.get("access-control-allow-origin")]).toEqual([200, origin]);
  const page = await handler(new Request("http://localhost/"));
  expect([await page.text(), page.headers.get("content-security-policy")]).toEqual([
    "<p>",
    "default-src 'self'",
  ]);
  const posted = await handler(new Request("http://localhost/", { method: "POST" }));
  expect(posted.status).toBe(405);
});

it("[SI4] a start token is exchanged once for a cookie that lives as long as the token behind it", async () => {
  const { rath, users, token, url } = await serving();
  const handler = server(rath, { auth: { single: "user:ada", users: users.file } });
  const enter = (token: string) =>
    handler(
      new Request(`${url}/api/start`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ token }),
      }),
    );
  const secure = await handler(
    new Request("https://localhost/api/start", {
      method: "POST",
      headers: { "content-type": "application/json", origin: "https://localhost" },
      body: JSON.stringify({ token: handler.start() }),
    }),
  );
  expect(secure.headers.get("set-cookie")).toMatch(/; Secure$/);
  const start = handler.start();
  const entered = await enter(start);
  expect(entered.status).toBe(200);
  const set = entered.headers.get("set-cookie") ?? "";
  expect(set).toMatch(/^rath_[0-9a-f]{12}=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/);
  expect((await enter(start)).status).toBe(401);
  const bearer = token("bea", ["view"]);
  const [cookie = ""] = ((await enter(bearer)).headers.get("set-cookie") ?? "").split(";");
  const me = () => handler(new Request(`${url}/api/me`, { headers: { cookie } }));
  expect(await (await me()).json()).toMatchObject({ principal: "user:bea", via: "cookie" });
  users.revoke("bea");
  expect((await me()).status).toBe(401);
  const [other = ""] = set.split(";");
  expect(
    await (await handler(new Request(`${url}/api/me`, { headers: { cookie: other } }))).json(),
  ).toMatchObject({
    principal: "user:ada",
  });
});

it("[SL1] a stream greets, and tells every move of the names that its reader may see", async () => {
  const { store, url, token } = await serving();
  const reader = client(url, { token: token("ada", ["view"], "pay/*") });
  const all = client(url, { token: token("bea", ["view"]) });
  const [mine, others] = await Promise.all([eventsOf(await reader.events()), eventsOf(await all.events())]);
  expect(await mine.next("hello")).toMatchObject({ event: "hello", data: { store: store.identity ?? null } });
  await others.next("hello");
  await store.save(Session.start("a"), { name: "secret" });
  let session = Session.start("b");
  await store.save(session, { name: "pay/1" });
  const seen = [(await others.next("move")).data.name, (await others.next("move")).data.name];
  expect(seen.sort()).toEqual(["pay/1", "secret"]);
  expect(await mine.next("move")).toMatchObject({ data: { name: "pay/1", head: session.id } });
  session = session.append({ type: "note", kind: "x" });
  await store.save(session, { name: "pay/1" });
  expect(await mine.next("move")).toMatchObject({ data: { name: "pay/1", head: session.id } });
  await Promise.all([mine.stop(), others.stop()]);
});
