import { describe, expect, it } from "vitest";
import type { Json, Principal, Session, Terms } from "../session/index.js";
import { type Module, perform, type Rath, type Request } from "./index.js";
import { fragile } from "./testing/fragile.js";
import { moduleOf } from "./testing/module.js";
import { blind, clockOf, rathOf, storeOf } from "./testing/rath.js";
import { all, only, typesOf } from "./testing/record.js";
import { over } from "./testing/survive.js";
import { errorIn, valueIn, World } from "./testing/world.js";

const HOUR = 3_600_000;
const THREE: Terms = { from: ["user:ada", "user:bob", "user:cy"], need: 2 };

/** A payment that needs somebody's agreement, and whose amount can be changed. */
function paying(world: World, terms: Terms, amount: Json = 3): Request {
  return {
    ...world.step("pay", { effect: "write", input: { amount }, give: { paid: amount } }),
    approval: { what: { step: "pay", input: { amount } }, terms },
    edit: async (input) => {
      const { amount: changed } = input as { amount?: Json };
      return typeof changed === "number"
        ? paying(world, terms, changed)
        : { name: "InputError", message: "the amount is no number" };
    },
  };
}

function payment(world: World, terms: Terms, amount?: Json): Module {
  return moduleOf("m", (session) => perform(session, paying(world, terms, amount)));
}

const outcomeOf = (ended: Session): Session => ended.parents[0] as Session;
const asked = async (rath: Rath) => (await rath.pending("n")).map(({ to, answered }) => [to, answered]);

describe("the request that a person sees", () => {
  const HIDDEN = "bob\u202e\u200b";
  const SEEN = "bob\\u202e\\u200b";

  it("[A20] has no invisible characters, also in the arguments before an edit", async () => {
    const rath = rathOf();
    const module = payment(new World(), { from: ["user:ada", "user:bob"], need: 2 }, HIDDEN);
    await rath.run(module, rath.start("go"), { name: "n" });
    const [asked] = await rath.pending("n");
    expect(asked).toMatchObject({ shown: { input: { amount: SEEN } }, escaped: true });
    await rath.approve("n", { by: "user:ada", edit: { amount: 5 }, digest: asked?.digest as string });
    await rath.resume("n", module);
    const again = only(await rath.pending("n"));
    expect(again).toMatchObject({ edited: { by: "user:ada", was: { amount: SEEN } }, escaped: true });
    expect(JSON.stringify(again)).not.toMatch(/\p{Bidi_Control}|\p{Default_Ignorable_Code_Point}/u);
  });

  it("[A20] has none in names and errors", async () => {
    const rath = rathOf();
    const give = () => {
      throw Object.assign(new Error(`no word of ${HIDDEN}`), { code: "ECONNRESET" });
    };
    const call = new World().step(`pay ${HIDDEN}`, { effect: "write", give });
    await rath.run(
      moduleOf("m", (session) => perform(session, call)),
      rath.start("go"),
      { name: "n" },
    );
    const doubt = only(await rath.pending("n"));
    expect(doubt).toMatchObject({
      what: `pay ${SEEN}`,
      error: { message: `no word of ${SEEN}` },
      escaped: true,
    });
  });
});

