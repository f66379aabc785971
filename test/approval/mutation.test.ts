import { type Json, openRath, type Principal, RathError, type Session } from "openrath";
import { expect, it } from "vitest";
import { campaign } from "../../src/session/testing/campaign.js";
import { Dice } from "../adversary/dice.js";
import { mutated, someInput } from "./mutation.js";
import { bytesOf, type Call, World } from "./world.js";

const CALLS = 8;
const SEED = Number(process.env.OPENRATH_SEED ?? 1);
/** `npm run adversary` asks for 100,000. */
const CHANGES = Number(process.env.OPENRATH_MUTATIONS ?? campaign(2_000));

type Rath = ReturnType<typeof openRath>;

/** Whether an answer was taken. It is not where another one lies already, or a module's arguments cannot be changed. */
async function isTaken(answering: Promise<unknown>): Promise<boolean> {
  try {
    await answering;
    return true;
  } catch (error) {
    if (error instanceof RathError && error.code === "answer-refused") return false;
    throw error;
  }
}

/** What people were shown and agreed to, as they would remember it: who, by the bytes of it. */
class People {
  readonly agreed = new Map<string, Principal[]>();

  /** Each says something to some of what they are asked, or nothing. */
  async decide(rath: Rath, name: string, dice: Dice): Promise<void> {
    for (const { id, digest, type, to, answered } of await rath.pending(name)) {
      if (type !== "approval-ask" || answered) continue;
      // The true bytes: a person is shown escapes of what cannot be seen.
      const { what: shown } = (await rath.load(id)).fact as unknown as { readonly what: Json };
      const by: Principal = to?.[0] ?? `user:${dice.pick(["ada", "bob"])}`;
      const { name: called, input } = shown as unknown as Call;
      const luck = dice.below(100);
      const seen = dice.happens(0.5) ? { digest: digest as string } : {};
      if (luck < 60) {
        if (await isTaken(rath.approve(name, { by, ask: id, ...seen })))
          this.#agree(by, { name: called, input });
      } else if (luck < 72) {
        const edit = mutated(input, dice);
        if (await isTaken(rath.approve(name, { by, ask: id, edit })))
          this.#agree(by, { name: called, input: edit });
      } else if (luck < 79) await isTaken(rath.reject(name, { by, ask: id, why: "no" }));
      else if (luck < 83) await isTaken(rath.takeOver(name, { by, ask: id, value: "by hand" }));
    }
  }

  #agree(by: Principal, what: Json): void {
    const bytes = bytesOf(what);
    this.agreed.set(bytes, [...(this.agreed.get(bytes) ?? []), by]);
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
  return calls.map((call) =>
    dice.happens(0.15) ? { ...call, name: `${call.name}x` } : { ...call, input: mutated(call.input, dice) },
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
  const total = { changes: 0, refused: 0, executed: 0, quorums: 0 };
  const tried = new Map<string, number>();
  for (let seed = SEED; total.changes < CHANGES; seed++) {
    const dice = new Dice(seed);
    const rath = openRath({ store: "memory:" });
    const world = new World();
    const people = new People();
    const calls = Array.from(
      { length: CALLS },
      (_, place): Call => ({
        name: `call${place}`,
        input: someInput(dice),
        need: dice.pick([1, 2] as const),
        inside: dice.happens(0.2),
      }),
    );
    const needs = new Map(
      calls.flatMap(({ name, need }) => [[name, need] as const, [`${name}x`, need] as const]),
    );
    const round: Round = { rath, world, dice, calls, people };
    await rath.run(world.program(calls), rath.start("go"), { name: "n" });
    await people.decide(rath, "n", dice);
    const trick = dice.happens(0.1) ? undefined : dice.pick(Object.keys(TRICKS));
    if (trick !== undefined) {
      tried.set(trick, (tried.get(trick) ?? 0) + 1);
      const made = await (TRICKS[trick] as Trick)(round).catch((error: unknown) => {
        // Refused, with a word for it.
        if (!(error instanceof RathError)) throw error;
        total.refused += CALLS;
        return 0;
      });
      total.changes += made;
      check(seed, world, people, needs);
    }
    // The program itself goes on, and people decide about what is asked by then, in every run there is.
    for (const name of ["n", "w", "f", "r"]) {
      for (let turn = 0; turn < 3; turn++) {
        if ((await (await rath.store()).head(name)) === undefined) break;
        await people.decide(rath, name, dice);
        await rath.resume(name, world.program(calls)).catch((error: unknown) => {
          if (!(error instanceof RathError)) throw error;
        });
      }
    }
    check(seed, world, people, needs);
    total.executed += world.done.length;
    total.quorums += [...people.agreed.values()].filter((who) => new Set(who).size > 1).length;
    await rath.close();
  }
  expect([...tried.keys()].sort()).toEqual(Object.keys(TRICKS).sort());
  expect(total.executed).toBeGreaterThan(total.changes / 10);
  expect(total.quorums).toBeGreaterThan(0);
  console.log(`${JSON.stringify(total)}; ${JSON.stringify([...tried])}`);
});

/** What was done, was agreed to by as many as must, as often as it was done. */
function check(seed: number, { done }: World, { agreed }: People, needs: ReadonlyMap<string, number>): void {
  const counts = new Map<string, number>();
  for (const { bytes } of done) counts.set(bytes, (counts.get(bytes) ?? 0) + 1);
  for (const { bytes, name } of done) {
    const who = agreed.get(bytes) ?? [];
    const need = needs.get(name) as number;
    expect(new Set(who).size, `seed ${seed}: ${name} was agreed to`).toBeGreaterThanOrEqual(need);
    expect((counts.get(bytes) as number) * need, `seed ${seed}: ${name} as often`).toBeLessThanOrEqual(
      who.length,
    );
  }
}
