import { describe, expect, it } from "vitest";
import { memory } from "../../memory/index.js";
import { Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { client } from "../contract/client.js";
import { reading } from "../contract/reading.js";
import { parametersOf, type Route } from "../contract/route.js";
import { server } from "../server.js";
import { issuerOf } from "../testing/issuer.js";
import { serving } from "../testing/serving.js";

const routes = Object.entries(reading) as readonly (readonly [string, Route])[];

/** A session under pay/, one elsewhere that was forked from it, and one that has nothing to do with it. */
async function families(store: Store) {
  const text = "An invoice of Zanzibar. ".repeat(500);
  const mine = Session.start(text, { by: "user:ada", inline: 0 }).say("Paid.", { role: "assistant" });
  const theirs = mine.fork("audit").say("This was wrong, said Quixote.", { by: "user:eve" });
  const other = Session.start("Nobody sees this of Zanzibar.", { by: "user:eve", inline: 0 });
  for (const [name, session] of [
    ["pay/1", mine],
    ["secret/fork", theirs],
    ["secret/other", other],
    ["pay/fork", theirs.fork("again").say("Mine again.")],
  ] as const)
    await store.save(session, { name });
  return { mine, theirs, other };
}

describe("who may read", () => {
  it("[SR2] every operation that reads is refused without an identity, and without its role", async () => {
    const often = { burst: 10_000, perSecond: 10_000 };
    const { store, url, token } = await serving({ limits: { strangers: often, requests: often } });
    const { mine } = await families(store);
    const view = token("ada", ["view"], "pay/*");
    const address = (route: Route, name: string) =>
      parametersOf(route.path).reduce(
        (path, one) => path.replace(`{${one}}`, one === "name" ? encodeURIComponent(name) : "x"),
        `${url}${route.path}`,
      );
    const inputs: { readonly [operation: string]: string } = {
      prompt: "?fact=x",
      diff: "?path=x",
      file: "?path=x",
      blame: "?path=x",
      blob: "?name=secret/other",
      compare: "?a=secret/other&b=secret/fork",
      askAll: "?principal=user:ada",
    };
    for (const [operation, route] of routes) {
      if (route.role === "anyone") continue;
      const query = inputs[operation] ?? "";
      for (const authorization of [
        "",
        "Bearer x",
        `Basic ${btoa("ada:x")}`,
        `Bearer ${view.slice(0, -1)}x`,
      ]) {
        const headers = authorization === "" ? {} : { authorization };
        const response = await fetch(`${address(route, "pay/1")}${query}`, { headers });
        expect([operation, response.status]).toEqual([operation, 401]);
      }
      const lists = ["me", "sessions", "spaces", "questions", "search", "pending", "events"];
      if (lists.includes(operation)) continue;
      for (const name of ["secret/other", "secret/other~0", "missing", mine.id, mine.id.slice(0, 9)]) {
        const headers = { authorization: `Bearer ${view}` };
        const response = await fetch(`${address(route, name)}${query}`, { headers });
        expect([operation, name, response.status]).toEqual([operation, name, 403]);
      }
      if (route.role !== "audit") continue;
      const response = await fetch(address(route, "pay/1"), { headers: { authorization: `Bearer ${view}` } });
      expect([operation, response.status]).toEqual([operation, 403]);
    }
  });

  it("[SR3] a list holds what its reader may see, and nothing leads from there to other sessions", async () => {
    const { store, url, token } = await serving();
    const { mine, theirs, other } = await families(store);
    const rath = client(url, { token: token("ada", ["view", "audit"], "pay/*") });
    const all = client(url, { token: token("bea", ["view", "audit"]) });
    const names = ({ items }: { readonly items: readonly { readonly name: string }[] }) =>
      items.map(({ name }) => name).sort();
    for (const order of ["changed", "name"] as const) {
      expect(names(await rath.sessions({ order }))).toEqual(["pay/1", "pay/fork"]);
      expect(names(await all.sessions({ order }))).toHaveLength(4);
    }
    expect(names(await rath.sessions({ q: "Zanzibar" }))).toEqual(["pay/1"]);
    expect(new Set(names(await rath.search({ q: "Zanzibar" })))).toEqual(new Set(["pay/1"]));
    expect(names(await rath.search({ q: "Quixote" }))).toEqual([]);
    expect(names(await all.search({ q: "Quixote" }))).toEqual(["secret/fork"]);
    expect((await all.session({ name: "pay/fork" })).origin).toMatchObject({ name: "secret/fork" });
    expect((await rath.session({ name: "pay/fork" })).origin).toEqual({ kind: "fork", of: theirs.id });
    expect(names(await all.origins({ name: "pay/1" }))).toEqual(["secret/fork"]);
    expect(names(await rath.origins({ name: "pay/1" }))).toEqual([]);

    // The graph has what others made of the session only for those who see all of it.
    const ids = async (reader: typeof rath, name: string) =>
      (await reader.graph({ name, level: "fact" })).rows.map(({ id }) => id);
    expect(await ids(all, "pay/1")).toContain(theirs.id);
    expect(await ids(rath, "pay/fork")).toContain(theirs.id);
    expect(await ids(rath, "pay/1")).toEqual([...mine.history()].map(({ id }) => id));
    expect((await rath.fact({ name: "pay/1", id: mine.id })).children).toEqual([]);
    expect((await all.fact({ name: "pay/1", id: mine.id })).children).not.toEqual([]);

    for (const id of [theirs.id, other.id]) {
      const name = "pay/1";
      for (const refused of [
        rath.fact({ name, id }),
        rath.graph({ name, of: id }),
        rath.summary({ name, head: id }),
        rath.turns({ name, head: id }),
        rath.timeline({ name, head: id }),
        rath.prompt({ name, fact: id }),
        rath.files({ name, head: id }),
        rath.changes({ name, before: id }),
        rath.ask({ name, question: "step", step: id }),
        rath.ask({ name, question: "branch", message: id.slice(0, 12) }),
        rath.part({ name, fact: id, part: "0" }),
      ])
        await expect(refused).rejects.toMatchObject({ status: 404 });
    }
    await expect(rath.factById({ id: other.id })).rejects.toMatchObject({ status: 403 });
    expect((await rath.factById({ id: mine.id })).name).toBe("pay/1");
    for (const refused of [
      rath.compare({ a: "pay/1", b: "secret/fork" }),
      rath.conflicts({ name: "pay/1", theirs: "secret/fork" }),
      rath.ask({ name: "pay/1", question: "ifFalse", memory: mine.id }),
      rath.askAll({ question: "by", principal: "user:eve" }),
      rath.section({ name: "pay/1", section: "summary" }),
      rath.export({ name: "pay/1", format: "html" }),
    ])
      await expect(refused).rejects.toMatchObject({ status: 403 });
  });

  it("[SR3] content is read by those who see a fact that has it", async () => {
    const { store, url, token } = await serving();
    const { mine, other } = await families(store);
    const rath = client(url, { token: token("ada", ["view"], "pay/*") });
    const digestIn = (line: string) => /"digest":"([0-9a-f]{64})"/.exec(line)?.[1] as string;
    const [start] = (await rath.facts({ name: "pay/1", limit: 1 })).items;
    const digest = digestIn((await store.line(start?.id as string)) as string);
    const secret = digestIn((await store.line(other.id)) as string);
    const fact = start?.id as string;
    expect(await (await rath.blob({ digest, name: "pay/1", fact })).text()).toContain("Zanzibar");
    for (const given of [
      { name: "pay/1" },
      { name: "pay/1", fact: mine.id },
      { name: "pay/1", fact: other.id },
    ])
      await expect(rath.blob({ digest: secret, ...given })).rejects.toMatchObject({ status: 404 });
    await expect(rath.blob({ digest: secret, name: "pay/1", fact })).rejects.toMatchObject({ status: 404 });
    await expect(rath.blob({ digest })).rejects.toMatchObject({ status: 403 });
  });

  it("[SR4] a cursor that was put together by hand leads nowhere", async () => {
    const { store, url, token } = await serving();
    const { theirs, other } = await families(store);
    const rath = client(url, { token: token("ada", ["view"], "pay/*") });
    const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const cursor = (place: unknown, list = "facts pay/1") => base64([list, place]);
    for (const id of [theirs.id, other.id])
      await expect(
        rath.facts({ name: "pay/1", after: cursor(base64([id, 0, false, [], null, []])) }),
      ).rejects.toMatchObject({ status: 404 });
    for (const id of [theirs.id, other.id]) {
      const after = cursor(base64([id, 0, false, [], null, []]), "ask pay/1 between");
      await expect(rath.ask({ name: "pay/1", question: "between", after })).rejects.toMatchObject({
        status: 404,
      });
    }
    for (const after of [
      "x",
      "",
      cursor("x"),
      cursor(7),
      cursor(base64([])),
      cursor("d1", "turns pay/1"),
      "d1",
    ])
      await expect(rath.facts({ name: "pay/1", after })).rejects.toMatchObject({
        status: expect.toSatisfy((status) => status === 400 || status === 422),
      });
    for (const after of ["d99999999999999999", "d-1", "x", "u", "d1;"])
      await expect(rath.turns({ name: "pay/1", after: cursor(after, "turns pay/1") })).rejects.toMatchObject({
        status: 422,
      });
    const page = await rath.sessions({ after: cursor(base64([[9e15, 9], {}]), "sessions") });
    expect(page.items.map(({ name }) => name).sort()).toEqual(["pay/1", "pay/fork"]);
    const found = await rath.search({ after: cursor(base64([[9e15], { text: "Quixote" }]), "search") });
    expect(found.items).toEqual([]);
  });

  it("[SR5] no answer is longer than its limit, whatever is asked", async () => {
    const { store, url, token } = await serving();
    let session = Session.start("long");
    for (let index = 0; index < 1500; index++)
      session = session.append({ type: "note", kind: "tick", index });
    await store.save(session, { name: "long" });
    const rath = client(url, { token: token("ada", ["view"]) });
    expect((await rath.facts({ name: "long", limit: 1000 })).items).toHaveLength(1000);
    expect((await rath.facts({ name: "long" })).items).toHaveLength(100);
    expect((await rath.graph({ name: "long", level: "fact" })).rows.length).toBeLessThanOrEqual(256);
    expect((await rath.summary({ name: "long" })).buckets).toHaveLength(1000);
    const limited = routes.filter(([, { query }]) => "limit" in ((query?.json.properties ?? {}) as object));
    expect(limited.length).toBeGreaterThan(12);
    for (const [, route] of limited)
      for (const limit of ["1001", "0", "-1", "1e3", "5.5", "x"]) {
        const path = parametersOf(route.path).reduce((at, one) => at.replace(`{${one}}`, "long"), route.path);
        const headers = { authorization: `Bearer ${token("bea", ["view", "audit"])}` };
        expect((await fetch(`${url}${path}?limit=${limit}`, { headers })).status).toBe(400);
      }
    await expect(rath.series({ name: "long", buckets: 1001 })).rejects.toMatchObject({ status: 400 });
    await expect(rath.session({ name: "long~100001" })).rejects.toMatchObject({ status: 422 });
  });
});

it("[SR4] no cursor holds a hidden name, and what came from one is not found", async () => {
  const { store, url, token } = await serving();
  const session = Session.start("x");
  const fork = session.fork("fork");
  for (const name of ["hr/1", "hr/2", "hr/3", "pay", "pay/1", "pay/2", "pay/2/a", "pub/1", "pub/2"])
    await store.save(session, { name });
  await store.save(fork, { name: "pay/fork" });
  const all = client(url, { token: token("root", ["view"]) });
  expect((await all.sessions({ origin: "hr/1" })).items.map(({ name }) => name)).toEqual(["pay/fork"]);
  const ada = client(url, { token: token("ada", ["view"], "pay/*") });
  const cursorOf = (...parts: readonly unknown[]) => Buffer.from(JSON.stringify(parts)).toString("base64url");
  const names: string[] = [];
  let next: string | null | undefined;
  do {
    const page = await ada.sessions({ order: "name", limit: 1, ...(next && { after: next }) });
    names.push(...page.items.map(({ name }) => name));
    next = page.next;
    const held = Buffer.from(next ?? "", "base64url").toString();
    expect(held).not.toContain("hr/");
  } while (next !== null);
  expect(names).toEqual(["pay/1", "pay/2", "pay/2/a", "pay/fork"]);
  const forged = await ada.sessions({ order: "name", limit: 1, after: cursorOf("sessions", "hr/1") });
  expect(forged.items.map(({ name }) => name)).toEqual(["pay/1"]);
  const last = await ada.sessions({ order: "name", after: cursorOf("sessions", "pub/1") });
  expect([last.items, last.next]).toEqual([[], null]);
  expect((await ada.sessions({ origin: "hr/1" })).items).toEqual([]);
  const place = [[Number.MAX_SAFE_INTEGER, 0], { origin: "hr/1" }];
  const kept = Buffer.from(JSON.stringify(place)).toString("base64url");
  expect((await ada.sessions({ after: cursorOf("sessions", kept) })).items).toEqual([]);
  const broken = Buffer.from(JSON.stringify([[1, 1], { words: 5 }])).toString("base64url");
  await expect(ada.sessions({ after: cursorOf("sessions", broken) })).rejects.toMatchObject({ status: 422 });
});

it("[SR3] names are listed in their order over all roles of their reader, also those that overlap", async () => {
  const { rath, store } = await serving();
  const { issuer, jwks, sign } = await issuerOf();
  const names = ["a", "b/1", "b/2", "b/2/x", "c", "c/1", "d/1"];
  for (const name of names) await store.save(Session.start("x"), { name });
  const grants = () =>
    ["d/*", "b/2*", "b/*", "c", "none"].map((under) => ({ roles: ["view"] as const, under }));
  const handler = server(rath, { auth: { oidc: { issuer, audience: "rath", jwks, grants } } });
  const olga = client("http://localhost", {
    token: await sign(),
    fetch: (input, init) => handler(new Request(input as string, init)),
  });
  const list = async (under?: string) =>
    (await olga.sessions({ order: "name", ...(under && { under }) })).items.map(({ name }) => name);
  expect(await list()).toEqual(["b/1", "b/2", "b/2/x", "c", "d/1"]);
  expect(await list("b/2")).toEqual(["b/2", "b/2/x"]);
  expect(await list("a")).toEqual([]);
});

it("[SR6] a page whose index has much to take in is answered at once, and the client asks again", async () => {
  const { store, url, token } = await serving();
  let long = Session.start("Long.");
  for (let fact = 1; fact < 12_000; fact++) long = long.say(`fact ${fact}`);
  await store.save(long, { name: "long" });
  const secret = token("ada", ["view"]);
  const headers = { authorization: `Bearer ${secret}` };
  const listed = await fetch(`${url}/api/sessions`, { headers });
  expect(await listed.json()).toEqual({ items: [], next: null, indexing: true });
  const refused = await fetch(`${url}/api/sessions/long/graph/summary`, { headers });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await refused.json()).toMatchObject({ code: "indexing", data: { total: 12_000 } });
  const ada = client(url, { token: secret });
  expect((await ada.summary({ name: "long" })).rows.fact).toBe(12_000);
  expect(await ada.session({ name: "long" })).toMatchObject({ facts: 12_000 });
  // The index of what memories reached is of the whole store.
  const space = memory({ name: "house", scope: "user:ada" }).open(store);
  const { memory: id } = await space.write({
    text: "It is red.",
    source: "human-correction",
    by: "user:ada",
    because: [long.id],
  });
  const [first, second] = await Promise.all(
    ["why", "influence"].map((about) => fetch(`${url}/api/memory/house/${id}/${about}`, { headers })),
  );
  expect([first?.status, second?.status]).toEqual([503, 503]);
  // Questions that do not need it are answered meanwhile.
  const asked = await fetch(`${url}/api/sessions/long/ask/branch`, { headers });
  expect(asked.status).toBe(200);
  expect(await ada.influence({ space: "house", id })).toMatchObject({ memory: id, totals: { facts: 0 } });
  expect((await ada.memories({ space: "house" })).items).toMatchObject([{ id, told: 0 }]);
  expect((await ada.ask({ name: "long", question: "ifFalse", memory: id })).answer).toContain("nobody");
});

