import { readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { expect, it } from "vitest";
import { Session } from "../session/index.js";
import { client, ProblemError } from "./contract/client.js";
import { server } from "./server.js";
import { serving } from "./testing/serving.js";

it("[SR1] sessions and facts come in pages", async () => {
  const { store, url, token } = await serving();
  let session = Session.start("Pay the invoice.", { by: "user:ada" });
  for (let index = 0; index < 24; index++) session = session.append({ type: "note", kind: "tick", index });
  for (const name of ["pay/1", "pay/2", "other", ".hidden"]) await store.save(session.fork(name), { name });
  const rath = client(url, { token: token("ada", ["view"]) });
  const names: string[] = [];
  for (let after: string | undefined; ; ) {
    const { items, next } = await rath.sessions({ limit: 2, ...(after !== undefined && { after }) });
    expect(items.length).toBeLessThanOrEqual(2);
    names.push(...items.map(({ name }) => name));
    if (next === null) break;
    after = next;
  }
  expect(names.sort()).toEqual(["other", "pay/1", "pay/2"]);
  for (const reverse of [false, true]) {
    const ids: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = await rath.facts({
        name: "pay/1",
        limit: 10,
        reverse,
        ...(after !== undefined && { after }),
      });
      ids.push(...page.items.map(({ id }) => id));
      if (page.next === null) break;
      after = page.next;
    }
    const expected: string[] = [];
    for await (const { id } of store.history("pay/1")) expected.push(id);
    expect(reverse ? ids.reverse() : ids).toEqual(expected);
  }
  const { next } = await rath.sessions({ limit: 1 });
  await expect(rath.facts({ name: "other", after: next as string })).rejects.toMatchObject({ status: 400 });
  const [row] = (await rath.facts({ name: "other", limit: 1 })).items;
  const { line, fact } = await rath.fact({ name: "other", id: row?.id as string });
  expect(line).toBe(await store.line(row?.id as string));
  expect(fact).toMatchObject({ type: "session-start" });
});

it("[SI5] roles hold for their prefix, and an id opens nothing", async () => {
  const { store, url, token } = await serving();
  const mine = Session.start("mine", { by: "user:ada" });
  const other = Session.start("other", { by: "user:ada" });
  await store.save(mine, { name: "pay/1" });
  await store.save(other, { name: "secret" });
  const rath = client(url, { token: token("ada", ["run"], "pay/*") });
  expect((await rath.sessions()).items.map(({ name }) => name)).toEqual(["pay/1"]);
  expect((await rath.facts({ name: "pay/1" })).items).toHaveLength(1);
  expect((await rath.facts({ name: "pay/1~0" })).items).toHaveLength(1);
  for (const name of [
    "secret",
    "secret~0",
    "secret@main",
    "missing",
    other.id,
    mine.id,
    other.id.slice(0, 12),
  ])
    await expect(rath.facts({ name })).rejects.toMatchObject({ status: 403, code: "forbidden" });
  await expect(rath.facts({ name: "pay/2" })).rejects.toMatchObject({ status: 404, code: "not-found" });
  await expect(rath.fact({ name: "pay/1", id: other.id })).rejects.toMatchObject({ status: 404 });
  expect((await rath.fact({ name: "pay/1", id: mine.id })).id).toBe(mine.id);
  const all = client(url, { token: token("bea", ["view"]) });
  expect((await all.facts({ name: other.id })).items).toHaveLength(1);
});

it("[SC1] a request that does not fit is refused with the place", async () => {
  const { url, token } = await serving();
  const headers = { authorization: `Bearer ${token("ada", ["view"])}` };
  for (const [query, place] of [
    ["limit=0", "#/limit"],
    ["limit=1001", "#/limit"],
    ["limit=ten", "#/limit"],
    ["limit=1e9", "#/limit"],
    ["limt=1", "#/limt"],
    ["order=age", "#/order"],
    ["__proto__=1", "#/__proto__"],
  ]) {
    const response = await fetch(`${url}/api/sessions?${query}`, { headers });
    expect(response.status).toBe(400);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    const problem = (await response.json()) as { data: { problems: { place: string }[] } };
    expect(problem.data.problems.map((one) => one.place)).toContain(place);
  }
});

it("[SC2] the client gives a refusal as an error, and imports no module of Node", async () => {
  const { url } = await serving();
  const error = await client(`${url}/`)
    .me()
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ProblemError);
  expect(error).toMatchObject({
    status: 401,
    code: "identity-missing",
    hint: expect.stringContaining("rath user add"),
  });
  const files = ["acting", "client", "reading", "route", "routes", "rows", "schema", "views"];
  for (const file of files) {
    const text = readFileSync(new URL(`contract/${file}.ts`, import.meta.url), "utf8");
    for (const [, from = ""] of text.matchAll(/^(?:import|export) (?!type)[^;]*? from "([^"]+)"/gm)) {
      expect(builtinModules).not.toContain(from.replace("node:", ""));
      expect(files.map((name) => `./${name}.js`)).toContain(from);
    }
  }
});

it("[SC3] options that make no sense are refused", async () => {
  const { rath } = await serving();
  for (const [options, words] of [
    [{}, "`auth` must be an object"],
    [{ auth: {} }, "no way to know"],
    [{ auth: { user: "x" } }, 'did you mean "users"'],
    [{ auth: { single: "agent:x" } }, "must be a person"],
    [{ auth: { single: "user:a" }, module: {} }, 'did you mean "modules"'],
    [{ auth: { single: "user:a" }, modules: { a: 7 } }, "is not a module"],
    [{ auth: { single: "user:a" }, limits: { stream: 1 } }, "has no option"],
    [{ auth: { oidc: { issuer: "x", audience: "y", jwks: "http://example.com/k" } } }, "https"],
    [{ auth: { oidc: { issuer: "x", audience: "y" } } }, "key set"],
  ] as const)
    expect(() => server(rath, options as never)).toThrow(words);
});
