import { describe, expect, it } from "vitest";
import { memory } from "../../memory/index.js";
import { Trees } from "../../sandbox/index.js";
import { patchTree } from "../../sandbox/workspace/testing/patch-tree.js";
import { digestOf, type Fact, type Json, Session } from "../../session/index.js";
import { openStore } from "../../store/index.js";
import { type Dossier, dossierHtml, dossierOf } from "./index.js";
import { CODER, repaired, Teller } from "./testing/repaired.js";

function textOf(told: unknown): string | undefined {
  return (told as { readonly text?: string } | undefined)?.text;
}

/** Every id that stands in a `facts` list of a dossier, wherever that is. */
function proofsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(proofsIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    key === "facts" && Array.isArray(one) ? (one as string[]) : proofsIn(one),
  );
}

describe("what is in a dossier", () => {
  it("[D1] task, outcome, answer and branch, with their facts", async () => {
    const { store, head, small } = await repaired();
    const { task, outcome, session } = await dossierOf(store, "issue-7");
    expect(session).toEqual({ id: head.id, name: "issue-7", branch: "small" });
    expect(textOf(task.text)).toBe("Repair a.txt.");
    expect(task).toMatchObject({ by: "user:ada", at: "2026-01-02T03:04:00.000Z" });
    expect(outcome).toMatchObject({ status: "finished", branch: "small", pending: { total: 0 } });
    expect(textOf(outcome.answer)).toBe("Repaired.");
    expect(outcome.facts).toEqual([small.id, head.id]);
    // An earlier session is a session too: it is open, and what came after it hangs from it.
    const earlier = await dossierOf(store, small.id);
    expect(earlier.outcome.status).toBe("open");
    expect(earlier.session.name).toBeUndefined();
    expect(earlier.counts.elsewhere).toBeGreaterThan(0);
  });

  it("[D2] trials that were gathered are neither accepted nor rejected", async () => {
    const store = await openStore("memory:");
    const trunk = Session.start("Go.");
    const trials = [0, 1, 2].map((number) =>
      trunk.fork(`trial-${number}`).say("done", { role: "assistant" }),
    );
    const [first, ...others] = trials as [Session, ...Session[]];
    await store.save(first.merge(others, { adopt: "none", by: "runtime" }), { name: "task" });
    const dossier = await dossierOf(store, "task");
    expect(dossier.branches.items.map(({ name, fate }) => [name, fate])).toEqual([
      ["main", "trunk"],
      ["trial-0", "gathered"],
      ["trial-1", "gathered"],
      ["trial-2", "gathered"],
    ]);
    expect(dossier.counts.rejected).toBe(0);
    expect(dossierHtml(dossier)).toMatch(/gathered 3 branches and preferred none/);
  });

  it("[D14] the page says who gathered a branch, and of no decision", async () => {
    const store = await openStore("memory:");
    const trunk = Session.start("Go.");
    const trials = ["a", "b"].map((name) => trunk.fork(name).say("done", { role: "assistant" }));
    const page = async (adopt: "none" | 1) => {
      await store.save(trunk.merge(trials, { adopt, by: "runtime" }), { name: `task-${adopt}` });
      return dossierHtml(await dossierOf(store, `task-${adopt}`));
    };
    const gathered = await page("none");
    expect(gathered).toMatch(/Gathered by/);
    expect(gathered).not.toMatch(/Decided by|Went on in/);
    expect(await page(1)).toMatch(/Decided by[\s\S]*Went on in/);
  });

  it("[D1] tells the words of people, imports and notes in full", async () => {
    const store = await openStore("memory:");
    const session = Session.start("Go.")
      .say([{ type: "text", text: "And mind the gap." }], { by: "user:ada" })
      .say("I do.", { role: "assistant" })
      .append({ type: "note", kind: "import-rest", what: "metadata", value: { a: 1 } });
    await store.save(session, { name: "it" });
    const { words, outcome } = await dossierOf(store, "it");
    expect(words.items.map(({ title, text, by }) => [title, textOf(text), by])).toEqual([
      ["user", "And mind the gap.", "user:ada"],
      ["assistant", "I do.", "agent"],
      ["note: import-rest", '{\n  "what": "metadata",\n  "value": {\n    "a": 1\n  }\n}', "user"],
    ]);
    expect(textOf(outcome.answer)).toBe("I do.");
  });

  it("[D1] a run that waits says what for, one that failed says why", async () => {
    const store = await openStore("memory:");
    const start = Session.start("Go.").append({
      type: "run-start",
      nonce: "n",
      module: "m",
      run: "n",
      seq: 0,
    });
    const ask = start.append({
      type: "approval-ask",
      what: "pay",
      digest: digestOf("pay"),
      run: "n",
      seq: 1,
    });
    const waiting = ask.append({ type: "run-suspend", of: start.id, waiting: [ask.id], run: "n", seq: 2 });
    await store.save(waiting, { name: "waiting" });
    const { outcome } = await dossierOf(store, "waiting");
    expect(outcome).toMatchObject({
      status: "waiting",
      pending: { total: 1, items: [{ id: ask.id, what: "pay" }] },
    });
    // When it went on, where it waited lies aside; it is told all the same, in its place.
    const gone = ask
      .append({
        type: "approval-give",
        by: "user:ada",
        of: ask.id,
        decision: "approve",
        digest: digestOf("pay"),
      })
      .append({ type: "run-end", of: start.id, run: "n", seq: 3 });
    await store.save(gone, { name: "waiting", force: true });
    const later = await dossierOf(store, "waiting");
    expect(later.graph.rows.map(({ kind }) => kind)).toEqual([
      "start",
      "start",
      "stretch",
      "suspend",
      "person",
      "end",
    ]);
    expect([later.environment.runs.items[0]?.suspended, later.branches.total]).toEqual([1, 1]);
    const failed = start.append({
      type: "run-end",
      of: start.id,
      error: { name: "TypeError", message: "no such thing" },
    });
    await store.save(failed, { name: "failed" });
    const other = await dossierOf(store, "failed");
    expect(other.outcome.status).toBe("failed");
    expect(textOf(other.outcome.error)).toBe("TypeError: no such thing");
  });

  it("[D2] accepted and rejected branches, who decided and why, and the checks that it went by", async () => {
    const { store, merge, bold } = await repaired();
    const { branches, graph, counts } = await dossierOf(store, "issue-7");
    const fates = Object.fromEntries(branches.items.map(({ name, fate }) => [name, fate]));
    expect(fates).toEqual({ main: "trunk", small: "accepted", bold: "rejected" });
    const rejected = branches.items.find(({ name }) => name === "bold");
    expect(rejected).toMatchObject({
      head: bold.id,
      decided: {
        fact: merge.id,
        by: "user:ada",
        adopt: "ours",
        into: "small",
        why: { text: "its tests pass" },
      },
      checks: [{ name: "tests", passed: false, score: 0 }],
      usage: { input: 100, output: 10 },
    });
    expect(textOf(branches.items[1]?.why)).toBe("little by little");
    expect(counts).toMatchObject({ branches: 3, rejected: 1 });
    // In the picture both lines leave the trunk and arrive at the merge.
    const row = graph.rows.find(({ kind }) => kind === "merge");
    expect(row?.from.map((place) => graph.rows[place]?.branch).sort()).toEqual([1, 2]);
    expect(graph.rows.filter(({ kind }) => kind === "fork")).toHaveLength(2);
    expect(graph.rows.reduce((sum, { facts }) => sum + facts, 0)).toBe(counts.facts);
  });

  it("[D2] branches that nothing took in, that a call took in, that a run left, and that both went on", async () => {
    const store = await openStore("memory:");
    const trunk = Session.start("Go.");
    const lost = trunk.fork("lost").say("nobody hears it", { role: "assistant" });
    const other = trunk.fork("one").say("a").merge(trunk.fork("two").say("b"));
    const call = other.append({ type: "tool-call", name: "helper", input: {} });
    const child = call.fork("helper").say("done", { role: "assistant" });
    const taken = Session.made(
      [call, child],
      { type: "tool-result", of: call.id, output: 1, at: child.fact.at, by: "tool:helper" } as never,
      Session.realmOf(call),
    );
    const loser = taken.fork("racer").say("too late");
    const end = Session.made(
      [taken, loser],
      { type: "run-end", of: trunk.id, at: child.fact.at, by: "runtime" } as never,
      Session.realmOf(call),
    );
    await store.save(lost, { name: "lost" });
    await store.save(end, { name: "it" });
    const { branches, counts, proof } = await dossierOf(store, "it");
    expect(
      Object.fromEntries(
        branches.items.map(({ name, fate, elsewhere }) => [name, elsewhere ? `${fate}!` : fate]),
      ),
    ).toEqual({
      main: "trunk",
      one: "result",
      two: "merged",
      helper: "returned",
      racer: "left",
      lost: "open!",
    });
    expect(counts.elsewhere).toBe(2);
    expect(proof.heads).toEqual([
      { id: end.id, names: ["it"] },
      { id: lost.id, names: ["lost"] },
    ]);
    expect(textOf(branches.items.at(-1)?.answer)).toBe("nobody hears it");
  });

  it("[D3] prompts are rendered again, checked, and not told twice", async () => {
    const { store } = await repaired();
    const { models } = await dossierOf(store, "issue-7");
    expect(models.total).toBe(3);
    const [first, second, bold] = models.items;
    expect(first?.prompt).toMatchObject({ state: "rendered", messages: 2 });
    expect(first).toMatchObject({
      model: "small-1",
      agent: "coder",
      finish: "tool-calls",
      cost: 0.25,
      milliseconds: 1_200,
    });
    expect([textOf(first?.reply), textOf(first?.reasoning)]).toEqual(["I shall edit.", "Think."]);
    expect(first?.calls.map(({ name, input }) => [name, textOf(input)])).toEqual([
      ["edit", '{\n  "path": "a.txt"\n}'],
    ]);
    const shown =
      first?.prompt.state === "rendered"
        ? first.prompt.news.map(({ role, text }) => `${role}: ${textOf(text)}`)
        : [];
    expect(shown).toEqual(["system: Repair it.", "user: Repair a.txt."]);
    // The second call begins as the first one did, and only what is new is told.
    expect(second?.prompt).toMatchObject({
      state: "rendered",
      shared: { call: first?.facts[0], messages: 2 },
    });
    if (second?.prompt.state === "rendered") {
      expect(second.prompt.news).toHaveLength(second.prompt.messages - 2);
      expect(second.prompt.request).toBeUndefined();
    }
    expect(bold?.prompt).toMatchObject({ state: "rendered", shared: { messages: 2 }, news: [] });
  });

  it("[D3] a prompt that cannot be rendered again says why", async () => {
    const store = await openStore("memory:");
    const teller = new Teller();
    const asked = teller.ask(Session.start("Go."), CODER, {});
    const wrong = asked.append({
      type: "model-call",
      model: "m",
      config: asked.parents[0]?.parents[0]?.id ?? "",
      prompt: digestOf("another"),
    });
    const none = wrong.append({ type: "model-call", model: "m" });
    await store.save(none, { name: "it" });
    const { models } = await dossierOf(store, "it");
    expect(models.items.map(({ prompt }) => prompt.state)).toEqual([
      "rendered",
      "not-rendered",
      "not-rendered",
    ]);
    expect(models.items[1]?.prompt).toMatchObject({
      digest: digestOf("another"),
      why: expect.stringMatching(/prompt|digest/),
    });
    expect(models.items[2]?.prompt).toMatchObject({ why: "the record does not say which prompt was sent" });
  });

  it("[D4] tool calls and steps with everything that belongs to them", async () => {
    const { store } = await repaired();
    const { tools, commands } = await dossierOf(store, "issue-7");
    expect(tools.items.map(({ name, state, branch }) => [name, state, branch])).toEqual([
      ["edit", "done", "small"],
      ["test", "done", "small"],
      ["edit", "done", "bold"],
      ["test", "done", "bold"],
    ]);
    const [edit, test] = tools.items;
    expect(edit).toMatchObject({
      effect: "write",
      attempts: 1,
      placement: "local",
      sandbox: "box-1",
      verdict: "allow",
      milliseconds: 30,
    });
    expect(edit?.evidence.map(({ type }) => type)).toEqual(["workspace-change"]);
    expect(test?.evidence.map(({ type }) => type)).toEqual(["command-run", "validation-report"]);
    expect(commands.items[1]).toMatchObject({
      outcome: "error",
      code: 1,
      branch: "bold",
      stdout: { text: "not ok 1" },
      of: expect.any(String),
    });
  });

  it("[D4] failures, repetitions, doubts and their settlement, edited arguments, calls without an end", async () => {
    const store = await openStore("memory:");
    const error = { name: "Error", message: "no line" };
    const call = Session.start("Go.").append({
      type: "tool-call",
      name: "send",
      input: { to: "ada" },
      effect: "write",
    });
    const tried = call
      .append({ type: "effect-start", of: call.id, attempt: 1 })
      .append({ type: "effect-fail", of: call.id, attempt: 1, error, wait: 5 })
      .append({ type: "effect-start", of: call.id, attempt: 2 })
      .append({ type: "effect-doubt", of: call.id, attempt: 2, error })
      .append({
        type: "effect-settle",
        by: "user:ada",
        of: call.id,
        decision: "failed",
        why: "it is not there",
      })
      .append({ type: "tool-failure", of: call.id, error, edited: { by: "user:bob", input: { to: "bob" } } });
    const open = tried.append({ type: "step-call", name: "look" });
    const doubt = open.append({ type: "effect-doubt", of: open.id, attempt: 1, error });
    await store.save(doubt, { name: "it" });
    const { tools } = await dossierOf(store, "it");
    expect(tools.items[0]).toMatchObject({
      state: "failed",
      attempts: 2,
      error: { text: "Error: no line" },
      edited: { by: "user:bob", input: { text: '{\n  "to": "bob"\n}' } },
    });
    expect(tools.items[0]?.troubles.map(({ what }) => what)).toEqual([
      "attempt 1 failed",
      "nobody knows how it ended",
      "user:ada settled it as failed",
    ]);
    expect(tools.items[1]).toMatchObject({ kind: "step", state: "in doubt" });
  });

  it("[D11] every outcome of a call that came out more than once, in the session's past and elsewhere", async () => {
    const store = await openStore("memory:");
    const call = Session.start("Go.").append({
      type: "tool-call",
      name: "send",
      input: { to: "ada" },
      effect: "write",
    });
    const step = call
      .append({ type: "tool-failure", of: call.id, error: { name: "Error", message: "first" } })
      .append({ type: "tool-result", of: call.id, output: "second" })
      .append({ type: "step-call", name: "look" });
    const main = step.append({ type: "step-result", of: step.id, value: "as it was" });
    const other = step
      .fork("what-if")
      .append({ type: "step-failure", of: step.id, error: { name: "Error", message: "as it might be" } });
    await store.save(main, { name: "it" });
    await store.save(other, { name: "other" });
    const dossier = await dossierOf(store, "it");
    const { tools } = dossier;
    expect(tools.total).toBe(4);
    expect(tools.items.map(({ name, kind, state, branch }) => [name, kind, state, branch])).toEqual([
      ["send", "tool", "failed", "main"],
      ["send", "tool", "done", "main"],
      ["look", "step", "done", "main"],
      ["look", "step", "failed", "what-if"],
    ]);
    const [first, second, , fourth] = tools.items;
    expect(second).toMatchObject({ effect: "write", input: first?.input, output: { text: "second" } });
    expect(second).not.toHaveProperty("error");
    expect(first).not.toHaveProperty("output");
    expect(second?.facts[0]).toBe(call.id);
    expect(fourth?.facts).toEqual([step.id, other.id]);
    for (const words of ["Error: first", "second", "as it was", "Error: as it might be"])
      expect(dossierHtml(dossier)).toContain(words);
  });

  it("[D12] branches of one name are told apart in the usage", async () => {
    const store = await openStore("memory:");
    const trunk = Session.start("Go.");
    const asked = (session: Session, input: number): Session => {
      const call = session.append({ type: "model-call", model: "small-1", agent: "coder" });
      return call.append({
        type: "model-reply",
        of: call.id,
        content: "Done.",
        finish: "stop",
        usage: { input, output: 1 },
      });
    };
    const forks = [trunk.fork("try", { why: "one" }), trunk.fork("try", { why: "two" }), trunk.fork("else")];
    const [one, two, three] = forks.map((fork, place) => asked(fork, 100 - place)) as [
      Session,
      Session,
      Session,
    ];
    await store.save(one.merge([two, three], { adopt: "ours" }), { name: "it" });
    const { spending } = await dossierOf(store, "it");
    expect(spending.branches.items.map(({ name, usage }) => [name, usage.input])).toEqual([
      [`try (${forks[0]?.id.slice(0, 12)})`, 100],
      [`try (${forks[1]?.id.slice(0, 12)})`, 99],
      ["else", 98],
    ]);
  });

  it("[D5] diffs of each change, and a patch that makes the first files into the last", async () => {
    const { store, head, trees } = await repaired();
    const { changes, patch } = await dossierOf(store, "issue-7");
    expect(
      changes.items.map(({ kind, branch, tool, files }) => [
        kind,
        branch,
        tool,
        files.items.map(({ path, added, removed }) => `${path} +${added} -${removed}`),
      ]),
    ).toEqual([
      ["import", "main", undefined, []],
      ["change", "small", "edit", ["a.txt +2 -1", "b.txt +1 -0"]],
      ["change", "bold", "edit", ["a.txt +1 -3"]],
    ]);
    expect(patch).toMatchObject({
      from: trees.before,
      to: trees.after,
      added: 3,
      removed: 1,
      files: { total: 2 },
    });
    const whole = patch?.files.items.map(({ diff }) => textOf(diff)).join("") ?? "";
    // What is told is a patch: it makes the very tree that the record names.
    const applied = await patchTree(new Trees(store), trees.before, whole);
    expect(applied).toMatchObject({ applied: true, tree: trees.after });
    expect(head.files.tree).toBe(trees.after);
  });

  it("[D6] approvals with exactly what was shown, and rulings", async () => {
    const { store } = await repaired();
    const { approvals, policies } = await dossierOf(store, "issue-7");
    expect(approvals.items).toHaveLength(1);
    expect(approvals.items[0]).toMatchObject({
      name: "push",
      rule: "money",
      to: ["user:ada"],
      sound: true,
      what: { text: '{\n  "push": "main"\n}' },
      answers: [{ decision: "approve", by: "user:ada", covers: true, why: { text: "go on" } }],
    });
    expect(policies.rulings.items[0]).toMatchObject({
      verdict: "allow",
      rules: ["edits"],
      why: { text: "edits are fine" },
    });
    // A question whose digest is of something else, and an answer to other bytes, are told as such.
    const ask = Session.start("Go.").append({ type: "approval-ask", what: "a", digest: digestOf("b") });
    const give = ask.append({
      type: "approval-give",
      by: "user:eve",
      of: ask.id,
      decision: "approve",
      digest: digestOf("c"),
    });
    await store.save(give, { name: "forged" });
    const forged = await dossierOf(store, "forged");
    expect(forged.approvals.items[0]).toMatchObject({ sound: false, answers: [{ covers: false }] });
  });

  it("[D7] memories: what was read and shown, what was written and because of what, and what it rests on", async () => {
    const store = await openStore("memory:");
    const said = Session.start("The port is 9090.", { by: "user:ada" });
    await store.save(said, { name: "said" });
    const notes = memory({ name: "notes", scope: "project:shop" }).open(store);
    const written = await notes.write({
      text: "The port is 9090.",
      because: [said.id],
      source: "human-correction",
      by: "user:ada",
    });
    const query = Session.start("Which port?").append({
      type: "memory-read",
      space: "notes",
      head: written.head,
      query: "port",
      hits: [{ memory: written.memory, score: 0.5, text: "The port is 9090." }],
      shown: "[memory] The port is 9090.",
    });
    const step = query.append({ type: "step-call", name: "remember in notes", input: {} });
    const told = step.append({ type: "step-result", of: step.id, value: written as unknown as Json });
    await store.save(told, { name: "it" });
    const { reads, deeds, reasons } = (await dossierOf(store, "it")).memory;
    expect(reads.items[0]).toMatchObject({
      space: "notes",
      head: written.head,
      query: { text: "port" },
      hits: { total: 1, items: [{ memory: written.memory, score: 0.5 }] },
    });
    expect(textOf(reads.items[0]?.shown)).toBe("[memory] The port is 9090.");
    expect(deeds.items[0]).toMatchObject({
      type: "memory-write",
      space: "notes",
      source: "human-correction",
      by: "user:ada",
      because: [said.id],
    });
    expect(reasons.items).toHaveLength(1);
    expect(reasons.items[0]?.grounds).toEqual([expect.objectContaining({ fact: said.id, ground: "person" })]);
    // A space is a session: its own dossier tells its deeds.
    const space = await dossierOf(store, "memory/notes");
    expect(space.memory.deeds.items.map(({ type }) => type)).toEqual(["memory-write"]);
  });

  it("[D8] every call counts once, by agent, model and branch, whatever lists leave out", async () => {
    const { store } = await repaired();
    for (const most of [2, 300]) {
      const { spending } = await dossierOf(store, "issue-7", { most });
      expect(spending.total).toEqual({
        calls: 3,
        usage: { input: 400, output: 25, cached: 150, reasoning: 0 },
        cost: 0.75,
        milliseconds: 3_600,
      });
      expect(spending.priced).toBe(true);
      expect(spending.agents.items.map(({ name, calls, cost }) => [name, calls, cost])).toEqual([
        ["coder", 2, 0.5],
        ["bold", 1, 0.25],
      ]);
      expect(spending.models.items.map(({ name, calls }) => [name, calls])).toEqual([["small-1", 3]]);
      expect(spending.branches.items.map(({ name, calls }) => [name, calls])).toEqual([
        ["small", 2],
        ["bold", 1],
      ]);
    }
    const head = await store.load("issue-7");
    expect((await dossierOf(store, "issue-7")).spending.total.usage).toEqual({
      input: head.usage.input,
      output: head.usage.output,
      cached: head.usage.cached,
      reasoning: head.usage.reasoning,
    });
    const stopped = Session.start("Go.")
      .append({ type: "budget-set", limits: { tokens: 10 } })
      .append({ type: "budget-stop", limit: "tokens", allowed: 10, spent: 9, asked: 5 });
    await store.save(stopped, { name: "stopped" });
    expect((await dossierOf(store, "stopped")).budgets.items).toMatchObject([
      { kind: "set" },
      { kind: "stop", limit: "tokens", spent: 9, asked: 5 },
    ]);
  });

  it("[D9] the proof, the environment, imports, signatures", async () => {
    const { store, head } = await repaired();
    const { proof, environment, counts } = await dossierOf(store, "issue-7");
    expect(digestOf(textOf(proof.line) ?? "")).toBe(head.id);
    expect(proof).toMatchObject({
      head: head.id,
      facts: counts.facts,
      heads: [{ id: head.id, names: ["issue-7"] }],
    });
    expect(counts.facts).toBe([...head.history()].length);
    expect(environment.runs.items[0]).toMatchObject({
      run: "r1",
      module: "repair",
      name: "issue-7",
      end: head.id,
    });
    expect(environment.sandboxes.items[0]).toMatchObject({
      sandbox: "box-1",
      provider: "virtual",
      isolation: "process",
    });
    expect(environment.agents.items.map(({ agent }) => agent)).toEqual(["coder", "coder", "bold"]);
    expect(environment.placements.items[0]).toMatchObject({ sandbox: "local" });
    const imported = Session.start("Theirs.", { at: "1970-01-01T00:00:00.000Z" })
      .append({
        type: "record-import",
        format: "atif",
        source: "run.json",
        digest: digestOf("file"),
        at: "1970-01-01T00:00:00.000Z",
      })
      .append({
        type: "head-sign",
        by: "user:ada",
        of: head.id,
        key: "ada+1",
        signature: "c2ln",
        at: "1970-01-01T00:00:00.000Z",
      });
    await store.save(imported, { name: "theirs" });
    const theirs = await dossierOf(store, "theirs");
    expect(theirs.imports.items[0]).toMatchObject({
      format: "atif",
      source: { text: "run.json" },
      digest: digestOf("file"),
    });
    expect(theirs.proof.signatures.items[0]).toMatchObject({
      of: head.id,
      key: "ada+1",
      signature: "c2ln",
      by: "user:ada",
    });
    // The source of an import told no time: so the dossier tells none.
    expect([theirs.task.at, theirs.outcome.began, theirs.timeline.items[0]?.at]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("[D10] every proof is a fact of the record", async () => {
    const { store } = await repaired();
    const dossier: Dossier = await dossierOf(store, "issue-7");
    const proofs = proofsIn(dossier);
    expect(proofs.length).toBeGreaterThan(60);
    for (const id of new Set(proofs)) expect(await store.has(id), id).toBe(true);
    for (const event of dossier.timeline.items) expect(event.facts).toHaveLength(1);
  });
});

describe("the names of branches", () => {
  it("[D13] a what-if is called one, and no two lines share a name that was made for them", async () => {
    const store = await openStore("memory:");
    const start = Session.start("Shall we?", { by: "user:ada" });
    const asked = (session: Session, run: string, content: string) => {
      const call = session.append({ type: "model-call", model: "m", run, seq: 2 });
      return call.append({
        type: "model-reply",
        of: call.id,
        content,
        finish: "stop",
        usage: { input: 1, output: 1 },
        run,
        seq: 3,
      });
    };
    const begun = start.append({ type: "run-start", nonce: "n", module: "once", run: "n", seq: 0 });
    const said = asked(begun, "n", "Yes.");
    await store.save(said.append({ type: "run-end", of: begun.id, run: "n", seq: 4 }), { name: "a" });
    for (const run of ["b", "c"]) {
      // A what-if begins beside the run that it comes from, and goes its own way from one of that run's facts.
      const from = { run: "n", start: begun.id, leaves: [said.id] };
      const own = start.append({ type: "run-start", nonce: run, module: "once", from, run, seq: 0 });
      const other = asked(
        begun.append({ type: "message-say", role: "user", content: run, run, seq: 1 }),
        run,
        "No.",
      );
      const { at } = other.fact;
      const end: Fact = Object.freeze({ type: "run-end", at, run, seq: 4, by: "runtime", of: own.id });
      await store.save(Session.made([other, own], end, Session.realmOf(other)), { name: run });
    }
    const dossier = await dossierOf(store, "a");
    const names = dossier.branches.items.map(({ name }) => name);
    expect(names).toEqual(["main", "what-if from main", "what-if from main (2)"]);
    // The figures say how many calls are this session's and how many are elsewhere.
    expect(dossierHtml(dossier)).toMatch(/<dt>Model calls<\/dt><dd>1<small>and 2 elsewhere/);
  });
});
