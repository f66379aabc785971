import { randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openRath, Session } from "openrath";
import { client } from "openrath/client";
import { pages } from "openrath/evidence";
import { exportFormat } from "openrath/interop";
import { server } from "openrath/server";
import { openStore, type Store } from "openrath/store";
import { serve } from "openrath/ui";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { jsonValidator } from "../../src/runtime/index.js";
import { reading } from "../../src/server/contract/reading.js";
import type { JsonSchema } from "../../src/server/contract/schema.js";
import { openApi } from "../../src/server/read/openapi.js";
import { folder } from "../../src/store/testing/folder.js";
import { ensureBuilt } from "../../src/store/testing/worker.js";
import { world } from "../audit/world.js";

let store: Store;
let memory: string;
let url: string;
let token: string;
let close: () => Promise<void>;

beforeAll(async () => {
  const made = await world();
  ({ store, memory } = made);
  const runtime = openRath({ store });
  const picture = { type: "file", media: "image/png", data: PNG.toString("base64") } as const;
  const page = { type: "file", media: "text/html", data: HTML.toString("base64") } as const;
  const words = { type: "text", text: "Look." } as const;
  await store.save(Session.start([words, picture, page] as never, { by: "user:ada" }), { name: "picture" });
  await store.save((await store.load("work")).fork("again").say("Once more.", { by: "user:bob" }), {
    name: "fork",
  });
  const handler = server(runtime, { auth: { single: "user:ada" } });
  const served = await serve(handler);
  [url, token] = [served.url, handler.token as string];
  close = async () => {
    handler.close();
    await served.close();
    await made.rath.close();
  };
});
afterAll(() => close());

const PNG = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]), randomBytes(64)]);
const HTML = Buffer.from("<script>alert(1)</script>");

function ask(path: string, headers: { readonly [name: string]: string } = {}): Promise<Response> {
  return fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } });
}

/** The same schema, which also refuses every field that it does not name. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const fields = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return "properties" in fields ? { additionalProperties: false, ...fields } : fields;
}

/** The part of the validator that is used here. */
type Checker = { validate(document: unknown): Promise<{ readonly valid: boolean }> };

