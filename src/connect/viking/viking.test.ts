import { afterEach, describe, expect, it } from "vitest";
import type { BackendContext } from "../../memory/backend.js";
import type { Memory } from "../../memory/state.js";
import { BackendError, type BackendFault, type VikingOptions, viking, vikingAddress } from "./index.js";
import { EVIL, evilViking } from "./testing/evil.js";
import { type VikingDouble, type VikingDoubleOptions, vikingDouble } from "./testing/server.js";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});
const kept = <One extends { close(): Promise<void> }>(one: One): One => {
  open.push(one);
  return one;
};
const double = async (options: VikingDoubleOptions = {}): Promise<VikingDouble> =>
  kept(await vikingDouble(options));

const KEY = "sk-very-secret-9f3a";
const context = (signal = new AbortController().signal): BackendContext => ({ signal, secret: () => KEY });
const id = (digit: string): string => digit.repeat(64);
const memory = (digit: string, text: string, more: Partial<Memory> = {}): Memory => ({
  id: id(digit),
  space: "team/notes",
  text,
  version: id(digit),
  scope: ["user:ada"],
  source: "reflection",
  because: [id("f")],
  by: "user:ada",
  at: "2026-01-01T00:00:00.000Z",
  status: "live",
  origins: [],
  trust: "untrusted",
  contradicts: [],
  merges: [],
  links: [],
  ...more,
});
const listed = async <One>(all: AsyncIterable<One>): Promise<One[]> => {
  const list: One[] = [];
  for await (const one of all) list.push(one);
  return list;
};
const failure = async (work: Promise<unknown>): Promise<BackendError> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BackendError);
  return error as BackendError;
};

describe.each([false, true])("the backend, with a server that is strict: %s", (strict) => {
  it("[V1] [V5] a memory is one file at one address; a newer text takes its place", async () => {
    const server = await double({ strict, key: KEY });
    const backend = viking({ url: server.url, key: "KEY", user: "ada" });
    const first = await backend.keep(memory("a", "the tap drips"), context());
    expect(await backend.keep(memory("a", "the tap drips"), context())).toEqual(first);
    const second = await backend.keep(memory("a", "the tap is mended", { version: id("b") }), context());
    expect(second).toEqual(first);
    expect(backend.addressOf(id("a"), "team/notes")).toBe(first.address);
    const path = first.address.slice("viking://".length);
    expect(path).toMatch(/^user\/ada\/memories\/openrath\/team-notes-[0-9a-f]{12}\/a{64}\.md$/);
    expect(server.files.read(path)).toBe(
      `<!-- openrath memory=${id("a")} version=${id("b")} -->\n\nthe tap is mended`,
    );
    const other = await backend.keep(memory("a", "elsewhere", { space: "team-notes" }), context());
    expect(other.address).not.toBe(first.address);
  });

  it("[V2] a kept text is found with its memory, others' texts without", async () => {
    const server = await double({ strict });
    const backend = viking({ url: server.url, among: ["viking://resources"] });
    await backend.keep(memory("a", "the red bicycle is in the cellar"), context());
    await backend.keep(memory("b", "the bicycle needs oil \ud83d\ude80"), context());
    server.files.write("resources/manual.md", "how to oil a bicycle", "create", false);
    // Its name is one of ours, and what it says is not: somebody else's.
    server.files.write(
      `user/default/memories/openrath/x-${"0".repeat(12)}/${id("c")}.md`,
      `<!-- openrath memory=${id("a")} version=${id("a")} -->\n\nbicycle thieves`,
      "create",
      false,
    );
    const found = await backend.find("red bicycle", { limit: 10 }, context());
    expect(found[0]).toMatchObject({ memory: id("a"), text: "the red bicycle is in the cellar", score: 1 });
    expect(found.find((one) => one.memory === id("b"))).toMatchObject({
      text: "the bicycle needs oil \ud83d\ude80",
      parts: { version: id("b") },
    });
    expect(
      found
        .filter((one) => one.memory === undefined)
        .map((one) => one.address)
        .sort(),
    ).toEqual([
      "viking://resources/manual.md",
      `viking://user/default/memories/openrath/x-${"0".repeat(12)}/${id("c")}.md`,
    ]);
    expect(found.map(({ score }) => score)).toEqual(
      found.map(({ score }) => score).sort((one, other) => other - one),
    );
    expect(await backend.find("bicycle", { limit: 1 }, context())).toHaveLength(1);
    expect(await backend.find("nothing like it", { limit: 5 }, context())).toEqual([]);
  });
});

