import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { tool } from "../../agent/tool/index.js";
import { memory } from "../../memory/index.js";
import { type Rath, statusOf } from "../../runtime/index.js";
import { type FactId, Session } from "../../session/index.js";
import { client } from "../contract/client.js";
import { serving, stateOf } from "../testing/serving.js";

/** Looks something up, and says what it found. */
function finder(done: unknown[] = []) {
  const find = tool({
    name: "find",
    description: "Finds a thing.",
    input: { type: "object", properties: { what: { type: "string" } }, required: ["what"] },
    effect: "read",
    run: ({ what }: { what: string }) => {
      done.push(what);
      return `${what} is here`;
    },
  });
  const send = tool({
    name: "send",
    description: "Sends a thing.",
    input: { type: "object", properties: {} },
    effect: "write",
    run: () => {
      done.push("sent");
      return "sent";
    },
  });
  const model = () =>
    scripted(
      { tool: "find", input: { what: "a" } },
      { tool: "send", input: {} },
      "All done.",
      "Said more.",
      "And more.",
    );
  return agent({ name: "finder", model: model(), tools: [find, send] });
}

async function ground() {
  const done: unknown[] = [];
  const made = await serving({ modules: { finder: finder(done) } });
  const ada = client(made.url, { token: made.token("ada", ["run"], "a/*") });
  await ada.run({ module: "finder", name: "a/1", text: "Find it.", wait: true });
  const facts = [...(await made.rath.load("a/1")).history()];
  const place = (type: string, index = 0): FactId =>
    facts.filter(({ fact }) => fact.type === type)[index]?.id as FactId;
  const typed = async (name: string, type: string) =>
    [...(await made.rath.load(name)).history()].map(({ fact }) => fact).filter((fact) => fact.type === type);
  return { ...made, ada, done, place, typed };
}

it("[SA8] a replay says whether the program comes out as recorded", async () => {
  const { ada, rath, store } = await ground();
  const before = await stateOf(store);
  const { id } = await rath.load("a/1");
  expect(await ada.replay({ name: "a/1" })).toEqual({ same: true, id });
  expect(await stateOf(store)).toBe(before);
  const other = await serving({ modules: { finder: agent({ name: "finder", model: scripted("No.") }) } });
  for await (const line of store.export("a/1")) await other.store.import(line);
  await other.store.point("a/1", id);
  const bea = client(other.url, { token: other.token("bea", ["run"]) });
  expect(await bea.replay({ name: "a/1" })).toMatchObject({
    same: false,
    difference: { code: "divergence" },
  });
});

it("[SA9] a rerun does exactly what its plan said, and nothing when anything is another", async () => {
  const { ada, done, place, store, typed, url, token, rath } = await ground();
  expect(done).toEqual(["a", "sent"]);
  const change = { name: "a/1", from: place("tool-call"), as: "a/2", input: { what: "b" } } as const;
  const before = await stateOf(store);
  const plan = (await ada.rerunPlan(change)) as unknown as { digest: string; writes: { id: string }[] };
  const [write] = plan.writes;
  expect(plan).toMatchObject({
    sentence: expect.stringContaining("1 write is real"),
    change: { kind: "input" },
  });
  const { digest } = plan;
  const allowed = [write?.id as string];
  const refusals: readonly (readonly [object, number])[] = [
    [{ digest }, 409],
    [{ digest, allowed: [] }, 409],
    [{ digest: "0".repeat(64), allowed }, 409],
    [{ digest, allowed, input: { what: "c" } }, 409],
    [{ digest, allowed, as: "a/3" }, 409],
    [{ digest, allowed, answer: "x" }, 400],
    [{ digest, allowed, as: "b/1" }, 403],
    [{ digest, allowed, from: place("session-start") }, 422],
    [{ digest, allowed, from: "0".repeat(64) }, 404],
  ];
  for (const [more, status] of refusals)
    await expect(ada.rerun({ ...change, ...more } as never)).rejects.toMatchObject({ status });
  const mal = client(url, { token: token("mal", ["view"], "a/*") });
  await expect(mal.rerun({ ...change, digest, allowed })).rejects.toMatchObject({ status: 403 });
  expect(await stateOf(store)).toBe(before);
  const ran = await ada.rerun({ ...change, digest, allowed, wait: true });
  expect(ran).toMatchObject({ name: "a/2", state: "finished" });
  expect(done.slice(2)).toEqual(["b", "sent"]);
  expect(await typed("a/2", "approval-give")).toMatchObject([{ by: "user:ada", edit: { what: "b" } }]);
  expect((await typed("a/2", "run-start")).at(-1)).toMatchObject({ by: "user:ada", name: "a/2" });
  expect((await typed("a/2", "tool-result"))[0]).toMatchObject({ output: "b is here" });
  // The recorded run stays as it was.
  expect(statusOf(await rath.load("a/1"))).toBe("finished");
  expect(await ada.replay({ name: "a/2" })).toMatchObject({ same: true });
});