describe("reading over HTTP", () => {
  it("[SV4] every operation that reads answers as its schema says, with no field besides", async () => {
    const rath = client(url, { token });
    const facts = (await rath.facts({ name: "work", limit: 1000 })).items;
    const reply = facts.findLast(({ type }) => type === "model-reply")?.id ?? "";
    const [name, path] = ["work", "src/price.txt"];
    const inputs: { readonly [operation: string]: readonly object[] } = {
      me: [{}],
      sessions: [{}, { order: "name" }, { q: "prices", person: "user:ada" }, { failed: true }],
      session: [{ name }, { name: "fork" }],
      facts: [{ name }, { name, type: ["tool-call"] }, { name, only: "people" }, { name, branch: "small" }],
      fact: facts.map(({ id }) => ({ name, id })),
      factById: facts.map(({ id }) => ({ id })),
      graph: [{ name }, { name, level: "fact", head: reply }, { name, level: "turn", of: reply }],
      summary: [{ name }, { name, head: reply }],
      turns: [{ name }, { name, head: reply }, { name: "picture" }],
      timeline: [{ name }, { name, head: reply }],
      series: [{ name, buckets: 7 }],
      prompt: [{ name, fact: reply }],
      files: [{ name }, { name, path: "src" }],
      changes: [{ name }],
      diff: [{ name, path }],
      blame: [{ name, path }],
      conflicts: [{ name }, { name, theirs: "fork" }],
      compare: [
        { a: "work", b: "fork", differences: false },
        { a: "work", b: "picture" },
      ],
      spaces: [{}],
      memories: [{ space: "notes" }, { space: "notes", q: "rounded" }],
      memoryWhy: [{ space: "notes", id: memory }],
      influence: [{ space: "notes", id: memory }],
      questions: [{}],
      ask: [{ name, question: "branch" }],
      askAll: [{ question: "by", principal: "user:ada" }],
      sections: [{ name }],
      search: [{ q: "prices" }, { tool: "deploy" }],
      pending: [{}],
      origins: [{ name: "fork" }, { name }],
      openapi: [{}],
    };
    const others = ["file", "part", "blob", "verify", "export", "events"];
    const sections = (await rath.sections({ name })).items.map(({ section }) => ({ name, section }));
    const all = { ...inputs, section: sections };
    expect([...Object.keys(all), ...others].sort()).toEqual(Object.keys(reading).sort());
    for (const [operation, each] of Object.entries(all)) {
      const { answer } = reading[operation as keyof typeof reading] as {
        readonly answer: { json: JsonSchema };
      };
      const schema = operation === "openapi" ? answer.json : closed(answer.json);
      const validator = await jsonValidator(schema as JsonSchema);
      for (const input of each) {
        const call = rath[operation as keyof typeof rath] as (input: object) => Promise<unknown>;
        const found = await call(input);
        const { errors } = validator.validate(found);
        expect(errors.slice(-3), `${operation} ${JSON.stringify(input)}`).toEqual([]);
        if ("items" in (found as object) && !["pending", "conflicts", "origins"].includes(operation))
          expect((found as { items: unknown[] }).items, `${operation} ${JSON.stringify(input)}`).not.toEqual(
            [],
          );
      }
    }
  });

  it("[SV5] content comes in ranges, and no browser runs it", async () => {
    const rath = client(url, { token });
    const text = "one\nTWO\nthree\nfour\n";
    const file = "/api/sessions/work/file?path=src/price.txt";
    const whole = await ask(file);
    expect(await whole.text()).toBe(text);
    expect(whole.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    for (const [range, part, told] of [
      ["bytes=4-6", "TWO", `bytes 4-6/${text.length}`],
      ["bytes=14-", "four\n", `bytes 14-18/${text.length}`],
      ["bytes=-5", "four\n", `bytes 14-18/${text.length}`],
      ["bytes=0-9999", text, `bytes 0-18/${text.length}`],
    ]) {
      const response = await ask(file, { range: range as string });
      expect([response.status, response.headers.get("content-range"), await response.text()]).toEqual([
        206,
        told,
        part,
      ]);
    }
    for (const range of ["bytes=19-", "bytes=-0", "bytes=9-3"])
      expect((await ask(file, { range })).status).toBe(416);
    for (const range of ["bytes=0-1,4-6", "lines=1-2", "bytes=a-b", "bytes=-"])
      expect(await (await ask(file, { range })).text()).toBe(text);
    const etag = whole.headers.get("etag") as string;
    expect((await ask(file, { "if-none-match": etag })).status).toBe(304);
    expect((await ask(file, { range: "bytes=0-1", "if-range": '"other"' })).status).toBe(200);
    const [row] = (await rath.files({ name: "work", path: "src" })).items;
    expect(await (await ask(`/api/blobs/${row?.digest}`, { range: "bytes=0-2" })).text()).toBe("one");

    const [turn] = (await rath.turns({ name: "picture" })).items;
    const picture = await rath.part({ name: "picture", fact: turn?.id as string, part: "1" });
    expect(Buffer.from(await picture.arrayBuffer())).toEqual(PNG);
    expect(picture.headers.get("content-type")).toBe("image/png");
    const page = await rath.part({ name: "picture", fact: turn?.id as string, part: "2" });
    expect(page.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    for (const response of [whole, picture, page]) {
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("content-security-policy")).toMatch(/default-src 'none'.*sandbox/);
    }
    for (const path of [
      "../../etc/passwd",
      "/etc/passwd",
      "src/../../x",
      "src//price.txt/..",
      "a\0b",
      "none",
    ]) {
      const refused = await ask(`/api/sessions/work/file?path=${encodeURIComponent(path)}`);
      expect([path, [404, 422].includes(refused.status)]).toEqual([path, true]);
    }
  });

  it("[SV6] verification tells its progress, and an export is the whole record", async () => {
    const rath = client(url, { token });
    const verified = (await (await rath.verify({ name: "work" })).text()).trim().split("\n");
    const { count } = await store.facts("work", { limit: 1 });
    expect(JSON.parse(verified.at(-1) as string)).toMatchObject({ ok: true, checked: count, problems: [] });
    const lines = await (await rath.export({ name: "work" })).text();
    const other = await openStore("memory:");
    await other.import(lines, { name: "work", head: await store.resolve("work") });
    expect((await other.facts("work", { limit: 1 })).count).toBe(count);
    await other.close();
    const bundle = await (await rath.export({ name: "work", format: "bundle" })).text();
    expect(JSON.parse(bundle)).toMatchObject({ seal: { facts: count } });
    for (const format of ["html", "dossier", "otel", "atif", "csv"]) {
      const response = await rath.export({ name: "work", format });
      expect(response.headers.get("content-disposition")).toMatch(/^attachment; filename="work\./);
      expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(100);
    }
    await expect(rath.export({ name: "work", format: "docx" })).rejects.toMatchObject({ status: 404 });
  });

  it("[SV6] a file of a long session is made beside the server, and is that of the library", async () => {
    ensureBuilt();
    const long = await openStore(`sqlite:${join(folder(), "rath.db")}`);
    let session = Session.start("Long.", { by: "user:ada" });
    for (let fact = 1; fact < 2_100; fact++) session = session.say(`fact ${fact}`, { role: "assistant" });
    await long.save(session, { name: "-long" });
    const runtime = openRath({ store: long });
    const handler = server(runtime, { auth: { single: "user:ada" } });
    const rath = client("http://localhost", {
      token: handler.token as string,
      fetch: (input, init) => handler(new Request(input as string, init)),
    });
    const writer = await exportFormat("atif");
    const subject = { name: "-long", session: await long.load("-long"), store: long };
    const exported = await (await rath.export({ name: "-long", format: "atif" })).text();
    expect(JSON.parse(exported)).toEqual(JSON.parse(String(await writer.write(subject, {}))));
    const page = await (await rath.export({ name: "-long~5", format: "html" })).text();
    expect(page).toMatch(/^<!doctype html>/i);
    await expect(rath.export({ name: "-long", format: "docx" })).rejects.toMatchObject({ status: 404 });
    const leaving = rath.export({ name: "-long", format: "atif" }, { signal: AbortSignal.timeout(1) });
    await expect(leaving).rejects.toThrow();
    handler.close();
    await runtime.close();
    await long.close();
  });

  it("[SV7] the interface is an OpenAPI document that others accept", async () => {
    const validator = createRequire(import.meta.url).resolve("@seriousme/openapi-schema-validator");
    const { Validator } = (await import(pathToFileURL(validator).href)) as { Validator: new () => Checker };
    const document = await (await fetch(`${url}/openapi.json`)).json();
    expect(document).toEqual(JSON.parse(JSON.stringify(openApi())));
    expect(await new Validator().validate(document)).toMatchObject({ valid: true });
    expect(await new Validator().validate({ ...(document as object), paths: 7 })).toMatchObject({
      valid: false,
    });
    expect(Object.keys((document as { paths: object }).paths).length).toBeGreaterThan(30);
  });

  it("[SV8] the answers are those of the library", async () => {
    const [rath, library] = [client(url, { token }), pages(store)];
    const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
    expect(await rath.graph({ name: "work", level: "fact" })).toEqual(
      plain(await library.graph("work", { level: "fact" })),
    );
    expect(await rath.summary({ name: "work" })).toEqual(plain(await library.summary("work")));
    expect((await rath.turns({ name: "work" })).items).toEqual(plain((await library.turns("work")).items));
    expect((await rath.timeline({ name: "work" })).items).toEqual(
      plain((await library.timeline("work")).items),
    );
    expect(await rath.series({ name: "work" })).toEqual(plain(await library.series("work")));
    expect((await rath.compare({ a: "work", b: "fork" })).rows).toEqual(
      plain((await library.compare("work", "fork")).rows),
    );
  });
});