describe("the backend", () => {
  it("[V3] summaries of the folder are not among what is found", async () => {
    const server = await double();
    const backend = viking({ url: server.url });
    const { address } = await backend.keep(memory("a", "the code of the door is 1234"), context());
    expect(server.files.find("door", ["user/default/memories/openrath"]).map(({ level }) => level)).toContain(
      0,
    );
    expect((await backend.find("door", { limit: 10 }, context())).map((one) => one.memory)).toEqual([
      id("a"),
    ]);
    await backend.drop(address, context());
    expect(await backend.find("door", { limit: 10 }, context())).toEqual([]);
  });

  it("[V4] a dropped memory is gone, a missing one is ignored, and others' are refused", async () => {
    const server = await double();
    const backend = viking({ url: server.url });
    const { address } = await backend.keep(memory("a", "one"), context());
    server.files.write("resources/other.md", "somebody's", "create", false);
    await backend.drop(address, context());
    await backend.drop(address, context());
    for (const other of [
      "viking://resources/other.md",
      "viking://resources",
      "nonsense",
      `viking://resources/../${id("a")}.md`,
      `viking://resources/${id("a")}.md`,
    ])
      await expect(backend.drop(other, context())).rejects.toMatchObject({ code: "memory-refused" });
    expect(server.files.read("resources/other.md")).toBe("somebody's");
  });
});

