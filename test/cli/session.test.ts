import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { agent, openRath, Session, scripted, tool, workflow } from "openrath";
import { memory } from "openrath/memory";
import { openStore, type Store } from "openrath/store";
import { beforeAll, describe, expect, it } from "vitest";
import type { Said } from "./call.js";
import { commandIn, scratch, twoBranches } from "./rath.js";

const folder = scratch();
const rath = commandIn(folder);
const url = `sqlite:${join(folder, "home", "rath.db")}`;
let answer: Session;

beforeAll(async () => {
  answer = await twoBranches(folder);
});

describe("finding sessions", () => {
  it("[S1] by name, id, the beginning of it, facts back and branch, also one after the other", async () => {
    const id = async (reference: string): Promise<string> =>
      json(await rath("show", reference, "--fact", "--json")).id;
    expect(await id("answer")).toBe(answer.id);
    expect(await id(answer.id)).toBe(answer.id);
    expect(await id(answer.id.slice(0, 8))).toBe(answer.id);
    const [merged] = answer.parents;
    expect(await id("answer~")).toBe(merged?.id);
    expect(await id("answer~2")).toBe(merged?.parents[0]?.id);
    // Of a branch that was merged its own end is meant, and not what came after both.
    expect(await id("answer@small")).toBe(merged?.parents[0]?.id);
    expect(await id("answer@bold")).toBe(merged?.parents[1]?.id);
    expect(await id("answer@bold~1")).toBe(merged?.parents[1]?.parents[0]?.id);
  });

  it("[S1] what cannot be found is said with what is near", async () => {
    expect(await rath("show", "anser")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("did you mean answer?"),
    });
    expect((await rath("show", "answer@bol")).stderr).toContain("did you mean bold?");
    expect((await rath("show", "answer~9999")).stderr).toContain("it begins");
    expect((await rath("show", "0123456789ab")).code).toBe(1);
    expect((await rath("show", "")).code).toBe(2);
  });
});

