import { array, asyncProperty, assert as check, constantFrom, integer, record } from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Session } from "../../session/index.js";
import { SandboxLostError, SandboxUnavailableError } from "../error.js";
import { localSandbox } from "../local/provider.js";
import type { Sandbox, SandboxProvider } from "../sandbox.js";
import { virtualSandbox } from "../virtual/provider.js";
import { type JobEvent, type JobOptions, runJob } from "./job.js";
import type { JobStatus } from "./job-state.js";
import type { JobPolicy } from "./policy.js";
import { ManualClock, settled } from "./testing/manual-clock.js";
import { PlainProvider, plainTrees } from "./testing/plain-provider.js";

const quick = { backoff: { first: 0 } };

describe("a job on real files", () => {
  let provider: SandboxProvider;
  let sandbox: Sandbox;
  const trees = plainTrees();

  beforeEach(async () => {
    provider = virtualSandbox();
    sandbox = await provider.create({}, { id: "source", incarnation: 1, tree: null, trees });
    await sandbox.files.write("given.txt", "given");
  });
  afterEach(() => provider.close());

  /** The sandboxes that are open beside the source. */
  const forks = async (): Promise<string[]> => {
    const ids: string[] = [];
    for await (const { id } of provider.list()) if (id !== "source") ids.push(id);
    return ids;
  };

  it("[J11] every attempt begins with the files from before: a retry sees nothing of what failed", async () => {
    const task = [
      "[ -e dirty ] && exit 99",
      "cat given.txt > dirty",
      "echo $JOB_COMPLETION_INDEX > index",
      '[ "$JOB_ATTEMPT" -ge 3 ]',
    ].join("\n");
    const { tree: before } = await sandbox.snapshot();
    const { result } = runJob(sandbox, { ...quick, completions: 3, parallelism: 2 }, task);
    const status = await result;
    expect(status.conditions).toMatchObject([{ type: "Complete", reason: "AllSucceeded", status: true }]);
    expect([status.succeeded, status.failed, status.active, status.ready, status.isOver]).toEqual([
      3,
      6,
      0,
      0,
      true,
    ]);
    expect(status.before).toBe(before);
    for (const { index, state, attempts, tree } of status.indexes) {
      expect([state, attempts.map(({ code }) => code)]).toEqual(["succeeded", [1, 1, 0]]);
      for (const [place, attempt] of attempts.entries()) {
        expect(attempt).toMatchObject({ attempt: place + 1, before, sandbox: { incarnation: place + 1 } });
        expect(attempt.after).toBe(tree);
      }
      const { entries } = await trees.tree(tree);
      expect(entries.map(({ name }) => name)).toEqual(["dirty", "given.txt", "index"]);
      const own = entries[2];
      expect(own?.kind === "file" && Buffer.from(await trees.blob(own.digest)).toString()).toBe(`${index}\n`);
    }
    expect(new Set(status.indexes.map(({ tree }) => tree)).size).toBe(3);
    expect(await forks()).toEqual([]);
    expect(await sandbox.files.stat("dirty")).toBe(undefined);
  });

  it("[J11] also when the source has changed since", async () => {
    const seen: string[] = [];
    const { result } = runJob(sandbox, quick, async (fork, { attempt }) => {
      seen.push(Buffer.from(await fork.files.read("given.txt")).toString());
      await sandbox.files.write("given.txt", `changed ${attempt}`);
      return attempt < 3 ? { outcome: "error", code: 1 } : undefined;
    });
    expect((await result).succeeded).toBe(1);
    expect(seen).toEqual(["given", "given", "given"]);
  });

  it("[J11] sandboxes can come from a provider and a tree, and say that they are retries", async () => {
    const { tree } = await sandbox.snapshot();
    const parents: unknown[] = [];
    const { result } = runJob({ provider, tree, trees, id: "build" }, quick, async (box, { attempt }) => {
      parents.push(box.ref.parent);
      expect(box.ref.tree).toBe(tree);
      return box.exec(attempt === 1 ? "exit 1" : "cat given.txt").result;
    });
    const status = await result;
    const id = status.indexes[0]?.attempts[0]?.sandbox?.id;
    expect(id).toMatch(/^build-job-[0-9a-f]{8}-0$/);
    expect(parents).toEqual([undefined, { id, incarnation: 1, by: "retry" }]);
    expect(await forks()).toEqual([]);
  });

  it("[J12] its status is plain data that a session can keep, and anyone who looks on sees every change in order", async () => {
    const told: [JobEvent["type"], JobStatus][] = [];
    const { result } = runJob(sandbox, { ...quick, completions: 2 }, '[ "$JOB_ATTEMPT" = 2 ]', {
      observe: (status, { type }) => told.push([type, status]),
    });
    const status = await result;
    expect(told.map(([type]) => type)).toEqual([
      ...["begin", "attempt-start", "attempt-end", "attempt-start", "attempt-end"],
      ...["attempt-start", "attempt-end", "attempt-start", "attempt-end", "finish", "end"],
    ]);
    expect(told.map(([, { active }]) => active).every((active) => active <= 1)).toBe(true);
    expect(told.at(-1)?.[1]).toEqual(status);
    expect(JSON.parse(JSON.stringify(status))).toEqual(status);
    const session = Session.start("work").append({ type: "note", kind: "job", status: status as never });
    expect((session.fact as unknown as { status: unknown }).status).toEqual(status);
  });

  it("[J13] a program is a task too: what it gives or throws is the outcome of its attempt", async () => {
    const outcomes = async (act: (attempt: number) => unknown): Promise<unknown[]> => {
      const { result } = runJob(
        sandbox,
        { ...quick, backoffLimit: 1, lostLimit: 1 },
        async (_box, { attempt }) => act(attempt) as undefined,
      );
      const { indexes, conditions } = await result;
      return [
        conditions[0]?.reason,
        ...(indexes[0]?.attempts ?? []).map(({ outcome, code, why }) => [outcome, code, why]),
      ];
    };
    expect(await outcomes(() => undefined)).toEqual(["AllSucceeded", ["ok", 0, undefined]]);
    expect(await outcomes((attempt) => ({ outcome: attempt === 1 ? "timeout" : "ok", code: null }))).toEqual([
      "AllSucceeded",
      ["timeout", null, undefined],
      ["ok", null, undefined],
    ]);
    const thrown = await outcomes(() => {
      throw new Error("broken\nmore");
    });
    expect(thrown).toEqual(["BackoffLimitExceeded", ["error", null, "broken"], ["error", null, "broken"]]);
    const lost = await outcomes(() => {
      throw new SandboxLostError("x", "gone");
    });
    const gone = ["lost", null, "The sandbox x is lost: gone."];
    expect(lost).toEqual(["LostIndexes", gone, gone]);
    expect(await forks()).toEqual([]);
  });

  it("[J14] an attempt whose files cannot be read has not succeeded", async () => {
    const { result } = runJob(sandbox, { ...quick, lostLimit: 1 }, async (box, { attempt }) => {
      if (attempt === 1) await box.destroy();
      return undefined;
    });
    const { indexes, lost } = await result;
    expect(lost).toBe(1);
    expect(indexes[0]?.attempts.map(({ outcome, after }) => [outcome, after === null])).toEqual([
      ["lost", true],
      ["ok", false],
    ]);
  });

  it("[J15] a source that is gone is an error before anything begins; sandboxes that cannot be made are failures", async () => {
    await sandbox.destroy();
    await expect(runJob(sandbox, {}, "true").result).rejects.toThrow(SandboxLostError);
    const broken: SandboxProvider = Object.create(provider, {
      capabilities: { value: () => provider.capabilities() },
      create: { value: async () => Promise.reject(new SandboxUnavailableError("x", "nothing", "buy one")) },
    });
    const source = { provider: broken, tree: null, trees, id: "none" };
    const { failed, indexes, conditions } = await runJob(source, { ...quick, backoffLimit: 1 }, "true")
      .result;
    expect([failed, conditions[0]?.reason]).toEqual([2, "BackoffLimitExceeded"]);
    expect(indexes[0]?.attempts[0]).toMatchObject({ outcome: "unstarted", after: null });
    expect(indexes[0]?.attempts[0]?.sandbox).toBe(undefined);
    expect(() => runJob(source, { parallelism: 0 }, "true")).toThrow("parallelism");
    expect(() => runJob(source, {}, 5 as never)).toThrow("neither a command nor a function");
  });
});