describe("who is asked", () => {
  it("[A7] only they can answer, and nobody who wants to do it", async () => {
    const rath = rathOf();
    const world = new World();
    const module = payment(world, { from: ["user:ada", "user:bob"] });
    await rath.run(module, rath.start("go"), { name: "n" });
    expect(await asked(rath)).toEqual([[["user:ada", "user:bob"], false]]);
    await expect(rath.approve("n", { by: "user:eve" })).rejects.toMatchObject({
      code: "answer-refused",
      message: expect.stringContaining("Cannot answer: user:eve is not among those who may answer."),
      hint: "who may answer: user:ada or user:bob",
    });
    // Whoever of them answers first decides.
    await rath.reject("n", { by: "user:bob", why: "not now" });
    const ended = await rath.resume("n", module);
    expect(errorIn(outcomeOf(ended))).toMatchObject({ code: "rejected", message: "not now" });
    expect(world.calls).toEqual([]);
  });

  it("[A7] the requester cannot agree to it", async () => {
    const rath = rathOf();
    const world = new World();
    const request = paying(world, {});
    const own: Request = { ...request, fact: { ...request.fact, by: "agent:payer" } as Request["fact"] };
    await rath.run(
      moduleOf("m", (session) => perform(session, own)),
      rath.start("go"),
      { name: "n" },
    );
    await expect(rath.approve("n", { by: "agent:payer" })).rejects.toMatchObject({
      message: expect.stringContaining("Cannot answer: agent:payer made the request, and cannot approve it."),
    });
    await rath.reject("n", { by: "agent:payer" });
  });

  it("[A7] an answer that somebody else wrote into the store lets nothing through", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = payment(world, { from: "user:ada" });
    await rath.run(module, rath.start("go"), { name: "n" });
    const ask = only(await rath.pending("n"));
    const session = await store.load(ask.id);
    const forged = session.append({
      type: "approval-give",
      of: ask.id,
      decision: "approve",
      digest: ask.digest as string,
      by: "user:eve",
    });
    const { run } = session.fact;
    await store.save(forged, { name: `answer/${run}/${ask.id}`, expect: null });
    const ended = await rath.resume("n", module);
    expect(errorIn(outcomeOf(ended)).code).toBe("approval-mismatch");
    expect(world.calls).toEqual([]);
  });
});

describe("several who must agree", () => {
  it("[A8] two of three agree, and the question to the third is withdrawn", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = payment(world, THREE);
    await rath.run(module, rath.start("go"), { name: "n" });
    expect(await asked(rath)).toEqual([
      [["user:ada"], false],
      [["user:bob"], false],
      [["user:cy"], false],
    ]);
    await rath.approve("n", { by: "user:cy" });
    const between = await rath.resume("n", module);
    expect(between.fact.type).toBe("run-suspend");
    expect(world.calls).toEqual([]);
    expect(await asked(rath)).toEqual([
      [["user:ada"], false],
      [["user:bob"], false],
    ]);
    await expect(rath.approve("n", { by: "user:cy" })).rejects.toMatchObject({ code: "answer-refused" });
    await rath.approve("n", { by: "user:ada" });
    const ended = await rath.resume("n", module);
    expect(world.calls).toEqual(["pay"]);
    expect(only(all(ended, "wait-cancel")).why).toBe("it is decided");
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[A8] it is not done once too many say no, and one no is not too many", async () => {
    const rath = rathOf();
    const world = new World();
    const module = payment(world, THREE);
    await rath.run(module, rath.start("go"), { name: "n" });
    await rath.reject("n", { by: "user:ada", why: "too much" });
    await rath.approve("n", { by: "user:bob" });
    expect((await rath.resume("n", module)).fact.type).toBe("run-suspend");
    await rath.reject("n", { by: "user:cy", why: "I say no too" });
    const ended = await rath.resume("n", module);
    expect(errorIn(outcomeOf(ended))).toMatchObject({ code: "rejected", message: "I say no too" });
    expect(world.calls).toEqual([]);
  });
});

describe("a slip", () => {
  it("[A6] in what is decided is refused, and nothing else done in its place", async () => {
    const rath = rathOf();
    const world = new World();
    const module = payment(world, {});
    await rath.run(module, rath.start("go"), { name: "n" });
    const slip = { by: "user:ada", edits: { amount: 1 } } as never;
    await expect(rath.approve("n", slip)).rejects.toMatchObject({ hint: 'did you mean "edit"?' });
    await expect(rath.run(module, rath.start("go"), { nam: "m" } as never)).rejects.toMatchObject({
      hint: 'did you mean "name"?',
    });
    await expect(rath.replay("n", module, { mod: "what-if" } as never)).rejects.toMatchObject({
      hint: 'did you mean "mode"?',
    });
    expect((await rath.pending("n")).map(({ answered }) => answered)).toEqual([false]);
  });

  it("[A7] several may answer, and somebody else is told who", async () => {
    const rath = rathOf();
    const module = payment(new World(), THREE);
    await rath.run(module, rath.start("go"), { name: "n" });
    await expect(rath.approve("n", { by: "user:eve" })).rejects.toMatchObject({
      hint: "who may answer: user:ada or user:bob or user:cy",
    });
  });
});

