import { array, assert as check, constantFrom, integer, option, property, record } from "fast-check";
import { describe, expect, it } from "vitest";
import { campaign } from "../../session/testing/campaign.js";
import {
  begin,
  cancel,
  ended,
  isOver,
  type JobState,
  resume,
  suspend,
  type Turn,
  tick,
} from "./job-state.js";
import { checkPolicy, delayAfter, type JobPolicy } from "./policy.js";

const START = 1_000_000;

describe("a policy", () => {
  it("[J1] is filled up with what is usual, and frozen", () => {
    const policy = checkPolicy({});
    expect(policy).toEqual({
      completions: 1,
      parallelism: 1,
      backoffLimit: 6,
      backoffLimitPerIndex: null,
      lostLimit: 3,
      backoff: { first: 1_000, factor: 2, most: 360_000 },
      activeDeadline: null,
      onExit: [],
      suspend: false,
      ttlAfterFinished: null,
      onExpire: "delete",
    });
    expect(Object.isFrozen(policy)).toBe(true);
    expect(checkPolicy({ backoffLimitPerIndex: 1 }).backoffLimit).toBe(null);
    expect([1, 2, 3, 9, 10, 99].map((times) => delayAfter(policy, times))).toEqual([
      1_000, 2_000, 4_000, 256_000, 360_000, 360_000,
    ]);
  });

  it.each([
    [{ completion: 1 }, "completion"],
    [{ completions: 0 }, "completions"],
    [{ parallelism: 0 }, "parallelism"],
    [{ parallelism: 1.5 }, "parallelism"],
    [{ backoffLimit: -1 }, "backoffLimit"],
    [{ backoffLimitPerIndex: Number.NaN }, "backoffLimitPerIndex"],
    [{ lostLimit: "3" }, "lostLimit"],
    [{ backoff: { factor: 0.5 } }, "backoff.factor"],
    [{ activeDeadline: 0 }, "activeDeadline"],
    [{ onExit: [{ codes: [0], action: "ignore" }] }, "onExit[0]"],
    [{ onExit: [{ codes: [], action: "ignore" }] }, "onExit[0]"],
    [{ onExit: [{ codes: [1], not: [2], action: "ignore" }] }, "onExit[0]"],
    [{ onExit: [{ codes: [300], action: "ignore" }] }, "onExit[0].codes"],
    [{ onExit: [{ codes: [1], action: "explode" }] }, "onExit[0].action"],
    [{ onExpire: "suspend" }, "onExpire"],
    [{ backoff: { frist: 5 } }, "backoff.frist"],
    [{ backoff: "fast" }, "backoff"],
    [{ onExit: { codes: [1], action: "ignore" } }, "onExit"],
    [{ onExit: ["ignore"] }, "onExit[0]"],
    [{ onExit: [{ code: [1], action: "ignore" }] }, "onExit[0].code"],
    [{ suspend: "no" }, "suspend"],
    ["policy", "policy"],
  ])("[J2] that makes no sense is refused by the name of the setting: %j", (policy, setting) => {
    let refused: unknown;
    try {
      checkPolicy(policy as JobPolicy);
    } catch (error) {
      refused = error;
    }
    expect(refused).toMatchObject({ code: "job-policy-refused", data: { setting } });
  });
});

it.each([
  [{ completion: 1 }, 'did you mean "completions"?'],
  [{ paralelism: 1 }, 'did you mean "parallelism"?'],
  [{ backoff: { frist: 5 } }, 'did you mean "backoff.first"?'],
  [{ backoff: { seconds: 5 } }, "the settings are backoff.first, backoff.factor, backoff.most"],
  [{ onExit: [{ code: [1], action: "ignore" }] }, 'did you mean "onExit[0].codes"?'],
  [{ onExit: [{ codes: [1], action: "fail_job" }] }, 'did you mean "fail-job"?'],
  [{ onExpire: "deleted" }, 'did you mean "delete"?'],
  [{ nothing: 1 }, "the settings are completions"],
])("[J25] a field or a word that there is not comes with the one that was meant: %j", (policy, hint) => {
  expect(() => checkPolicy(policy as JobPolicy)).toThrow(
    expect.objectContaining({ code: "job-policy-refused", hint: expect.stringContaining(hint) }),
  );
});