describe("the order of things", () => {
  const begun = (
    policy: JobPolicy,
    script: ConstructorParameters<typeof PlainProvider>[0],
    options: JobOptions & { readonly suspend?: "freeze" } = {},
  ) => {
    const { suspend, ...more } = options;
    const clock = new ManualClock();
    const provider = new PlainProvider(script, suspend);
    const job = runJob({ provider, tree: null, trees: plainTrees(), id: "j" }, policy, "task", {
      clock,
      ...more,
    });
    return { job, clock, provider };
  };

  it("[J16] waits longer before each retry, up to a limit, and not a moment less", async () => {
    const times: number[] = [];
    const { job, clock } = begun(
      { backoffLimit: 5, backoff: { first: 100, factor: 3, most: 500 } },
      async () => {
        times.push(clock.now());
        return { outcome: "error", code: 1 };
      },
    );
    await settled();
    while (job.status()?.isOver !== true) await clock.pass(1);
    const gaps = times.slice(1).map((time, place) => time - (times[place] as number));
    expect(gaps).toEqual([100, 300, 500, 500, 500]);
    expect((await job.result).failed).toBe(6);
  });

  it("[J17] is ended by its deadline, and time while it is suspended does not count", async () => {
    const { job, clock, provider } = begun({ activeDeadline: 1_000, completions: 2, parallelism: 2 }, never);
    await settled();
    await clock.pass(600);
    await job.suspend();
    await clock.pass(50_000);
    expect(job.status()?.conditions).toMatchObject([{ type: "Suspended", status: true }]);
    await job.resume();
    await clock.pass(399);
    expect(job.status()?.active).toBe(2);
    await clock.pass(1);
    const { conditions, milliseconds, indexes } = await job.result;
    expect(conditions).toMatchObject([
      { type: "Suspended", status: false, reason: "Resumed" },
      { type: "Failed", reason: "DeadlineExceeded" },
    ]);
    expect([milliseconds, indexes.map(({ state }) => state)]).toEqual([1_000, ["cancelled", "cancelled"]]);
    expect(provider.open.size).toBe(0);
  });

  it("[J18] suspended where sandboxes can stand still, they do; elsewhere they are ended and begun anew", async () => {
    const frozen = begun({ completions: 2, parallelism: 2, backoffLimit: 0 }, never, { suspend: "freeze" });
    await settled();
    await frozen.job.suspend();
    await frozen.job.suspend();
    expect([frozen.provider.suspended.size, frozen.provider.open.size]).toEqual([2, 2]);
    expect(frozen.job.status()).toMatchObject({ active: 0, failed: 0, indexes: [{ state: "frozen" }, {}] });
    await frozen.job.resume();
    expect([frozen.provider.suspended.size, frozen.job.status()?.active]).toEqual([0, 2]);
    await frozen.job.close();
    expect(frozen.provider.open.size).toBe(0);

    const ended = begun({ completions: 2, parallelism: 2, backoffLimit: 0 }, never);
    await settled();
    await ended.job.suspend();
    await settled();
    expect([ended.provider.open.size, ended.job.status()?.ready]).toEqual([0, 2]);
    await ended.job.resume();
    await settled();
    const { indexes, failed } = ended.job.status() as JobStatus;
    expect([failed, indexes.map(({ attempts }) => attempts.map(({ outcome }) => outcome))]).toEqual([
      0,
      [["killed"], ["killed"]],
    ]);
    expect(ended.provider.open.size).toBe(2);
    await ended.job.close();
    expect(ended.provider.open.size).toBe(0);
  });

  it("[J19] is cancelled by its signal, before it began and while it runs", async () => {
    const early = begun({}, never, { signal: AbortSignal.abort(new Error("too late")) });
    expect((await early.job.result).conditions).toMatchObject([
      { type: "Failed", reason: "Cancelled", message: "too late" },
    ]);
    const control = new AbortController();
    const { job, provider } = begun({ completions: 3, parallelism: 2 }, never, { signal: control.signal });
    await settled();
    control.abort(new Error("enough"));
    const { conditions, indexes } = await job.result;
    expect(conditions).toMatchObject([{ reason: "Cancelled", message: "enough" }]);
    expect(indexes.map(({ state, attempts }) => [state, attempts.length])).toEqual([
      ["cancelled", 1],
      ["cancelled", 1],
      ["cancelled", 0],
    ]);
    expect(provider.open.size).toBe(0);
  });

  it("[J19] a program that does not listen is left alone after a while, without its sandbox", async () => {
    const clock = new ManualClock();
    const provider = new PlainProvider(never);
    const job = runJob(
      { provider, tree: null, trees: plainTrees(), id: "j" },
      { activeDeadline: 10 },
      () => new Promise(() => {}),
      { clock },
    );
    await settled();
    await clock.pass(10);
    expect([job.status()?.isOver, provider.open.size]).toEqual([false, 1]);
    await clock.pass(10_000);
    const { indexes } = await job.result;
    expect(indexes[0]).toMatchObject({
      state: "cancelled",
      attempts: [{ outcome: "killed", why: "it did not end when it was told to" }],
    });
    expect(provider.open.size).toBe(0);
  });

  it("[J20] keeps the sandbox of each index's last attempt for some time, when that is asked for", async () => {
    let runs = 0;
    const policy = { ...quick, completions: 2, ttlAfterFinished: 500 };
    const { job, clock, provider } = begun(policy, async () => ({
      outcome: runs++ === 0 ? "error" : "ok",
      code: 0,
    }));
    await clock.pass(0);
    const status = await job.result;
    expect(status.indexes.map(({ attempts }) => attempts.length)).toEqual([2, 1]);
    expect([...job.sandboxes()].map(([index, { ref }]) => [index, ref.incarnation])).toEqual([
      [0, 2],
      [1, 1],
    ]);
    expect(provider.open.size).toBe(2);
    await clock.pass(499);
    expect(provider.open.size).toBe(2);
    await clock.pass(1);
    expect([provider.open.size, job.sandboxes().size]).toEqual([0, 0]);

    const retained = begun({ ttlAfterFinished: 1, onExpire: "retain" }, async () => ({
      outcome: "ok",
      code: 0,
    }));
    await retained.job.result;
    await retained.clock.pass(1_000_000);
    expect(retained.provider.open.size).toBe(1);
    await retained.job[Symbol.asyncDispose]();
    expect(retained.provider.open.size).toBe(0);
  });

  it("[J21] an error of the one who looks on ends the job, and is told", async () => {
    for (const type of ["begin", "attempt-start", "attempt-end", "finish", "end"]) {
      const { job, provider } = begun(
        { completions: 3, parallelism: 2 },
        async () => ({ outcome: "ok", code: 0 }),
        {
          observe: (_status, event) => {
            if (event.type === type) throw new Error(`at ${type}`);
          },
        },
      );
      await expect(job.result).rejects.toThrow(`at ${type}`);
      expect(provider.open.size).toBe(0);
    }
  });

  it("[J22] a sandbox that cannot be destroyed is named, and the job goes on", async () => {
    const stubborn = new PlainProvider(async () => ({ outcome: "ok", code: 0 }));
    const create = stubborn.create.bind(stubborn);
    stubborn.create = async (spec, options) =>
      Object.assign(await create(spec, options), { destroy: () => Promise.reject(new Error("it stays")) });
    const source = { provider: stubborn, tree: null, trees: plainTrees(), id: "j" };
    const { left, succeeded } = await runJob(source, { completions: 2 }, "task").result;
    expect([succeeded, left.map(({ why }) => why)]).toEqual([2, ["it stays", "it stays"]]);
  });

  it("[J23] however attempts end and whatever is asked of it meanwhile, no sandbox is left and no more are open than may be", async () => {
    const outcomes = array(constantFrom("ok", "error", "lost", "timeout", "oom", "hang"), {
      minLength: 1,
      maxLength: 20,
    });
    const asked = array(constantFrom("pass", "pass", "suspend", "resume", "abort"), { maxLength: 12 });
    const policies = record({
      completions: integer({ min: 1, max: 6 }),
      parallelism: integer({ min: 1, max: 4 }),
      backoffLimit: integer({ min: 0, max: 5 }),
      lostLimit: integer({ min: 0, max: 2 }),
      freeze: constantFrom(true, false),
    });
    await check(
      asyncProperty(policies, outcomes, asked, async ({ freeze, ...policy }, all, moves) => {
        let run = 0;
        const control = new AbortController();
        const { job, clock, provider } = begun(
          { ...policy, activeDeadline: 10_000, backoff: { first: 10 } },
          async () => {
            const outcome = all[run++ % all.length] as string;
            if (outcome === "hang") return never();
            return { outcome: outcome as "ok", code: outcome === "ok" ? 0 : outcome === "error" ? 1 : null };
          },
          { signal: control.signal, ...(freeze && { suspend: "freeze" as const }) },
        );
        for (const move of moves) {
          if (move === "suspend") await job.suspend();
          else if (move === "resume") await job.resume();
          else if (move === "abort") control.abort();
          else await clock.pass(15);
          await settled();
        }
        await job.resume();
        for (let round = 0; job.status()?.isOver !== true && round < 100; round++) await clock.pass(1_000);
        const status = await job.result;
        expect(status.isOver).toBe(true);
        expect(provider.open.size).toBe(0);
        expect(provider.most).toBeLessThanOrEqual(policy.parallelism);
        expect(status.succeeded).toBe(status.indexes.filter(({ state }) => state === "succeeded").length);
        for (const { attempts } of status.indexes)
          expect(attempts.filter(({ outcome }) => outcome === "ok").length).toBeLessThanOrEqual(1);
      }),
      { numRuns: 60 },
    );
  });
});