describe("time to agree", () => {
  it("[A9] [T13] a retry after it was up asks again, with all the time there was", async () => {
    const { clock, pass } = clockOf();
    const rath = rathOf({ clock });
    const world = new World();
    const request = paying(world, { from: "user:ada", within: HOUR });
    const module = moduleOf("m", async (session) => {
      const paid = await perform(session, request);
      if (paid.fact.type === "step-failure") throw new Error(paid.fact.error.message);
      return paid;
    });
    await rath.run(module, rath.start("go"), { name: "n" });
    pass(HOUR);
    await expect(rath.resume("n", module)).rejects.toThrow("in time");
    await rath.retry("n", module, { name: "again" });
    expect((await rath.pending("again")).map(({ expires }) => expires)).toEqual(["2026-01-01T02:00:00.000Z"]);
    await rath.approve("again", { by: "user:ada" });
    await rath.resume("again", module);
    expect(world.calls).toEqual(["pay"]);
  });

  const terms: Terms = { from: "user:ada", within: HOUR, otherwise: { from: "user:boss", within: HOUR } };

  it("[A9] when it is up others are asked, and then nobody", async () => {
    const store = await storeOf();
    const { clock, pass } = clockOf();
    const rath = rathOf({ store, clock });
    const world = new World();
    const module = payment(world, terms);
    await rath.run(module, rath.start("go"), { name: "n" });
    expect(await rath.unfinished()).toMatchObject([{ waiting: true, due: "2026-01-01T01:00:00.000Z" }]);
    pass(HOUR);
    await expect(rath.approve("n", { by: "user:ada" })).rejects.toMatchObject({
      message: expect.stringContaining(
        "Cannot answer: the deadline for an answer was 2026-01-01T01:00:00.000Z.",
      ),
    });
    await rath.resume("n", module);
    expect(await asked(rath)).toEqual([[["user:boss"], false]]);
    expect((await rath.unfinished())[0]?.due).toBe("2026-01-01T02:00:00.000Z");
    pass(HOUR);
    const ended = await rath.resume("n", module);
    expect(errorIn(outcomeOf(ended))).toMatchObject({ code: "approval-expired" });
    expect(world.calls).toEqual([]);
    expect(all(ended, "approval-ask").map(({ to, level = 0 }) => [to, level])).toEqual([
      [["user:ada"], 0],
      [["user:boss"], 1],
    ]);
    expect(all(ended, "wait-cancel").map(({ why }) => why)).toEqual([
      "nobody answered by 2026-01-01T01:00:00.000Z",
      "nobody answered by 2026-01-01T02:00:00.000Z",
    ]);
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
    expect((await store.names()).map(({ name }) => name)).toEqual(["n"]);
  });

  it("[A9] an answer that was given in time counts, however late it is taken in", async () => {
    const { clock, pass } = clockOf();
    const rath = rathOf({ clock });
    const world = new World();
    const module = payment(world, terms);
    await rath.run(module, rath.start("go"), { name: "n" });
    await rath.approve("n", { by: "user:ada" });
    pass(5 * HOUR);
    const ended = await rath.resume("n", module);
    expect(valueIn(outcomeOf(ended))).toEqual({ paid: 3 });
  });

  it("[A9] time is up while something else is under way", async () => {
    const rath = rathOf();
    const world = new World();
    const module = moduleOf("m", async (session) => {
      const paid = perform(session, paying(world, { from: "user:ada", within: 20 }));
      await perform(session.fork("slow"), world.step("slow", { takes: 200 }));
      return paid;
    });
    const ended = await rath.run(module, rath.start("go"), { name: "n" });
    expect(errorIn(outcomeOf(ended)).code).toBe("approval-expired");
    expect(world.calls).toEqual(["slow"]);
  });

  it("[A9] others are asked after several approvers said nothing", async () => {
    const { clock, pass } = clockOf();
    const rath = rathOf({ clock });
    const world = new World();
    const module = payment(world, { ...THREE, within: HOUR, otherwise: { from: "user:boss" } });
    await rath.run(module, rath.start("go"), { name: "n" });
    await rath.approve("n", { by: "user:ada" });
    await rath.resume("n", module);
    pass(HOUR);
    await rath.resume("n", module);
    expect(await asked(rath)).toEqual([[["user:boss"], false]]);
    await rath.approve("n", { by: "user:boss" });
    expect(valueIn(outcomeOf(await rath.resume("n", module)))).toEqual({ paid: 3 });
  });
});

