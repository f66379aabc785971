import { type Json, openRath, type Policy, type Principal, policy, RathError, type Session } from "openrath";
import type { Store } from "openrath/store";
import type { Awaited } from "../../src/runtime/people/awaited.js";
import type { Dice } from "../adversary/dice.js";
import { type Death, FrailStore } from "../runtime/frail-store.js";
import { type Bargain, bytesOf, HOUR, Ledger, PEOPLE, someBargain, someRules } from "./bargain.js";
import { Crowd, type Word } from "./crowd.js";

const ENOUGH = 60;

type Rath = ReturnType<typeof openRath>;
type Asked = FactLike & { readonly of: string; readonly level?: number; readonly rule?: string };
type FactLike = { readonly type: string };

const spin = async (turns: number): Promise<void> => {
  for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
};

/** One program, the people who are asked about it, and everything that happens to the processes that go on with it. */
export class Round {
  readonly ledger = new Ledger();
  readonly crowd = new Crowd();
  readonly faults: string[] = [];
  readonly told: string[] = [];
  readonly #dice: Dice;
  readonly #store: Store;
  readonly #bargain: Bargain;
  readonly #policy: Policy;
  /** How likely somebody says anything but yes. */
  readonly #stubborn: number;
  #now = Date.parse("2026-01-01T00:00:00Z");
  #rath: Rath;
  interrupted = false;
  cancelled = false;
  strange = false;