describe("list, show, log", () => {
  it("[S16] a run that a limit stopped says so", async () => {
    const apart = join(folder, "stopped");
    mkdirSync(join(apart, "home"), { recursive: true });
    const store = await openStore(`sqlite:${join(apart, "home", "rath.db")}`);
    const host = openRath({ store });
    const look = tool({
      name: "look",
      description: "Looks.",
      input: { type: "object" },
      effect: "read",
      run: () => "x",
    });
    const eager = agent({
      name: "eager",
      model: scripted(() => ({ tool: "look", input: {} })),
      tools: [look],
      maxSteps: 2,
    });
    const careful = workflow("careful", { eager }, async (session, parts) =>
      (await parts.eager.forward(session)).say("That is enough.", { role: "assistant" }),
    );
    await host.run(eager, host.start("go"), { name: "direct" });
    await host.run(
      workflow("outer", { eager }, (session, parts) => parts.eager.forward(session)),
      host.start("go"),
      {
        name: "inner",
      },
    );
    await host.run(careful, host.start("go"), { name: "went-on" });
    await host.close();
    await store.close();
    const there = commandIn(apart);
    const stopped = { status: "finished", stopped: { limit: "steps", allowed: 2, spent: 2 } };
    for (const name of ["direct", "inner"]) {
      expect(json(await there("show", name, "--json"))).toMatchObject(stopped);
      expect((await there("show", name)).stdout).toContain("a budget is spent: 2 of 2 steps");
    }
    expect(json(await there("show", "went-on", "--json"))).not.toHaveProperty("stopped");
    const rows = json(await there("list", "--status", "stopped", "--json"));
    expect(rows.map(({ name }: { name: string }) => name).sort()).toEqual(["direct", "inner"]);
    expect(rows[0]).toMatchObject(stopped);
    const { stdout } = await there("list");
    expect(stdout).toMatch(/stopped\s+\w{12}\s+direct.*limit of steps/);
    expect(stdout).toMatch(/finished\s+\w{12}\s+went-on/);
  });

  it("[S2] list has names, ids and statuses, newest first, without the runtime's own", async () => {
    const store = await openStore(url);
    await store.save(Session.start("old", { at: "2020-01-01T00:00:00.000Z" }), { name: "old" });
    await store.save(Session.start("x"), { name: "run/own" });
    await store.close();
    const rows = json(await rath("list", "--json"));
    expect(rows.map(({ name }: { name: string }) => name)).toEqual(["answer", "old"]);
    expect(rows[0]).toMatchObject({ id: answer.id, status: "finished" });
    expect(rows[1]).toMatchObject({ status: "open" });
    expect(json(await rath("list", "--all", "--json"))).toHaveLength(3);
    expect(json(await rath("list", "--status", "open", "--json"))).toHaveLength(1);
    const { stdout } = await rath("list");
    expect(stdout).toMatch(/finished\s+\w{12}\s+answer/);
    expect(stdout).toContain("rath log answer");
  });

  it("[S3] show tells a session, and a fact in full", async () => {
    const { stdout } = await rath("show", "answer");
    for (const told of [
      "finished",
      "Answer in a file.",
      "main, small, bold",
      "4 model calls",
      "short: passed",
      "Done.",
    ])
      expect(stdout).toContain(told);
    const call = [...answer.history()].find(({ fact }) => fact.type === "tool-call") as Session;
    const fact = json(await rath("show", call.id, "--json"));
    expect(fact).toMatchObject({
      id: call.id,
      parents: call.parentIds,
      fact: { name: "write", input: { path: "answer.txt" } },
    });
    expect(fact.children).toHaveLength(1);
    expect((await rath("show", call.id)).stdout).toContain('"path": "answer.txt"');
  });

  it("[S4] log draws every fact once, children before parents, as a naive drawing does", async () => {
    const { stdout } = await rath("log", "answer", "--all");
    const ids = rowsOf(stdout).map(({ id }) => id);
    const all = [...answer.history()].map(({ id }) => id.slice(0, 12));
    expect([...ids].sort()).toEqual([...all].sort());
    for (const session of answer.history())
      for (const parent of session.parentIds)
        expect(ids.indexOf(session.id.slice(0, 12))).toBeLessThan(ids.indexOf(parent.slice(0, 12)));
    const types = json(await rath("log", "answer", "--type", "tool-call", "--json"));
    expect(types.map(({ fact }: { fact: { type: string } }) => fact.type)).toEqual([
      "tool-call",
      "tool-call",
    ]);
    expect(rowsOf((await rath("log", "answer", "-n", "3")).stdout)).toHaveLength(3);
    expect((await rath("log", "answer", "-n", "none")).code).toBe(2);
  });

  it("[S4] so it does where only the newest part of a long history was read", async () => {
    const store = await openStore(url);
    let session = Session.start("long", { at: "2026-01-01T00:00:00.000Z" });
    // Forks inside of forks, branches that are never merged, and clocks that go backwards now and then.
    for (let index = 0; index < 2600; index++) {
      const at = new Date(Date.UTC(2026, 0, 1) + (index - (index % 97 === 0 ? 5 : 0)) * 60_000).toISOString();
      session = session.append({ type: "note", kind: "tick", index, at });
      if (index % 9 !== 4) continue;
      const side = session.fork(`side-${index}`, { at }).append({ type: "note", kind: "side", at });
      const inner = side.fork(`inner-${index}`, { at }).append({ type: "note", kind: "inner", at });
      await store.save(side.append({ type: "note", kind: "lost", at }), { name: "lost", force: true });
      const met = side.append({ type: "note", kind: "on", at }).merge(inner, { at });
      session = session.append({ type: "note", kind: "main", at }).merge(met, { adopt: "ours", at });
    }
    // Long enough that it is not read whole.
    for (let index = 0; index < 19_000; index++) session = session.append({ type: "note", kind: "end" });
    await store.save(session, { name: "long" });
    const told = json(await rath("log", "long", "--all", "--json")) as { id: string; parents: string[] }[];
    await store.close();
    const place = new Map(told.map(({ id }, index) => [id, index]));
    expect(place.size).toBe(told.length);
    expect(told.length).toBe([...session.history()].length);
    let crossings = 0;
    for (const { id, parents } of told)
      for (const parent of parents)
        if ((place.get(parent) as number) <= (place.get(id) as number)) crossings += 1;
    expect(crossings).toBe(0);
  });
});