describe("the state of a job", () => {
  it("[J3] starts as many as may be under way, in their order, and another for each that ends", () => {
    let turn = begin(checkPolicy({ completions: 4, parallelism: 2 }), START);
    expect(turn.start).toEqual([
      { index: 0, attempt: 1 },
      { index: 1, attempt: 1 },
    ]);
    turn = ended(turn.state, { index: 1, outcome: "ok", code: 0 }, START);
    expect(turn.start).toEqual([{ index: 2, attempt: 1 }]);
    turn = ended(turn.state, { index: 0, outcome: "ok", code: 0 }, START);
    turn = ended(turn.state, { index: 3, outcome: "ok", code: 0 }, START);
    expect(isOver(turn.state)).toBe(false);
    turn = ended(turn.state, { index: 2, outcome: "ok", code: 0 }, START + 5);
    expect([isOver(turn.state), turn.state.finish]).toEqual([
      true,
      { type: "Complete", reason: "AllSucceeded", at: START + 5 },
    ]);
  });

  it("[J4] tries again after a time that doubles, and fails with one failure more than it bears", () => {
    let turn = begin(checkPolicy({ backoffLimit: 2, backoff: { first: 10 } }), START);
    const fail = (at: number) => ended(turn.state, { index: 0, outcome: "error", code: 1 }, at);
    turn = fail(START + 1);
    expect([turn.start, turn.wake]).toEqual([[], START + 11]);
    expect(tick(turn.state, START + 10).start).toEqual([]);
    turn = tick(turn.state, START + 11);
    expect(turn.start).toEqual([{ index: 0, attempt: 2 }]);
    turn = fail(START + 20);
    expect(turn.wake).toBe(START + 40);
    turn = tick(turn.state, START + 40);
    turn = fail(START + 50);
    expect(turn.state.finish).toMatchObject({ type: "Failed", reason: "BackoffLimitExceeded" });
    expect(turn.state.indexes[0]?.state).toBe("failed");
    expect(isOver(turn.state)).toBe(true);
  });

  it("[J5] with a limit per index, an index that fails does not keep the others from being tried", () => {
    const policy = checkPolicy({ completions: 2, backoffLimitPerIndex: 0, backoff: { first: 0 } });
    let turn = begin(policy, START);
    turn = ended(turn.state, { index: 0, outcome: "timeout", code: null }, START);
    expect([turn.state.indexes[0]?.state, turn.start]).toEqual(["failed", [{ index: 1, attempt: 1 }]]);
    turn = ended(turn.state, { index: 1, outcome: "ok", code: 0 }, START);
    expect(turn.state.finish).toMatchObject({
      type: "Failed",
      reason: "FailedIndexes",
      message: "1 of 2 failed",
    });
  });

  it("[J6] the first rule that fits a code decides; an outcome without a code is a failure like others", () => {
    const policy = checkPolicy({
      completions: 2,
      parallelism: 2,
      backoffLimit: 0,
      backoff: { first: 0 },
      onExit: [
        { codes: [42], action: "ignore" },
        { codes: [43], action: "fail-index" },
        { codes: [44], action: "count" },
        { not: [1, 2], action: "fail-job" },
      ],
    });
    const first = begin(policy, START);
    const failing = (code: number | null) =>
      ended(first.state, { index: 0, outcome: code === null ? "oom" : "error", code }, START);
    expect(failing(42)).toMatchObject({
      start: [{ index: 0, attempt: 2 }],
      state: { failures: 0, finish: null },
    });
    expect(failing(43)).toMatchObject({ stop: [1], state: { finish: { reason: "BackoffLimitExceeded" } } });
    expect(failing(44).state.finish?.reason).toBe("BackoffLimitExceeded");
    expect(failing(99)).toMatchObject({ stop: [1], state: { finish: { reason: "ExitRule" } } });
    expect(failing(1).state.finish?.reason).toBe("BackoffLimitExceeded");
    expect(failing(null).state.finish?.reason).toBe("BackoffLimitExceeded");
    const more = begin({ ...policy, backoffLimit: 5 }, START);
    const failed = ended(more.state, { index: 0, outcome: "error", code: 43 }, START);
    expect([failed.state.indexes[0]?.state, failed.state.finish]).toEqual(["failed", null]);
  });

  it("[J7] a lost attempt is repeated and not a failure, until too many were lost", () => {
    let turn = begin(checkPolicy({ backoffLimit: 0, lostLimit: 2, backoff: { first: 0 } }), START);
    for (let time = 0; time < 2; time++) {
      turn = ended(turn.state, { index: 0, outcome: "lost", code: null }, START);
      expect(turn.start).toEqual([{ index: 0, attempt: time + 2 }]);
    }
    turn = ended(turn.state, { index: 0, outcome: "lost", code: null }, START);
    expect(turn.state).toMatchObject({
      failures: 0,
      lost: 3,
      finish: { type: "Failed", reason: "LostIndexes" },
      indexes: [{ state: "lost" }],
    });
  });

  it("[J8] time counts while it is not suspended; when it is over, everything is ended", () => {
    let turn = begin(checkPolicy({ completions: 2, parallelism: 2, activeDeadline: 100 }), START);
    expect(turn.wake).toBe(START + 100);
    turn = suspend(turn.state, "freeze", START + 60);
    expect([turn.wake, turn.stop]).toEqual([null, []]);
    expect(tick(turn.state, START + 10_000).state.finish).toBe(null);
    turn = resume(turn.state, START + 10_000);
    expect(turn.wake).toBe(START + 10_040);
    turn = tick(turn.state, START + 10_040);
    expect(turn.state.finish?.reason).toBe("DeadlineExceeded");
    expect(turn.stop).toEqual([0, 1]);
    expect(isOver(turn.state)).toBe(false);
    turn = ended(turn.state, { index: 0, outcome: "killed", code: null }, START + 10_041);
    // It was done before it heard of it: that remains so, and the job has failed all the same.
    turn = ended(turn.state, { index: 1, outcome: "ok", code: 0 }, START + 10_042);
    expect(turn.state.indexes.map(({ state }) => state)).toEqual(["cancelled", "succeeded"]);
    expect([isOver(turn.state), turn.state.finish?.type]).toEqual([true, "Failed"]);
  });

  it("[J9] suspended, nothing begins; attempts that were ended for it begin anew and do not count", () => {
    let turn = begin(checkPolicy({ completions: 3, parallelism: 2, backoffLimit: 0 }), START);
    turn = suspend(turn.state, "end", START);
    expect([turn.stop, turn.start]).toEqual([[0, 1], []]);
    turn = ended(turn.state, { index: 0, outcome: "killed", code: null }, START);
    turn = resume(turn.state, START);
    // The other one is still under way, so there is room for one.
    expect(turn.start).toEqual([{ index: 0, attempt: 2 }]);
    turn = ended(turn.state, { index: 1, outcome: "error", code: 1 }, START);
    expect([turn.start, turn.state.failures]).toEqual([[{ index: 1, attempt: 2 }], 0]);
    const begun = begin(checkPolicy({ suspend: true }), START);
    expect([begun.start, resume(begun.state, START).start]).toEqual([[], [{ index: 0, attempt: 1 }]]);
  });

  it("[J10] agrees with a simple model, whatever happens in whatever order", () => {
    const policies = record({
      completions: integer({ min: 1, max: 5 }),
      parallelism: integer({ min: 1, max: 4 }),
      backoffLimit: option(integer({ min: 0, max: 4 }), { nil: undefined }),
      backoffLimitPerIndex: option(integer({ min: 0, max: 2 }), { nil: undefined }),
      lostLimit: integer({ min: 0, max: 2 }),
      activeDeadline: option(integer({ min: 1, max: 200 }), { nil: undefined }),
      first: integer({ min: 0, max: 20 }),
      suspend: constantFrom(true, false),
    });
    const moves = array(
      record({
        what: constantFrom(
          "end",
          "end",
          "end",
          "end",
          "end",
          "end",
          "pass",
          "pass",
          "freeze",
          "stop",
          "resume",
          "resume",
          "cancel",
        ),
        which: integer({ min: 0, max: 10 }),
        outcome: constantFrom("ok", "error", "error", "lost", "timeout", "ignored", "fatal", "index"),
        time: constantFrom(0, 0, 0, 1, 5, 10, 25, 60),
      }),
      { maxLength: 60 },
    );
    check(
      property(policies, moves, ({ first, ...rest }, all) => {
        const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
        const policy = checkPolicy({
          ...given,
          backoff: { first },
          onExit: [
            { codes: [101], action: "ignore" },
            { codes: [102], action: "fail-job" },
            { codes: [103], action: "fail-index" },
          ],
        });
        new Model(policy).play(all);
      }),
      { numRuns: campaign(2_000) },
    );
  });
});