describe("other arguments", () => {
  it("[A10] are used in place of those that were shown, and both are on the record", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = payment(world, {});
    await rath.run(module, rath.start("go"), { name: "n" });
    await rath.approve("n", { by: "user:ada", edit: { amount: 1 }, why: "enough" });
    const ended = await rath.resume("n", module);
    expect(valueIn(outcomeOf(ended))).toEqual({ paid: 1 });
    expect(only(all(ended, "step-call")).input).toEqual({ amount: 3 });
    expect(only(all(ended, "approval-give"))).toMatchObject({ edit: { amount: 1 }, by: "user:ada" });
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[A10] that will not do are asked about again, with the reason", async () => {
    const rath = rathOf();
    const world = new World();
    const module = payment(world, THREE);
    await rath.run(module, rath.start("go"), { name: "n" });
    await rath.approve("n", { by: "user:bob" });
    await rath.approve("n", { by: "user:ada", edit: { amount: "lots" } });
    await rath.resume("n", module);
    expect(world.calls).toEqual([]);
    const pending = await rath.pending("n");
    expect(pending.map(({ to, problem, shown }) => [to, problem, shown])).toEqual(
      ["user:ada", "user:bob", "user:cy"].map((one) => [
        [one],
        "the amount is no number",
        { step: "pay", input: { amount: 3 } },
      ]),
    );
    for (const by of ["user:ada", "user:cy"] as const) await rath.approve("n", { by });
    expect(valueIn(outcomeOf(await rath.resume("n", module)))).toEqual({ paid: 3 });
  });

  it("[A10] must be agreed to by the others who must agree", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = payment(world, THREE);
    await rath.run(module, rath.start("go"), { name: "n" });
    await rath.approve("n", { by: "user:ada" });
    await rath.approve("n", { by: "user:bob", edit: { amount: 2 } });
    await rath.resume("n", module);
    // What ada agreed to was something else.
    expect(world.calls).toEqual([]);
    expect((await rath.pending("n")).map(({ to, shown }) => [to, shown])).toEqual(
      ["user:ada", "user:cy"].map((one) => [[one], { step: "pay", input: { amount: 2 } }]),
    );
    await rath.approve("n", { by: "user:cy" });
    const ended = await rath.resume("n", module);
    expect(valueIn(outcomeOf(ended))).toEqual({ paid: 2 });
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[A10] of what has none are refused at once", async () => {
    const rath = rathOf();
    const world = new World();
    const { edit: _, ...fixed } = paying(world, {});
    const module = moduleOf("m", (session) => perform(session, fixed));
    await rath.run(module, rath.start("go"), { name: "n" });
    await expect(rath.approve("n", { by: "user:ada", edit: {} })).rejects.toMatchObject({
      message: expect.stringContaining("its arguments cannot be changed"),
    });
    await rath.approve("n", { by: "user:ada" });
    expect(valueIn(outcomeOf(await rath.resume("n", module)))).toEqual({ paid: 3 });
  });

  it("[A10] changed again are asked about as they are now, and who wants the same agrees", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = payment(world, THREE);
    const shown = async () =>
      (await rath.pending("n")).map(({ to, shown: what, edited }) => [to, what, edited]);
    const asking = (who: string, amount: number, by: string) => [
      [who],
      { step: "pay", input: { amount } },
      { by, was: { amount: 3 } },
    ];
    await rath.run(module, rath.start("go"), { name: "n" });
    await rath.approve("n", { by: "user:ada", edit: { amount: 2 } });
    await rath.resume("n", module);
    expect(await shown()).toEqual([asking("user:bob", 2, "user:ada"), asking("user:cy", 2, "user:ada")]);
    await rath.approve("n", { by: "user:bob", edit: { amount: 1 } });
    await rath.resume("n", module);
    expect(await shown()).toEqual([asking("user:ada", 1, "user:bob"), asking("user:cy", 1, "user:bob")]);
    await rath.approve("n", { by: "user:cy", edit: { amount: 1 } });
    const ended = await rath.resume("n", module);
    expect(valueIn(outcomeOf(ended))).toEqual({ paid: 1 });
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });

  it("[A10] arguments of the last person asked do not go back to those who did not answer", async () => {
    const { clock, pass } = clockOf();
    const rath = rathOf({ clock });
    const world = new World();
    const module = payment(world, { from: "user:ada", within: HOUR, otherwise: { from: "user:boss" } });
    await rath.run(module, rath.start("go"), { name: "n" });
    pass(HOUR);
    await rath.resume("n", module);
    await rath.approve("n", { by: "user:boss", edit: { amount: 1 } });
    expect(valueIn(outcomeOf(await rath.resume("n", module)))).toEqual({ paid: 1 });
  });
});