it("[SA9] an answer and an instruction are changed, in the name of the sender", async () => {
  const { ada, done, place, typed } = await ground();
  const planned = async (change: object) => {
    const { digest, writes } = (await ada.rerunPlan({ name: "a/1", ...change } as never)) as unknown as {
      digest: string;
      writes: { id: string }[];
    };
    const allowed = writes.map(({ id }) => id);
    return ada.rerun({ name: "a/1", ...change, digest, allowed, wait: true } as never);
  };
  const answer = { from: place("tool-result"), as: "a/answer", answer: "nothing is here" };
  expect(await planned(answer)).toMatchObject({ state: "finished" });
  expect(done).toEqual(["a", "sent", "sent"]);
  expect((await typed("a/answer", "tool-result"))[0]).toMatchObject({
    output: "nothing is here",
    by: "user:ada",
  });
  const reply = { from: place("model-reply"), as: "a/reply", answer: "I will not." };
  expect(await planned(reply)).toMatchObject({ state: "finished", text: "I will not." });
  expect(await typed("a/reply", "model-reply")).toMatchObject([{ content: "I will not.", by: "user:ada" }]);
  const said = { from: place("tool-result"), as: "a/said", instruction: "Do not send it." };
  expect(await planned(said)).toMatchObject({ state: "finished" });
  expect(await typed("a/said", "message-say")).toMatchObject([
    { content: "Do not send it.", by: "user:ada" },
  ]);
  expect(await planned({ from: place("tool-call", 1), as: "a/again" })).toMatchObject({ state: "finished" });
  expect(done.at(-1)).toBe("sent");
});