describe("a job on processes", () => {
  it("[J24] goes on after it was suspended as if nothing had been, and leaves no process or sandbox", async (context) => {
    const provider = localSandbox();
    try {
      await provider.capabilities();
    } catch (error) {
      return context.skip(
        `no local sandbox here: ${error instanceof Error ? error.message.split("\n")[0] : ""}`,
      );
    }
    try {
      const sandbox = await provider.create(
        {},
        { id: "source", incarnation: 1, tree: null, trees: plainTrees() },
      );
      await sandbox.files.write("lib.sh", "step() { echo $1 >> log; }");
      const task = ". ./lib.sh; for i in $(seq 40); do step $i; sleep 0.05; done";
      const job = runJob(sandbox, { completions: 2, parallelism: 2 }, task);
      await expect.poll(() => job.status()?.active).toBe(2);
      await job.suspend();
      expect(job.status()).toMatchObject({ active: 0 });
      await job.resume();
      const { indexes, failed, succeeded } = await job.result;
      expect([succeeded, failed]).toEqual([2, 0]);
      if (sandbox.capabilities.suspend === "freeze") expect(indexes[0]?.attempts).toHaveLength(1);
      const cancelled = runJob(sandbox, { completions: 3, parallelism: 3 }, "sleep 1000");
      await expect.poll(() => cancelled.status()?.active).toBe(3);
      await cancelled.close();
      const ids: string[] = [];
      for await (const { id } of provider.list()) ids.push(id);
      expect(ids.filter((id) => id.startsWith("source-job"))).toEqual([]);
    } finally {
      await provider.close();
    }
  });
});

const never = (): Promise<never> => new Promise(() => {});