describe("answers that come together", () => {
  type Words = { readonly [by: string]: (rath: Rath, by: Principal) => Promise<unknown> };
  const yes = (rath: Rath, by: Principal) => rath.approve("n", { by });
  it.each<[string, Words, unknown]>([
    ["three who agree, where two must", { "user:ada": yes, "user:bob": yes, "user:cy": yes }, { paid: 3 }],
    [
      "one no too few",
      { "user:ada": yes, "user:bob": yes, "user:cy": (r, by) => r.reject("n", { by }) },
      { paid: 3 },
    ],
    [
      "somebody who did it",
      { "user:ada": yes, "user:bob": yes, "user:cy": (r, by) => r.takeOver("n", { by, value: "by hand" }) },
      "by hand",
    ],
    [
      "somebody who did it, and too many who say no",
      {
        "user:ada": (r, by) => r.takeOver("n", { by, value: "by hand" }),
        "user:bob": (r, by) => r.reject("n", { by, why: "no" }),
        "user:cy": (r, by) => r.reject("n", { by, why: "no" }),
      },
      "no",
    ],
  ])("[A8] [A11] %s: done once at most, and as the record says", async (_name, words, expected) => {
    for (const effect of ["write", "read"] as const) {
      const store = await storeOf();
      const rath = rathOf({ store });
      const world = new World();
      const request: Request = {
        ...paying(world, THREE),
        effect,
        reconcile: async () => "again",
        act: async () => {
          world.calls.push("pay");
          await new Promise((resolve) => setTimeout(resolve, 20));
          return { type: "step-result", value: { paid: 3 } };
        },
      };
      const module = moduleOf("m", (session) => perform(session, request));
      await rath.run(module, rath.start("go"), { name: "n" });
      for (const [by, word] of Object.entries(words)) await word(rath, by as Principal);
      const ended = await rath.resume("n", module);
      const { fact } = outcomeOf(ended);
      expect(fact.type === "step-result" ? fact.value : errorIn(outcomeOf(ended)).message).toEqual(expected);
      expect(world.calls).toEqual(typeof expected === "string" ? [] : ["pay"]);
      expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
      expect(ended.pending).toEqual([]);
    }
  });

  it("[A2] an answer is taken in while something else is under way", async () => {
    const rath = rathOf();
    const world = new World();
    const order: string[] = [];
    const module = moduleOf("m", async (session) => {
      const paid = perform(session, paying(world, {})).then((at) => {
        order.push("paid");
        return at;
      });
      await perform(session.fork("slow"), world.step("slow", { takes: 600 }));
      order.push("slow");
      return paid;
    });
    const running = rath.run(module, rath.start("go"), { name: "n" });
    for (let turn = 0; turn < 100; turn++) {
      const asks = await rath.pending("n").catch(() => []);
      if (asks.some(({ type }) => type === "approval-ask")) break;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await rath.approve("n", { by: "user:ada" });
    await running;
    expect(order).toEqual(["paid", "slow"]);
  });
});

describe("taking over", () => {
  it("[A11] it is not begun, and what the person gives is what comes of it", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const world = new World();
    const module = payment(world, THREE);
    await rath.run(module, rath.start("go"), { name: "n" });
    await expect(rath.takeOver("n", { by: "user:bob" } as never)).rejects.toMatchObject({
      code: "run-refused",
    });
    await rath.takeOver("n", { by: "user:bob", value: { paid: "by hand" } });
    const ended = await rath.resume("n", module);
    expect(world.calls).toEqual([]);
    const { fact } = outcomeOf(ended);
    expect(fact).toMatchObject({ type: "step-result", value: { paid: "by hand" }, by: "user:bob" });
    expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  });
});