/** Two sessions that changed the same file differently, and one file each alone. */
async function parted(rath: Rath): Promise<void> {
  const holding = async (session: Session, files: { readonly [name: string]: string }) => {
    const folder = mkdtempSync(join(tmpdir(), "rath-merge-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return rath.importFiles(session, folder);
  };
  const base = await holding(rath.start("go"), { a: "a\n", b: "b\n" });
  await rath.save(await holding(base.fork("ours"), { a: "ours\n", b: "b\n" }), "a/ours");
  await rath.save(await holding(base.fork("theirs"), { a: "theirs\n", b: "new\n" }), "a/theirs");
}

it("[SA10] sessions are forked from any point, and merged with a choice for every file in conflict", async () => {
  const { ada, rath, store, place } = await ground();
  const fork = await ada.fork({ name: "a/1", as: "a/fork", head: place("tool-call"), why: "another way" });
  expect(fork).toMatchObject({ name: "a/fork", from: place("tool-call") });
  expect((await rath.load("a/fork")).fact).toMatchObject({
    type: "branch-fork",
    by: "user:ada",
    why: "another way",
  });
  await expect(ada.fork({ name: "a/1", as: "a/fork" })).rejects.toMatchObject({ status: 409 });
  await expect(ada.fork({ name: "a/1", as: "b/fork" })).rejects.toMatchObject({ status: 403 });
  await parted(rath);
  await rath.save(Session.start("secret"), "secret");
  const before = await stateOf(store);
  const merge = { name: "a/ours", theirs: "a/theirs", as: "a/merged" } as const;
  await expect(ada.merge(merge)).rejects.toMatchObject({
    status: 409,
    code: "files-conflict",
    data: { conflicts: [{ path: "a" }] },
  });
  for (const files of [{}, { a: "nobody" }, { a: { text: 5 } }, { a: "ours", b: "ours" }])
    await expect(ada.merge({ ...merge, files })).rejects.toMatchObject({ status: 409 });
  await expect(ada.merge({ ...merge, theirs: "secret" })).rejects.toMatchObject({ status: 403 });
  expect(await stateOf(store)).toBe(before);
  expect(await ada.merge({ ...merge, files: { a: { text: "both\n" } } })).toMatchObject({
    state: "finished",
  });
  const files = await rath.filesAt(await rath.load("a/merged"));
  expect([await files.text("a"), await files.text("b")]).toEqual(["both\n", "new\n"]);
  const own = await ada.merge({ name: "a/ours", theirs: "a/theirs", files: "theirs" });
  expect(own).toMatchObject({ name: "a/ours", state: "finished" });
  expect(await (await rath.filesAt(await rath.load("a/ours"))).text("a")).toBe("theirs\n");
});

it("[SA11] content is erased in two steps, by somebody with the role for every session that loses it", async () => {
  const { rath, store, url, token } = await ground();
  const text = `Ada Lovelace lives here. ${"x".repeat(9_000)}`;
  await rath.save(Session.start(text, { by: "user:ada" }), "p/1");
  const [eva, all] = [token("eva", ["erase"], "p/*"), token("all", ["erase"])];
  const [some, every] = [client(url, { token: eva }), client(url, { token: all })];
  const before = await stateOf(store);
  const what = { about: "Ada Lovelace" };
  await expect(some.erase({ what, why: "asked for" })).rejects.toMatchObject({ status: 403 });
  await expect(every.erase({ what })).rejects.toMatchObject({ status: 400 });
  await expect(every.erase({ token: "none" })).rejects.toMatchObject({
    status: 409,
    code: "erase-unplanned",
  });
  const shown = await every.erase({ what: { ...what, names: ["p/1"] }, why: "request 41" });
  expect(shown).toMatchObject({ erased: false, plan: { pieces: 1 } });
  await expect(some.erase({ token: shown.token as string })).rejects.toMatchObject({ status: 409 });
  expect(await stateOf(store)).toBe(before);
  // More of it came meanwhile: that was not shown.
  await rath.save(Session.start(`${text}!`, { by: "user:ada" }), "p/2");
  const other = await some.erase({ what: { ...what, names: ["p/1", "p/2"] }, why: "request 41" });
  await rath.save(Session.start(`${text}?`, { by: "user:ada" }), "p/2/more");
  await store.point("p/2", (await rath.load("p/2/more")).id, { force: true } as never);
  await expect(some.erase({ token: other.token as string })).rejects.toMatchObject({
    status: 409,
    code: "erase-moved",
  });
  const done = await every.erase({ token: shown.token as string });
  expect(done).toMatchObject({ erased: true, pieces: 1, sound: true });
  expect((await store.load(done.facts?.[0] as string)).fact).toMatchObject({
    type: "content-erase",
    by: "user:all",
    why: "request 41",
  });
  await expect(every.erase({ token: shown.token as string })).rejects.toMatchObject({ status: 409 });
});

it("[SA12] a memory is taken out of use by somebody with the role for its space", async () => {
  const { store, url, token } = await ground();
  const because = Session.start("He said so.", { by: "user:ada" });
  await store.save(because, { name: "talk" });
  const space = memory({ name: "house", scope: "user:ada" }).open(store);
  const draft = { text: "The door is blue.", source: "human-correction", by: "user:ada" } as const;
  const { memory: id } = await space.write({ ...draft, because: [because.id] });
  const [bea, eve] = [
    client(url, { token: token("bea", ["approve"], "memory/*") }),
    client(url, { token: token("eve", ["view"]) }),
  ];
  const before = await stateOf(store);
  await expect(eve.revokeMemory({ space: "house", id, why: "x" })).rejects.toMatchObject({ status: 403 });
  await expect(bea.revokeMemory({ space: "none", id, why: "x" })).rejects.toMatchObject({ status: 404 });
  await expect(bea.revokeMemory({ space: "house", id: "0".repeat(64), why: "x" })).rejects.toMatchObject({
    status: 404,
  });
  expect(await stateOf(store)).toBe(before);
  expect(await bea.revokeMemory({ space: "house", id, why: "It is red." })).toMatchObject({ memory: id });
  const facts: object[] = [];
  for await (const { fact } of store.history("memory/house")) facts.push(fact);
  expect(facts).toContainEqual(expect.objectContaining({ type: "memory-revoke", by: "user:bea" }));
});