it("[SR7] an answer about many facts comes in pages that together tell all of them", async () => {
  const { store, url, token } = await serving();
  let long = Session.start("Long.", { by: "user:ada" });
  const asks: string[] = [];
  for (let fact = 1; fact < 3_500; fact++) {
    if (fact === 900) {
      long = long.append({ type: "tool-call", name: "pay", input: { amount: 7 } });
      const of = long.id;
      long = long.append({
        type: "approval-ask",
        of,
        what: "pay 7",
        digest: "0".repeat(64),
      } as never);
      asks.push(long.id);
    } else if (fact === 2_500)
      long = long.append({
        type: "approval-give",
        of: asks[0] as string,
        decision: "approve",
        by: "user:bea",
        digest: "0".repeat(64),
      } as never);
    else long = long.say(`fact ${fact}`, { by: fact % 1000 === 0 ? "user:eve" : "user:ada" });
  }
  await store.save(long, { name: "long" });
  const ada = client(url, { token: token("ada", ["view"]) });
  const told = async (question: string, options: object) => {
    const claims: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = await ada.ask({ name: "long", question, ...options, ...(after && { after }) });
      claims.push(...page.claims.map(({ text }) => text));
      if (typeof page.next !== "string") return claims;
      after = page.next;
    }
  };
  const eve = await told("by", { principal: "user:eve" });
  expect(eve.filter((text) => text.startsWith("At "))).toHaveLength(3);
  const approvals = await told("approvals", {});
  expect(approvals.filter((text) => /user:bea/.test(text))).not.toHaveLength(0);
  expect(approvals.filter((text) => /Nobody/.test(text))).toHaveLength(0);
  const between = await told("between", { limit: 1000 });
  expect(between.filter((text) => text.startsWith("At "))).toHaveLength(3_501);
  // Of the whole store, from the catalogue.
  const all = async () => (await ada.askAll({ question: "by", principal: "user:eve" })).claims.length;
  await expect.poll(all, { timeout: 60_000 }).toBe(3);
});