describe("agreement and crashes", () => {
  type Word = (rath: Rath, by: Principal) => Promise<unknown>;
  const yes: Word = (rath, by) => rath.approve("n", { by });
  const stories: {
    readonly [name: string]: { readonly terms: Terms; readonly words: { readonly [by: string]: Word } };
  } = {
    "two of three": { terms: THREE, words: { "user:ada": yes, "user:cy": yes } },
    "no majority": {
      terms: THREE,
      words: {
        "user:ada": (rath, by) => rath.reject("n", { by }),
        "user:bob": (rath, by) => rath.reject("n", { by }),
      },
    },
    edited: {
      terms: THREE,
      words: { "user:bob": (rath, by) => rath.approve("n", { by, edit: { amount: 2 } }), "user:cy": yes },
    },
    "edited in vain": {
      terms: {},
      words: {
        "user:eve": (rath, by) => rath.approve("n", { by, edit: { amount: "all" } }),
        "user:ada": yes,
      },
    },
    "taken over": {
      terms: THREE,
      words: { "user:bob": (rath, by) => rath.takeOver("n", { by, value: "done" }) },
    },
    expired: {
      terms: { from: "user:gone", within: 1, otherwise: { from: "user:ada" } },
      words: { "user:ada": yes },
    },
  };

  /** Everybody says their word once they are asked, until the run is over. */
  async function finish(
    rath: Rath,
    module: Module,
    words: { readonly [by: string]: Word },
    done: () => Json | undefined,
  ): Promise<Session> {
    const said = new Set<string>();
    for (let turn = 0; turn < 30; turn++) {
      const session = await over(rath.resume("n", module));
      if (session.fact.type === "run-end") return session;
      const pending = await rath.pending("n");
      for (const one of pending.filter(({ doubt, answered }) => doubt === true && !answered))
        await rath.settle("n", {
          by: "user:ada",
          of: one.id,
          ...(done() === undefined ? { decision: "again" } : { decision: "done", value: done() as Json }),
        });
      for (const [by, word] of Object.entries(words)) {
        const mine = pending.some(
          ({ to, answered }) => !answered && (to === undefined || to.includes(by as Principal)),
        );
        if (!mine || said.has(by)) continue;
        said.add(by);
        // Answered before the crash: then it is there.
        await word(rath, by as Principal).catch((error: { code?: string }) =>
          expect(error.code).toBe("answer-refused"),
        );
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    throw new Error("it does not come to an end");
  }

  it.each(Object.entries(stories))(
    "[A12] %s: the same after a crash at any write",
    async (_name, { terms, words }) => {
      const resultOf = (ended: Session): Json => {
        const { fact } = outcomeOf(ended);
        return fact.type === "step-result" ? fact.value : errorIn(outcomeOf(ended)).message;
      };
      const calm = rathOf();
      const quiet = new World();
      await calm.run(payment(quiet, terms), calm.start("go"), { name: "n" });
      const expected = resultOf(await finish(calm, payment(quiet, terms), words, () => undefined));
      for (let at = 1; at < 40; at++) {
        const store = await storeOf();
        const world = new World();
        const module = payment(world, terms);
        const done = () => (world.count("pay") > 0 ? expected : undefined);
        const dying = fragile(store, at);
        const doomed = rathOf({ store: dying });
        const all = (async () => {
          await doomed.run(module, doomed.start("go"), { name: "n" });
          return finish(doomed, module, words, done);
        })().catch(() => undefined);
        await Promise.race([all, dying.died]);
        for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
        const rath = rathOf({ store: fragile(store) });
        if (!(await store.names()).some(({ name }) => name === "n"))
          await rath.run(module, rath.start("go"), { name: "n" });
        const ended = await finish(rath, module, words, done);
        expect(resultOf(ended)).toEqual(expected);
        expect(world.count("pay")).toBe(quiet.count("pay"));
        expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
        if (typesOf(ended).includes("run-end") && dying.saves() < at) return;
      }
    },
  );
});

describe("a session that was made of one that waits", () => {
  const TO_ADA: Terms = { from: ["user:ada"] };

  it("[H16] stands alone when it is a fork: nothing reaches the other run by its name", async () => {
    const [rath, world] = [rathOf(), new World()];
    const module = payment(world, TO_ADA);
    const waiting = await rath.run(module, rath.start("go"), { name: "n" });
    await rath.save(waiting.fork("aside"), "fork");
    const digest = only(await rath.pending("n")).digest as string;
    expect((await rath.pending("fork")).map((one) => one.digest)).toContain(digest);
    await expect(rath.approve("fork", { by: "user:ada", digest })).rejects.toMatchObject({
      code: "answer-refused",
    });
    for (const mode of ["resume", "replay", "what-if"] as const)
      await expect(rath.replay("fork", module, { mode })).rejects.toMatchObject({ code: "not-a-run" });
    await expect(rath.turn(module, "fork", "and now")).rejects.toMatchObject({ code: "work-pending" });
    expect((await rath.pending("n")).map(({ answered }) => answered)).toEqual([false]);
    expect((await rath.load("n")).id).toBe(waiting.id);
    await rath.approve("n", { by: "user:ada", digest });
    expect((await rath.resume("n", module)).fact.type).toBe("run-end");
    expect(world.calls).toEqual(["pay"]);
    // A fork of what has ended goes on in a run of its own.
    await rath.save((await rath.load("n")).fork("after"), "on");
    await expect(rath.resume("on", module)).rejects.toMatchObject({ code: "not-a-run" });
    const second = moduleOf("second", (session) => Promise.resolve(session.say("more")));
    expect((await rath.turn(second, "on", "go on")).fact.type).toBe("run-end");
  });

  it("[H17] keeps the name when it was saved there: the run is not resumed over it", async () => {
    const [rath, world] = [rathOf(), new World()];
    const module = payment(world, TO_ADA);
    const waiting = await rath.run(module, rath.start("go"), { name: "n" });
    const noted = await rath.save(waiting.append({ type: "note", kind: "ticket", value: 7 }), "n");
    await rath.approve("n", { by: "user:ada", digest: only(await rath.pending("n")).digest as string });
    for (const go of [() => rath.resume("n", module), () => rath.turn(module, "n", "and now")])
      await expect(go()).rejects.toMatchObject({ code: "name-conflict", data: { actual: noted.id } });
    expect((await rath.load("n")).id).toBe(noted.id);
    // The hint: the facts get another name.
    const store = await rath.store();
    await store.point("another", noted.id);
    await store.forget("n");
    expect((await rath.resume(waiting.id, module)).fact.type).toBe("run-end");
    expect(world.calls).toEqual(["pay"]);
  });
});