describe("the client", () => {
  it("[V6] folders and files", async () => {
    const server = await double({ strict: true });
    const client = viking({ url: server.url }).client();
    await client.mkdir("viking://resources/docs", "papers");
    expect(await client.write("viking://resources/docs/a.md", "alpha beta")).toMatchObject({ created: true });
    expect(await client.write("viking://resources/docs/a.md", " gamma", { append: true })).toMatchObject({
      created: false,
    });
    expect(await client.read("viking://resources/docs/a.md")).toBe("alpha beta gamma");
    expect(await client.stat("viking://resources/docs/a.md")).toMatchObject({
      name: "a.md",
      folder: false,
      size: 16,
    });
    expect((await client.ls("viking://resources/")).map(({ address, folder }) => [address, folder])).toEqual([
      ["viking://resources/docs", true],
    ]);
    await client.move("viking://resources/docs/a.md", "viking://resources/docs/deep/b.md");
    expect((await client.tree("viking://resources")).map(({ address }) => address)).toContain(
      "viking://resources/docs/deep/b.md",
    );
    expect(await client.abstract("viking://resources/docs")).toBe("alpha beta gamma");
    expect(await client.overview("viking://resources/docs")).toContain("b.md");
    await client.write("viking://~/memories/x.md", "beta of mine");
    expect(await client.read("viking://~/memories/x.md")).toBe("beta of mine");
    expect(await client.read("viking://~/memories/x.md", { raw: true })).toContain("MEMORY_FIELDS");
    expect(
      (await client.find("beta", { within: "viking://~/memories" }))
        .filter(({ level }) => level === 2)
        .map(({ address, kind }) => [address, kind]),
    ).toEqual([["viking://user/default/memories/x.md", "memory"]]);
    const session = await client.sessions.create();
    expect(await client.search("beta gamma", { session, limit: 2, threshold: 0.9 })).toMatchObject([
      { score: 1 },
      { score: 1 },
    ]);
    expect((await failure(client.search("beta", { session: "none" }))).fault).toBe("not-found");
    expect((await failure(client.read("viking://resources/docs"))).data).toMatchObject({
      fault: "refused",
      code: "INVALID_ARGUMENT",
      actual: "directory",
    });
    await client.remove("viking://resources/docs", { recursive: true });
    await client.remove("viking://resources/docs", { recursive: true });
    expect((await failure(client.stat("viking://resources/docs"))).fault).toBe("not-found");
  });

  it("[V7] level by level, and no further than is wanted", async () => {
    const server = await double();
    const client = viking({ url: server.url }).client();
    for (const name of ["a", "b", "c"])
      await client.write(`viking://resources/docs/${name}.md`, name.repeat(1_000));
    const seen: number[] = [];
    for await (const { level } of client.levels("viking://resources/docs")) {
      seen.push(level);
      if (level === 1) break;
    }
    expect(seen).toEqual([0, 1]);
    expect(server.requests.some((one) => one.includes("/content/read"))).toBe(false);
    const all: number[] = [];
    for await (const { level, text } of client.levels("viking://resources/docs", { files: 2 }))
      all.push(level, text.length);
    expect(all).toEqual([0, 256, 1, expect.any(Number), 2, 1_000, 2, 1_000]);
    const few = await listed(client.levels("viking://resources/docs", { characters: 300 }));
    expect(few.map(({ text }) => text.length).reduce((one, other) => one + other)).toBe(300);
    expect(await listed(client.levels("viking://resources/docs/a.md"))).toMatchObject([{ level: 2 }]);
    await expect(listed(client.levels("viking://resources", { files: 0 }))).rejects.toMatchObject({
      code: "memory-option",
    });
  });

  it("[V8] a session is committed, and its task waited for as long as said", async () => {
    const server = await double();
    const client = viking({ url: server.url }).client();
    const session = await client.sessions.create("talk-1");
    expect(await client.commit(session)).toEqual({ status: "skipped" });
    await client.sessions.say(session, { role: "user", content: "I like tea" });
    await client.sessions.say(session, { role: "assistant", content: "noted", at: "2026-01-01T00:00:00Z" });
    await client.sessions.used(session, ["viking://resources/docs"]);
    expect(server.used.get("talk-1")).toEqual(["viking://resources/docs"]);
    expect(await client.commit(session, { wait: 20_000 })).toEqual({
      status: "completed",
      task: "task-1",
      archive: "viking://user/default/sessions/talk-1/history/archive_001",
      extracted: { events: 2 },
    });
    const slow = viking({ url: (await double({ learning: "never" })).url }).client();
    await slow.sessions.create("s");
    await slow.sessions.say("s", { role: "user", content: "x" });
    expect(await slow.commit("s", { wait: 100 })).toMatchObject({ status: "running", task: "task-1" });
    const failing = viking({ url: (await double({ learning: "fails" })).url }).client();
    await failing.sessions.create("s");
    await failing.sessions.say("s", { role: "user", content: "x" });
    expect((await failure(failing.commit("s", { wait: 20_000 }))).data).toMatchObject({ fault: "refused" });
    for (const bad of ["../x", "", "a/b", ".."])
      await expect(client.commit(bad)).rejects.toMatchObject({ code: "memory-option" });
  });

  it("[V8] waiting ends when it is stopped", async () => {
    const stop = new AbortController();
    const server = await double({ learning: "never" });
    const client = viking({ url: server.url }).client(context(stop.signal));
    await client.sessions.create("s");
    await client.sessions.say("s", { role: "user", content: "x" });
    const waiting = client.commit("s", { wait: 60_000 });
    setTimeout(() => stop.abort(), 50);
    expect((await failure(waiting)).fault).toBe("stopped");
  });

  it("[V9] snapshots", async () => {
    const client = viking({ url: (await double()).url }).client();
    expect((await failure(client.snapshots.log())).fault).toBe("not-found");
    await client.write("viking://resources/p/a.md", "one");
    const first = await client.snapshots.commit("first");
    expect(first.changed).toBe(true);
    expect(await client.snapshots.commit("again")).toEqual({ id: first.id, changed: false });
    await client.write("viking://resources/p/a.md", "two");
    await client.write("viking://resources/p/b.md", "new");
    const second = await client.snapshots.commit("second", ["viking://resources/p"]);
    expect(
      await client.snapshots.restore(first.id, { within: "viking://resources/p", dryRun: true }),
    ).toEqual({ done: false, written: ["a.md"], deleted: ["b.md"] });
    expect(await client.read("viking://resources/p/a.md")).toBe("two");
    const restored = await client.snapshots.restore(first.id.slice(0, 8), {
      within: "viking://resources/p",
      message: "back",
    });
    expect(restored).toMatchObject({
      done: true,
      written: ["resources/p/a.md"],
      deleted: ["resources/p/b.md"],
    });
    expect(await client.read("viking://resources/p/a.md")).toBe("one");
    const log = await client.snapshots.log();
    expect(log.map(({ message }) => message)).toEqual(["back", "second", "first"]);
    expect(log[0]).toMatchObject({ id: restored.id, parents: [second.id], at: expect.stringMatching(/Z$/) });
  });

  it("[V10] addresses lead where they say, or are refused before anything is asked", async () => {
    const server = await double();
    const client = viking({ url: server.url }).client();
    expect(vikingAddress("viking://resources/a b/ü.md/")).toEqual({
      scope: "resources",
      path: ["a b", "ü.md"],
      text: "viking://resources/a b/ü.md",
    });
    expect(vikingAddress("viking://")).toMatchObject({ scope: "", path: [] });
    const bad = [
      "",
      "/etc/passwd",
      "file:///etc/passwd",
      "http://resources/x",
      "VIKING://resources",
      "viking:/resources",
      "viking://temp/x",
      "viking://queue",
      "viking://resources/../user",
      "viking://resources/./x",
      "viking://resources//x",
      "viking:///x",
      "viking://resources/%2e%2e/x",
      "viking://resources/a%2f..%2fb",
      "viking://resources/a\\b",
      "viking://resources/a\nb",
      "viking://resources/a\u0000",
      "viking://resources/\ud800",
      "viking://resources/{calendar:today}",
      `viking://resources/${"x".repeat(3_000)}`,
    ];
    for (const one of [...bad, 7, null, undefined] as string[]) {
      expect(() => vikingAddress(one), String(one)).toThrow("Cannot use the address");
      await expect(client.read(one)).rejects.toMatchObject({ code: "memory-option" });
    }
    expect(server.requests).toEqual([]);
  });

  it("[V11] whether it is well and ready", async () => {
    const client = viking({ url: (await double({ key: KEY })).url }).client();
    expect(await client.health()).toEqual({ healthy: true, version: "0.4.0" });
    expect(await client.ready()).toMatchObject({ ready: true });
    const unready = viking({ url: (await double({ unready: true })).url }).client();
    expect(await unready.ready()).toMatchObject({ ready: false, checks: { vectordb: "error" } });
    expect(
      (
        await failure(
          viking({ url: (await evilViking("500").then(kept)).url })
            .client()
            .health(),
        )
      ).fault,
    ).toBe("refused");
  });
});