const CODES: {
  readonly [outcome: string]: readonly ["ok" | "error" | "lost" | "timeout" | "killed", number | null];
} = {
  ok: ["ok", 0],
  error: ["error", 1],
  lost: ["lost", null],
  timeout: ["timeout", null],
  killed: ["killed", null],
  ignored: ["error", 101],
  fatal: ["error", 102],
  index: ["error", 103],
};

type Move = {
  readonly what: string;
  readonly which: number;
  readonly outcome: string;
  readonly time: number;
};

/** What a job should do, in the plainest way: lists of what happened, counted anew each time. */
class Model {
  #now = START;
  #turn: Turn;
  readonly #policy: ReturnType<typeof checkPolicy>;
  readonly #log: { index: number; what: string; counted: boolean; at: number }[] = [];
  readonly #underWay = new Map<number, { attempt: number; told: boolean }>();
  readonly #attempts = new Map<number, number>();
  #suspended: boolean;
  #activeTime = 0;
  #failed: string | undefined;

  constructor(policy: ReturnType<typeof checkPolicy>) {
    this.#policy = policy;
    this.#suspended = policy.suspend;
    this.#turn = begin(policy, this.#now);
    this.#follow();
  }

  play(moves: readonly Move[]): void {
    for (const move of moves) this.#move(move);
    // However it was left: with time, and everything that is under way ending well, it comes to an end.
    if (this.#suspended) this.#move({ what: "resume", which: 0, outcome: "ok", time: 0 });
    for (let round = 0; !isOver(this.#turn.state); round++) {
      expect(round).toBeLessThan(200);
      if (this.#underWay.size > 0) this.#move({ what: "end", which: 0, outcome: "ok", time: 0 });
      else {
        expect(this.#turn.wake).not.toBe(null);
        this.#move({ what: "wake", which: 0, outcome: "ok", time: 0 });
      }
    }
    const { finish, indexes } = this.#turn.state;
    const won = indexes.filter(({ state }) => state === "succeeded").length;
    expect(won).toBe(new Set(this.#log.filter(({ what }) => what === "ok").map(({ index }) => index)).size);
    expect(finish?.type === "Complete").toBe(won === this.#policy.completions && this.#failed === undefined);
    for (const { state } of indexes) expect(["succeeded", "failed", "lost", "cancelled"]).toContain(state);
  }

  #move({ what, which, outcome, time }: Move): void {
    const { state } = this.#turn;
    // Time passes before whatever happens, and nobody may have noticed yet.
    this.#pass(what === "wake" ? Math.max(0, (this.#turn.wake ?? this.#now) - this.#now) : time);
    if (what === "pass" || what === "wake") {
      this.#take(tick(state, this.#now));
    } else if (what === "freeze" || what === "stop") {
      this.#take(suspend(state, what === "freeze" ? "freeze" : "end", this.#now));
      if (this.#failed === undefined && !isDone(state)) this.#suspended = true;
    } else if (what === "resume") {
      this.#take(resume(state, this.#now));
      if (!isDone(state)) this.#suspended = false;
    } else if (what === "cancel") {
      this.#take(cancel(state, "enough", this.#now));
      if (!isDone(state)) this.#failed ??= "Cancelled";
    } else {
      const places = [...this.#underWay.keys()];
      const index = places[which % Math.max(1, places.length)];
      if (index === undefined) return;
      const told = this.#underWay.get(index)?.told === true;
      // What was told to end was killed, unless it was done just then.
      this.#end(index, told && outcome !== "ok" ? "killed" : outcome);
    }
    this.#check();
  }

  #pass(time: number): void {
    this.#now += time;
    if (!this.#suspended && this.#failed === undefined && !isDone(this.#turn.state)) this.#activeTime += time;
    const { activeDeadline } = this.#policy;
    if (activeDeadline !== null && this.#activeTime >= activeDeadline && !isDone(this.#turn.state))
      this.#failed ??= "DeadlineExceeded";
  }

  #end(index: number, outcome: string): void {
    const [result, code] = CODES[outcome] as (typeof CODES)[string] & {};
    const { told } = this.#underWay.get(index) as { told: boolean };
    this.#underWay.delete(index);
    const isFailure =
      !["ok", "lost", "ignored", "killed"].includes(outcome) && !told && this.#failed === undefined;
    this.#log.push({
      index,
      what: told && outcome !== "ok" ? "told" : outcome,
      counted: isFailure,
      at: this.#now,
    });
    if (isFailure) {
      const failures = this.#log.filter(({ counted }) => counted).length;
      if (outcome === "fatal") this.#failed = "ExitRule";
      else if (this.#policy.backoffLimit !== null && failures > this.#policy.backoffLimit)
        this.#failed = "BackoffLimitExceeded";
    }
    this.#take(ended(this.#turn.state, { index, outcome: result, code }, this.#now));
  }

  #take(turn: Turn): void {
    const wasDone = isDone(this.#turn.state);
    this.#turn = turn;
    if (wasDone) expect(turn.start).toEqual([]);
    for (const index of turn.stop) {
      const one = this.#underWay.get(index);
      expect(one, "only what is under way is told to end, and once").toMatchObject({ told: false });
      if (one !== undefined) one.told = true;
    }
    this.#follow();
  }

  #follow(): void {
    for (const { index, attempt } of this.#turn.start) {
      expect(this.#underWay.has(index)).toBe(false);
      expect(attempt).toBe((this.#attempts.get(index) ?? 0) + 1);
      expect(this.#log.some((one) => one.index === index && one.what === "ok")).toBe(false);
      expect(this.#turn.state.isSuspended).toBe(false);
      expect(this.#failed).toBe(undefined);
      // Not before its time has come.
      const tries = this.#log.filter((one) => one.index === index && !["told", "killed"].includes(one.what));
      const last = this.#log.filter((one) => one.index === index).at(-1);
      if (last !== undefined && last.what !== "told")
        expect(this.#now).toBeGreaterThanOrEqual(last.at + delayAfter(this.#policy, tries.length));
      this.#attempts.set(index, attempt);
      this.#underWay.set(index, { attempt, told: false });
    }
  }

  #check(): void {
    const { state } = this.#turn;
    expect(this.#underWay.size).toBeLessThanOrEqual(this.#policy.parallelism);
    expect(state.failures).toBe(this.#log.filter(({ counted }) => counted).length);
    if (this.#failed !== undefined)
      expect(state.finish).toMatchObject({ type: "Failed", reason: this.#failed });
    else if (state.finish !== null)
      expect(["AllSucceeded", "FailedIndexes", "LostIndexes"]).toContain(state.finish.reason);
    state.indexes.forEach((one, index) => {
      const mine = this.#log.filter((each) => each.index === index);
      const failures = mine.filter(({ counted }) => counted).length;
      const { backoffLimitPerIndex, lostLimit } = this.#policy;
      if (one.state === "lost")
        expect(mine.filter(({ what }) => what === "lost")).toHaveLength(lostLimit + 1);
      if (one.state === "failed" && this.#failed === undefined)
        expect(
          (backoffLimitPerIndex !== null && failures === backoffLimitPerIndex + 1) ||
            mine.some(({ what }) => what === "index"),
        ).toBe(true);
      if (["waiting", "active"].includes(one.state) && backoffLimitPerIndex !== null)
        expect(failures).toBeLessThanOrEqual(backoffLimitPerIndex);
    });
    // Something goes on, or will, or somebody must say so.
    if (!isOver(state) && !state.isSuspended && this.#underWay.size === 0)
      expect(this.#turn.wake).not.toBe(null);
  }
}

function isDone(state: JobState): boolean {
  return state.finish !== null;
}