describe("diff, fork, merge, files", () => {
  it("[S5] diff tells what is shared, what is not, files, use and checks", async () => {
    const told = json(await rath("diff", "answer@small", "answer@bold", "--json"));
    const [merged] = answer.parents;
    expect(told.base).toEqual([[...answer.history()].find(({ fact }) => fact.type === "run-start")?.id]);
    expect(told.ours.facts.at(-1).id).toBe(merged?.parents[0]?.id);
    expect(told.theirs.facts.at(-1).id).toBe(merged?.parents[1]?.id);
    expect(told.ours).toMatchObject({ calls: 2, tools: 1, passed: 1, failed: 0 });
    expect(told.files.paths).toEqual([{ path: "answer.txt", change: "modify" }]);
    const { stdout } = await rath("diff", "answer@small", "answer@bold", "--files");
    expect(stdout).toContain("-42\n+forty-two");
    expect((await rath("diff", "answer", "answer")).stdout).toContain("the same");
  });

  it("[S6] fork begins at a step, an id, some facts back, or the end, and says how to go on", async () => {
    const second = json(
      await rath(
        "fork",
        "answer",
        "--at",
        "2",
        "--name",
        "second",
        "--why",
        "again",
        "--by",
        "user:bo",
        "--json",
      ),
    );
    const calls = json(await rath("log", "answer", "--json")).filter(
      ({ step }: { step?: number }) => step === 2,
    );
    const result = [...answer.history()].find(
      ({ fact }) => fact.type === "tool-result" && fact.of === calls[0].id,
    );
    expect(second).toMatchObject({ name: "second", at: result?.id, branch: "second" });
    const fork = json(await rath("show", "second", "--fact", "--json"));
    expect(fork.fact).toMatchObject({ type: "branch-fork", name: "second", why: "again", by: "user:bo" });
    expect(json(await rath("fork", "answer", "--at", "~1", "--json"))).toMatchObject({
      name: "answer-fork-1",
      at: answer.parentIds[0],
    });
    expect(json(await rath("fork", "answer", "--at", answer.id.slice(0, 10), "--json"))).toMatchObject({
      name: "answer-fork-2",
      at: answer.id,
    });
    expect((await rath("fork", "answer", "--name", "third")).stdout).toContain("rath run FILE --on third");
    expect(await rath("fork", "answer", "--name", "second")).toMatchObject({ code: 1 });
    expect(await rath("fork", "answer", "--at", "99")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("step 99"),
    });
    expect(await rath("fork", "answer", "--by", "ada")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("user:ada"),
    });
  });

  it("[S7] merge brings files together, and says where they do not come together before anything moves", async () => {
    const store = await openStore(url);
    const ends = [
      await store.load(await id("answer@small")),
      await store.load(await id("answer@bold")),
    ] as const;
    await store.save(ends[0], { name: "ours" });
    await store.save(ends[1], { name: "theirs" });
    const refused = await rath("merge", "ours", "theirs");
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("--resolve ours") });
    expect(await store.head("ours")).toBe(ends[0].id);
    const merged = json(
      await rath("merge", "ours", "theirs", "--resolve", "theirs", "--why", "words", "--json"),
    );
    expect(await store.head("ours")).toBe(merged.id);
    await store.close();
    expect((await rath("files", "ours", "--cat", "answer.txt")).stdout).toBe("forty-two\n");
  });

  it("[S8] files are listed, printed and restored as of any step", async () => {
    expect(json(await rath("files", "answer", "--json")).paths).toEqual(["answer.txt"]);
    expect((await rath("files", "answer", "--cat", "answer.txt")).stdout).toBe("42\n");
    const before = json(await rath("files", "answer", "--at", "1", "--json"));
    expect(before.paths).toEqual([]);
    const to = join(folder, "restored");
    expect((await rath("files", "answer@bold", "--to", to)).code).toBe(0);
    expect(readFileSync(join(to, "answer.txt"), "utf8")).toBe("forty-two\n");
    expect((await rath("files", "answer", "--to", to)).code).toBe(1);
    expect((await rath("files", "answer", "--patch")).stdout).toContain("+42");
    expect((await rath("files", "answer", "--cat", "../../etc/passwd")).code).toBe(1);
  });
});

