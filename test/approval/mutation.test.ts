import { type Json, openRath, type Principal, RathError, type Session } from "openrath";
import { expect, it } from "vitest";
import { Dice } from "../adversary/dice.js";
import { mutated, someInput } from "./mutation.js";
import { bytesOf, type Call, World } from "./world.js";

const CALLS = 8;
const SEED = Number(process.env.OPENRATH_SEED ?? 1);
/** `npm run adversary` asks for 100,000. */
const CHANGES = Number(process.env.OPENRATH_MUTATIONS ?? 3_000);

type Rath = ReturnType<typeof openRath>;

/** What people were shown and agreed to, as they would remember it: how often, by the bytes of it. */
class People {
  readonly agreed = new Map<string, number>();

  async decide(rath: Rath, name: string, dice: Dice): Promise<void> {
    for (const { id, shown, digest, type, answered } of await rath.pending(name)) {
      if (type !== "approval-ask" || answered) continue;
      const by: Principal = `user:${dice.pick(["ada", "bob"])}`;
      const luck = dice.below(100);
      if (luck < 55) {
        await rath.approve(name, { by, ask: id, ...(dice.happens(0.5) && { digest: digest as string }) });
        this.#agree(shown as Json);
      } else if (luck < 70) {
        const { name: called, input } = shown as Call;
        const edit = mutated(input, dice);
        await rath.approve(name, { by, ask: id, edit });
        this.#agree({ name: called, input: edit });
      } else if (luck < 80) await rath.reject(name, { by, ask: id, why: "no" });
    }
  }

  #agree(what: Json): void {
    const bytes = bytesOf(what);
    this.agreed.set(bytes, (this.agreed.get(bytes) ?? 0) + 1);
  }
}

/** What somebody may try after people have agreed. Each says how many changes it made. */
type Trick = (round: Round) => Promise<number>;
type Round = {
  readonly rath: Rath;
  readonly world: World;
  readonly dice: Dice;
  readonly calls: readonly Call[];
  readonly people: People;
};

function changed({ calls, dice }: Round): readonly Call[] {
  return calls.map(({ name, input }) =>
    dice.happens(0.15) ? { name: `${name}x`, input } : { name, input: mutated(input, dice) },
  );
}

const TRICKS: { readonly [name: string]: Trick } = {
  "another program goes on": async (round) => {
    await round.rath.resume("n", round.world.program(changed(round)));
    return CALLS;
  },
  "the same calls, which do something else by now": async ({ rath, world, calls, dice }) => {
    const later = calls.map((call) => ({ ...call, used: mutated(call.input, dice) }));
    await rath.resume("n", world.program(later));
    return CALLS;
  },
  "another program, what if": async (round) => {
    const { rath, world } = round;
    const calls = round.dice.happens(0.5)
      ? changed(round)
      : changed(round).map((call, place) => (round.dice.happens(0.5) ? call : (round.calls[place] as Call)));
    await rath.replay("n", world.program(calls), { mode: "what-if", name: "w" });
    await rath.resume("w", world.program(calls));
    return CALLS;
  },
  "answers to other questions": async ({ rath, dice }) => {
    const store = await rath.store();
    const pending = (await rath.pending("n")).filter(({ type }) => type === "approval-ask");
    const [given] = pending.filter(({ answered }) => answered);
    let moved = 0;
    for (const open of pending.filter(({ answered }) => !answered)) {
      if (given === undefined || given.digest === open.digest) break;
      const asked = await store.load(open.id);
      const run = asked.fact.run as string;
      const answer = await store.load((await store.head(`answer/${run}/${given.id}`)) as string);
      const { at: _at, ...fact } = answer.fact;
      const forged = asked.append({ ...fact, of: dice.pick([given.id, open.id]) } as never);
      await store.save(forged, { name: `answer/${run}/${open.id}`, expect: null });
      moved += 1;
    }
    return moved;
  },
  "the same answers in another place": async ({ rath, world, calls, dice }) => {
    const store = await rath.store();
    const pending = await rath.pending("n");
    const ask = dice.pick(pending);
    const other: Session = dice.happens(0.5)
      ? await store.load("n")
      : await store.load((await store.children(ask.id))[0] ?? ask.id);
    // A branch of its own, with the questions and answers in its past.
    const start = rath.start("elsewhere");
    await rath.run(world.program(calls), start.merge(other.detach(), { adopt: "ours" }), { name: "f" });
    return CALLS;
  },
  "a retry with another program": async (round) => {
    const { rath, world, calls } = round;
    await rath.resume("n", world.program(calls));
    await rath.retry("n", world.program(changed(round)), { name: "r" });
    return CALLS;
  },
  "all of it brought elsewhere, and gone on with there": async (round) => {
    const { rath, world } = round;
    const other = openRath({ store: "memory:" });
    try {
      await (await rath.store()).sync(await other.store());
      await other.resume("n", world.program(changed(round)));
    } finally {
      await other.close();
    }
    return CALLS;
  },
};

it("[MU1] [MU2] nothing is executed but what was shown and agreed to, whatever is changed", {
  timeout: 0,
}, async () => {
  let changes = 0;
  let executed = 0;
  const tried = new Map<string, number>();
  for (let seed = SEED; changes < CHANGES; seed++) {
    const dice = new Dice(seed);
    const rath = openRath({ store: "memory:" });
    const world = new World();
    const people = new People();
    const calls = Array.from({ length: CALLS }, (_, place) => ({
      name: `call${place}`,
      input: someInput(dice),
    }));
    const round: Round = { rath, world, dice, calls, people };
    await rath.run(world.program(calls), rath.start("go"), { name: "n" });
    await people.decide(rath, "n", dice);
    const calm = dice.happens(0.1);
    for (const name of calm ? [] : [dice.pick(Object.keys(TRICKS))]) {
      tried.set(name, (tried.get(name) ?? 0) + 1);
      changes += await (TRICKS[name] as Trick)(round).catch((error: unknown) => {
        // Refused, with a word for it.
        if (!(error instanceof RathError)) throw error;
        return CALLS;
      });
      check(seed, world, people);
    }
    // The program itself goes on, and people decide about what is asked by then, in every run there is.
    for (const name of ["n", "w", "f", "r"]) {
      if ((await (await rath.store()).head(name)) === undefined) continue;
      if (name === "n" && dice.happens(0.5)) await people.decide(rath, "n", dice);
      await rath.resume(name, world.program(calls)).catch((error: unknown) => {
        if (!(error instanceof RathError)) throw error;
      });
    }
    check(seed, world, people);
    if (calm) expect(world.done.length).toBe([...people.agreed.values()].reduce((a, b) => a + b, 0));
    executed += world.done.length;
    await rath.close();
  }
  expect([...tried.keys()].sort()).toEqual(Object.keys(TRICKS).sort());
  expect(executed).toBeGreaterThan(changes / 10);
  console.log(
    `${changes} changes: ${executed} calls executed, each as it was shown; ${JSON.stringify([...tried])}`,
  );
});

function check(seed: number, { done }: World, { agreed }: People): void {
  const counts = new Map<string, number>();
  for (const bytes of done) counts.set(bytes, (counts.get(bytes) ?? 0) + 1);
  for (const [bytes, count] of counts)
    expect(count, `seed ${seed}: executed as agreed`).toBeLessThanOrEqual(agreed.get(bytes) ?? 0);
}