const FAULTS: { readonly [behaviour: string]: BackendFault } = {
  hangs: "timeout",
  "hangs after its head": "timeout",
  drips: "timeout",
  drops: "unreachable",
  "half an answer": "unreachable",
  "100 MB": "too-large",
  "100 MB announced": "too-large",
  "no JSON": "malformed",
  "no text": "malformed",
  "an empty answer": "malformed",
  "a list": "malformed",
  "no envelope": "malformed",
  "no result": "malformed",
  "a deep result": "malformed",
  "another result": "malformed",
  "an error without words": "refused",
  "500": "refused",
  "503": "unreachable",
  "says the key": "refused",
};

describe("failures", () => {
  it("[V12] every behaviour has its fault", () => {
    expect(Object.keys(EVIL).sort()).toEqual(Object.keys(FAULTS).sort());
  });

  it.each(Object.entries(FAULTS))("[V12] [V14] a server that does: %s, is: %s", async (behaviour, fault) => {
    const server = kept(await evilViking(behaviour));
    // Only what is to run out of time has little of it: a busy machine takes its own over 100 MB.
    const timeout = fault === "timeout" ? 400 : 30_000;
    const backend = viking({ url: server.url, key: "KEY", timeout, maxAnswer: 1_000_000 });
    const client = backend.client(context());
    const works: Promise<unknown>[] = [
      backend.find("x", { limit: 3 }, context()),
      client.ls("viking://resources"),
      client.stat("viking://resources/x"),
      client.sessions.create(),
      client.snapshots.log(),
      client.read("viking://resources/x"),
    ];
    for (const error of await Promise.all(
      works.map((work) =>
        work.then(
          () => undefined,
          (reason: BackendError) => reason,
        ),
      ),
    )) {
      // An object can be the answer about one file.
      if (error === undefined && behaviour === "another result") continue;
      expect(error).toMatchObject({ code: "memory-backend", fault, data: { fault } });
      expect(JSON.stringify(error) + String((error as Error).stack)).not.toContain(KEY);
      expect(error?.message.length).toBeLessThan(800);
    }
  });

  it("[V12] nobody is there, a wrong key, and the caller has gone", async () => {
    const server = await double({ key: "another" });
    expect(
      (await failure(viking({ url: server.url, key: "KEY" }).find("x", { limit: 1 }, context()))).data,
    ).toMatchObject({ fault: "refused", code: "UNAUTHENTICATED", http: 401 });
    const gone = await vikingDouble();
    await gone.close();
    const error = await failure(viking({ url: gone.url }).keep(memory("a", "x"), context()));
    expect(error.fault).toBe("unreachable");
    expect(error.message).toContain("ECONNREFUSED");
    const stop = new AbortController();
    const hanging = kept(await evilViking("hangs"));
    const waiting = viking({ url: hanging.url }).find("x", { limit: 1 }, context(stop.signal));
    setTimeout(() => stop.abort(new Error("enough")), 50);
    expect((await failure(waiting)).fault).toBe("stopped");
    expect(
      (await failure(viking({ url: hanging.url }).find("x", { limit: 1 }, context(stop.signal)))).fault,
    ).toBe("stopped");
    expect(hanging.asked()).toBe(1);
  });

  it("[V12] a file that is longer than an answer may be does not hide the others", async () => {
    const server = await double();
    const backend = viking({ url: server.url, maxAnswer: 20_000 });
    await backend.keep(memory("a", `tea ${"x".repeat(50_000)}`), context());
    await backend.keep(memory("b", "tea and cake"), context());
    const found = await backend.find("tea", { limit: 5 }, context());
    expect(found.map((one) => one.memory).sort()).toEqual([id("b"), undefined]);
    expect(found.every(({ text }) => text.length < 20_000)).toBe(true);
  });

  it("[V13] a redirection is refused, and nobody else is asked", async () => {
    const other = await double();
    const server = kept(await evilViking({ to: other.url }));
    const error = await failure(
      viking({ url: server.url, key: "KEY" }).client(context()).read("viking://resources/x"),
    );
    expect(error.data).toMatchObject({ fault: "refused", http: 307 });
    expect(other.requests).toEqual([]);
  });

  it("[V14] a key that no header can hold is refused without being shown", async () => {
    const server = await double();
    const backend = viking({ url: server.url, key: "KEY" });
    const error = await failure(
      backend.find("x", { limit: 1 }, { ...context(), secret: () => "half a\nsecret" }),
    );
    expect(error.fault).toBe("refused");
    expect(JSON.stringify(error) + error.stack).not.toContain("half a");
    expect(backend.name).toBe(`openviking ${server.url}`);
    await expect(backend.client().ls("viking://resources")).rejects.toThrow('there is no secret "KEY"');
  });

  it("[V15] options are checked when it is made", () => {
    const bad: readonly [object, string][] = [
      [{ urll: "http://x" }, 'did you mean "url"?'],
      [{ url: "ftp://x" }, "must be the address of a web server"],
      [{ url: "http://ada:pass@x" }, "must have no credentials"],
      [{ url: 7 }, "must be the address of a web server"],
      [{ key: "" }, "its `key` is"],
      [{ user: "../root" }, "its `user` is"],
      [{ account: ".." }, "its `account` is"],
      [{ timeout: 0 }, "its `timeout` is"],
      [{ maxAnswer: Number.NaN }, "its `maxAnswer` is"],
      [{ root: "viking://resources" }, "not only ours"],
      [{ root: "/tmp" }, "does not begin with viking://"],
      [{ among: "viking://resources" }, "`among` must be"],
    ];
    for (const [options, words] of bad) {
      expect(() => viking(options as VikingOptions), JSON.stringify(options)).toThrow(words);
      expect(() => viking(options as VikingOptions)).not.toThrow("pass@");
    }
    expect(() => viking(null as never)).toThrow("not an object");
  });
});