  constructor(dice: Dice, store: Store) {
    this.#dice = dice;
    this.#store = store;
    this.#bargain = someBargain(dice);
    this.#policy = policy("house", this.#bargain.rules);
    this.#stubborn = dice.pick([0, 0.2, 0.4, 0.6]);
    this.#rath = this.#open();
    this.told.push(JSON.stringify(this.#bargain));
  }

  #open(store: Store = this.#store, rules: Policy | undefined = this.#policy): Rath {
    return openRath({ store, clock: () => this.#now, ...(rules !== undefined && { policy: rules }) });
  }

  async play(): Promise<void> {
    await this.#go("run", this.#rath, () =>
      this.#rath.run(this.ledger.program(this.#bargain), this.#rath.start("go"), { name: "n" }),
    );
    const turns = 2 + this.#dice.below(10);
    for (let turn = 0; turn < turns && !(await this.#isOver()); turn++) await this.#act();
    // From here on everybody who is asked agrees, so that it must come to an end.
    for (let turn = 0; turn < ENOUGH && !(await this.#isOver()); turn++) {
      await this.#settle();
      for (const one of await this.#rath.pending("n"))
        if (one.type === "approval-ask" && !one.answered) await this.#say(one, true, "yes");
      await this.#go("resume", this.#rath, () => this.#resume(this.#rath));
    }
    await this.#check();
    await this.#rath.close();
  }

  #resume(rath: Rath, signal?: AbortSignal): Promise<Session> {
    return rath.resume("n", this.ledger.program(this.#bargain), signal === undefined ? {} : { signal });
  }

  async #isOver(): Promise<boolean> {
    if ((await this.#store.head("n")) === undefined) return false;
    return (await this.#store.load("n")).fact.type === "run-end";
  }

  async #act(): Promise<void> {
    const dice = this.#dice;
    const luck = dice.below(100);
    if (luck < 45) await this.#words(true);
    else if (luck < 55) {
      this.#now += dice.pick([HOUR / 2, HOUR, HOUR, 3 * HOUR]);
      this.told.push("time passes");
    } else if (luck < 72) await this.#go("resume", this.#rath, () => this.#resume(this.#rath));
    else if (luck < 77) {
      this.#rath = this.#open();
      await this.#go("resume elsewhere", this.#rath, () => this.#resume(this.#rath));
    } else if (luck < 82) {
      const { by, calls } = this.#bargain;
      const rules = dice.happens(0.5) ? undefined : policy("house", someRules(dice, calls, by));
      this.strange = true;
      const other = openRath({
        store: this.#store,
        clock: () => this.#now,
        ...(rules !== undefined && { policy: rules }),
      });
      await this.#go(`resume with ${rules === undefined ? "no policy" : "another policy"}`, other, () =>
        this.#resume(other),
      );
      await other.close();
    } else if (luck < 86) await this.#meanwhile();
    else if (luck < 90) await this.#closed();
    else if (luck < 98) await this.#crash();
    else await this.#cancel();
    if (dice.happens(0.5)) await this.#settle();
  }

  /** Goes on with the run, and looks at what it waits for then. */
  async #go(what: string, rath: Rath, start: () => Promise<Session>): Promise<void> {
    this.told.push(what);
    let session: Session;
    try {
      session = await start();
    } catch (error) {
      if ((error as { code?: string }).code === "cancelled" && this.cancelled) return;
      this.faults.push(`${what}: ${String(error)} ${(error as RathError).hint ?? ""}`);
      return;
    }
    this.told.push(`-> ${session.fact.type} ${this.ledger.done.map(({ name, bytes }) => name + bytes)}`);
    if (session.fact.type === "run-end") return;
    const pending = await rath.pending("n");
    const [open] = await rath.unfinished();
    const can = pending.some(
      ({ to, doubt, answered }) => doubt === true || answered || to === undefined || to.length > 0,
    );
    if (!can && open?.due === undefined) this.faults.push(`${what}: nobody can answer, and nothing is due`);
  }

  /** Some people say something. */
  async #words(quiet: boolean): Promise<void> {
    if ((await this.#store.head("n")) === undefined) return;
    const most = 1 + this.#dice.below(4);
    for (let count = 0; count < most; count++) {
      const open = (await this.#rath.pending("n")).filter(
        ({ type, answered }) => type === "approval-ask" && !answered,
      );
      if (open.length === 0) return;
      await this.#say(this.#dice.pick(open), quiet);
    }
  }

  async #say(one: Awaited, quiet: boolean, only?: "yes"): Promise<void> {
    const dice = this.#dice;
    const stubborn = only === undefined && dice.happens(this.#stubborn);
    const right = one.to?.length ? dice.pick(one.to) : dice.pick(PEOPLE);
    const wrong = only === undefined && dice.happens(0.04);
    const by: Principal = wrong ? dice.pick(PEOPLE) : right;
    const { tool, step, input } = one.shown as { tool?: string; step?: string; input: Json };
    const call = (tool ?? step) as string;
    // No two people speak at the same moment.
    this.#now += 1;
    const asked = (await this.#store.load(one.id)).fact as unknown as Asked;
    const luck = stubborn ? dice.below(100) : 100;
    const says: Word["says"] = luck < 22 ? "no" : luck < 29 ? "mine" : "yes";
    const edit: Json | undefined =
      luck >= 29 && luck < 100 ? { amount: luck < 42 ? "lots" : 1 + dice.below(5) } : undefined;
    const base = { by, ask: one.id };
    // The process of whoever answers may die too, before the word is kept or after.
    const death: Death | undefined =
      only === undefined && dice.happens(0.04)
        ? { at: 1, when: dice.pick(["before", "after"] as const) }
        : undefined;
    const rath =
      death === undefined ? this.#rath : this.#open(new FrailStore(this.#store, death, () => {}).store);
    const kept = async (): Promise<string | undefined> => {
      try {
        if (says === "no") return await rath.reject("n", { ...base, why: "no" });
        if (says === "mine") return await rath.takeOver("n", { ...base, value: "by hand" });
        return await rath.approve("n", { ...base, ...(edit !== undefined && { edit }) });
      } catch (error) {
        if (error instanceof RathError && error.code === "answer-refused") return undefined;
        if ((error as Error).name === "DeadError") return death?.when === "after" ? "unknown" : undefined;
        this.faults.push(`answer: ${String(error)}`);
        return undefined;
      }
    };
    const order = this.ledger.next();
    const answer = await kept();
    this.told.push(
      `${by} ${says}${edit === undefined ? "" : ` ${JSON.stringify(edit)}`} to ${call} ${JSON.stringify(input)} for ${asked.rule ?? "itself"}/${asked.level ?? 0}${answer === undefined ? " (refused)" : ""}`,
    );
    if (answer === undefined) {
      const late = one.expires !== undefined && Date.parse(one.expires) <= this.#now;
      const fixed = edit !== undefined && (asked as { fixed?: boolean }).fixed === true;
      // Arguments that do not fit the schema of a tool are refused at once.
      const misfit = tool !== undefined && JSON.stringify(edit)?.includes("lots") === true;
      if (quiet && !wrong && !late && !fixed && !misfit && death === undefined)
        this.faults.push(`${by} may answer, and was refused`);
      return;
    }
    this.crowd.words.push({
      order,
      call,
      by,
      rule: asked.rule ?? "",
      level: asked.level ?? 0,
      shown: bytesOf(input),
      says,
      ...(edit !== undefined && { edit: bytesOf(edit) }),
      quiet,
      answer: answer === "unknown" ? undefined : answer,
    });
  }

  /** Somebody who knows says what became of what is in doubt. */
  async #settle(): Promise<void> {
    if ((await this.#store.head("n")) === undefined) return;
    for (const one of await this.#rath.pending("n")) {
      if (one.doubt !== true || one.answered) continue;
      const done = this.ledger.has(await this.#nameOf(one.id));
      const settling = this.#rath.settle("n", {
        by: one.to === undefined ? "user:ada" : this.#dice.pick(one.to),
        of: one.id,
        ...(done ? { decision: "done", value: "so it was" } : { decision: "again" }),
      });
      await settling.catch((error: unknown) => {
        if (!(error instanceof RathError) || error.code !== "answer-refused") throw error;
        this.faults.push("a doubt is pending, and cannot be settled");
      });
    }
  }

  /** The call that something is part of: what a module does is on a branch of it. */
  async #nameOf(id: string): Promise<string> {
    const all = [...(await this.#store.load(id)).history()].map(({ fact }) => fact);
    const own = (await this.#store.load(id)).fact as { readonly name?: string };
    if (own.name !== "action") return own.name ?? "";
    const forks = all
      .filter((fact) => fact.type === "branch-fork")
      .map((fact) => (fact as { name?: string }).name);
    return forks.find((name) => this.#bargain.calls.some((call) => call.name === name)) ?? "";
  }

  async #meanwhile(): Promise<void> {
    const going = this.#go("resume, and meanwhile", this.#rath, () => this.#resume(this.#rath));
    await spin(this.#dice.below(12));
    await this.#words(false);
    await going;
  }

  async #closed(): Promise<void> {
    const rath = this.#open();
    const going = this.#resume(rath).catch(() => {});
    await spin(this.#dice.below(40));
    await rath.close();
    await going;
    await spin(3);
    this.interrupted = true;
    this.told.push("closed on the way");
  }

  async #crash(): Promise<void> {
    let died!: () => void;
    const dead = new Promise<void>((resolve) => {
      died = resolve;
    });
    const death: Death = { at: 1 + this.#dice.below(6), when: this.#dice.pick(["before", "after"] as const) };
    const frail = new FrailStore(this.#store, death, died);
    const rath = this.#open(frail.store);
    await Promise.race([this.#resume(rath).catch(() => {}), dead]);
    await spin(5);
    this.interrupted ||= frail.dead;
    this.told.push(frail.dead ? `crash ${death.when} write ${death.at}` : "no crash");
    if (!frail.dead) await rath.close();
  }

  async #cancel(): Promise<void> {
    const controller = new AbortController();
    this.cancelled = true;
    const going = this.#go("resume, and cancel", this.#rath, () =>
      this.#resume(this.#rath, controller.signal),
    );
    await spin(this.#dice.below(12));
    controller.abort(new Error("enough"));
    await going;
  }

  async #check(): Promise<void> {
    if (!(await this.#isOver())) {
      const pending = await this.#rath.pending("n");
      this.faults.push(`it does not come to an end: ${JSON.stringify(pending)}`);
      return;
    }
    const ended = await this.#store.load("n");
    this.faults.push(...this.crowd.faults(this.#bargain, this.ledger, ended, this));
    if (ended.pending.length > 0) this.faults.push(`pending at the end: ${JSON.stringify(ended.pending)}`);
    const left = (await this.#store.names())
      .map(({ name }) => name)
      .filter((name) => /^(answer|run)\//.test(name));
    for (const name of left) {
      const { fact } = await this.#store.load(name.split("/")[2] as string);
      this.faults.push(`left in the store: the answer to a ${fact.type}`);
    }
    const before = this.ledger.done.length;
    const rath = this.#open();
    const again = await rath
      .replay("n", this.ledger.program(this.#bargain), { mode: "verify" })
      .then(({ id }) => id)
      .catch((error: unknown) =>
        (error as { code?: string }).code === "cancelled"
          ? ended.id
          : `${error} ${(error as RathError).hint ?? ""}`,
      );
    if (again !== ended.id)
      this.faults.push(`a replay does not verify${this.strange ? " (strange)" : ""}: ${again}`);
    if (this.ledger.done.length !== before) this.faults.push("a replay did something");
    await rath.close();
  }
}