describe("cost and memory", () => {
  it("[S9] cost counts each call once, by model, agent, branch or tool", async () => {
    const all = json(await rath("cost", "answer", "--json"));
    expect(all.total).toMatchObject({ calls: 4, input: answer.usage.input, output: answer.usage.output });
    for (const by of ["agent", "branch"])
      expect(
        json(await rath("cost", "answer", "--by", by, "--json")).rows.map(
          (row: { calls: number }) => row.calls,
        ),
      ).toEqual([2, 2]);
    expect(json(await rath("cost", "answer", "--by", "tool", "--json")).rows).toMatchObject([
      { tool: "write", calls: 2 },
    ]);
    // A call that failed and was tried again has two outcomes, and both were paid for.
    const store = await openStore(url);
    const asked = Session.start("retry").append({ type: "model-call", model: "m", agent: "a" });
    const failed = asked.append({
      type: "model-failure",
      of: asked.id,
      error: { name: "Error", message: "busy" },
    });
    const again = asked.append({
      type: "model-reply",
      of: asked.id,
      content: "ok",
      finish: "stop",
      usage: { input: 17, output: 9 },
    });
    await store.save(failed.merge(again, { adopt: "theirs" }), { name: "retried" });
    await store.close();
    expect(json(await rath("cost", "retried", "--json")).total).toMatchObject({
      calls: 2,
      failed: 1,
      input: 17,
      output: 9,
      cost: null,
    });
    // A call without a price is no call for nothing.
    expect((await rath("cost", "retried")).stdout).toMatch(/\bunknown\b/);
    expect((await rath("cost", "retried")).stdout).not.toContain("$");
    // What was said last is told, although words of people are kept outside of the line.
    const spoken = await openStore(url);
    await spoken.save((await spoken.load("retried")).say("Thank you."), { name: "retried" });
    await spoken.close();
    expect((await rath("list")).stdout).toMatch(/retried .*message-say · said Thank you\./);
    await rath("gc", "--forget", "retried");
    // Forks of one history share its calls.
    expect(json(await rath("cost", "--json")).total.calls).toBe(4);
  });

  it("[S10] memory is listed, shown, searched, explained and taken back", async () => {
    const store = await openStore(url);
    const [said] = answer.history() as unknown as [Session];
    const notes = memory({ name: "notes", scope: "project:shop" }).open(store);
    const { memory: kept } = await notes.write({
      text: "Amounts of money are computed in cents.",
      because: [said.id],
      source: "human-correction",
      by: "user:ada",
    });
    await (store as Store).close();
    expect(json(await rath("memory", "--json"))).toMatchObject([{ space: "notes", counts: { live: 1 } }]);
    expect(json(await rath("memory", "show", "notes", "--json"))).toMatchObject([
      { id: kept, status: "live" },
    ]);
    expect(json(await rath("memory", "search", "money in cents", "--json")).found).toMatchObject([
      { memory: { id: kept } },
    ]);
    const why = json(await rath("memory", "why", kept.slice(0, 12), "--json"));
    expect(why.nodes.map(({ id: one }: { id: string }) => one)).toContain(said.id);
    expect(json(await rath("memory", "influence", kept, "--json")).memory).toBe(kept);
    expect(await rath("memory", "revoke", kept)).toMatchObject({ code: 2 });
    expect((await rath("memory", "revoke", kept, "--why", "it was wrong")).code).toBe(0);
    expect(json(await rath("memory", "show", kept, "--json"))).toMatchObject({
      status: "revoked",
      why: "it was wrong",
    });
    expect((await rath("memory", "serch", "x")).stderr).toMatch(/did you mean (npx )?rath memory search\?/);
    expect(existsSync(join(folder, "home"))).toBe(true);
  });
});

async function id(reference: string): Promise<string> {
  return json(await rath("show", reference, "--fact", "--json")).id;
}

// biome-ignore lint/suspicious/noExplicitAny: what a test looks into
function json({ stdout, stderr }: Said): any {
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`no JSON: ${stdout}${stderr}`);
  }
}

function rowsOf(text: string): readonly { readonly id: string }[] {
  return [...text.matchAll(/^[│●╮╯ ]*● {0,2}[│ ]*([0-9a-f]{12}) /gm)].map((match) => ({
    id: match[1] as string,
  }));
}
