import { fileURLToPath } from "node:url";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ensurePeer } from "../../bench/peer.mjs";
import temporal, { activitiesOf } from "../../engines/temporal/index.mjs";
import type { Taken, Wake } from "../../src/cluster/engine.js";
import { worker } from "../../src/cluster/index.js";
import { step } from "../../src/workflow/index.js";
import { conformanceOf } from "./testkit.js";

const folder = new URL("../../engines/temporal/", import.meta.url);
const wake: Wake = { session: "a", module: "m", version: "v", run: "r" };
let reason: string | undefined;
beforeAll(async () => {
  const installed = await ensurePeer(folder, "Temporal");
  reason = installed.ok ? undefined : installed.reason;
}, 900_000);

// A live server: TEMPORAL_ADDRESS=127.0.0.1:7233 npx vitest run test/engines/temporal.test.ts
conformanceOf("temporal", async () => {
  const missing = process.env.TEMPORAL_ADDRESS === undefined ? "TEMPORAL_ADDRESS names no server" : undefined;
  return { ...((reason ?? missing) !== undefined && { reason: reason ?? missing }) } as { reason?: string };
});

/** From the packages of the engine, which have no types here. */
// biome-ignore lint/suspicious/noExplicitAny: their shapes are what this test is about
const sdk = (name: string): Promise<any> =>
  import(fileURLToPath(new URL(`node_modules/@temporalio/${name}/lib/index.js`, folder)));

const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** A history as a server exports it: the workflow asks for one activity, and ends with its answer. */
function historyOf(activity: string) {
  const payload = (value: unknown) => ({
    payloads: [{ metadata: { encoding: btoa("json/plain") }, data: btoa(JSON.stringify(value)) }],
  });
  const taskQueue = { name: "q", kind: "TASK_QUEUE_KIND_NORMAL" };
  // As newer servers record it: types are compared, too.
  const sdkMetadata = { coreUsedFlags: [1, 2, 3] };
  const task = (first: number) => [
    ["WORKFLOW_TASK_SCHEDULED", { taskQueue, startToCloseTimeout: "10s", attempt: 1 }],
    ["WORKFLOW_TASK_STARTED", { scheduledEventId: `${first}` }],
    [
      "WORKFLOW_TASK_COMPLETED",
      { scheduledEventId: `${first}`, startedEventId: `${first + 1}`, sdkMetadata },
    ],
  ];
  const events = [
    [
      "WORKFLOW_EXECUTION_STARTED",
      {
        workflowType: { name: "turn" },
        taskQueue,
        input: payload(wake),
        attempt: 1,
        workflowTaskTimeout: "10s",
      },
    ],
    ...task(2),
    [
      "ACTIVITY_TASK_SCHEDULED",
      {
        activityId: "1",
        activityType: { name: activity },
        taskQueue,
        input: payload(wake),
        workflowTaskCompletedEventId: "4",
      },
    ],
    ["ACTIVITY_TASK_STARTED", { scheduledEventId: "5", attempt: 1 }],
    ["ACTIVITY_TASK_COMPLETED", { result: payload("taken"), scheduledEventId: "5", startedEventId: "6" }],
    ...task(8),
    ["WORKFLOW_EXECUTION_COMPLETED", { result: payload("taken"), workflowTaskCompletedEventId: "10" }],
  ] as [string, object][];
  return {
    events: events.map(([type, attributes], place) => {
      const camel = type.toLowerCase().replace(/_./g, (two) => two[1]?.toUpperCase() ?? "");
      return {
        eventId: `${place + 1}`,
        eventTime: "2026-01-01T00:00:00Z",
        eventType: `EVENT_TYPE_${type}`,
        [`${camel}EventAttributes`]: attributes,
      };
    }),
  };
}

describe("the Temporal engine without a server", { timeout: 120_000 }, () => {
  beforeEach((context) => context.skip(reason !== undefined, reason));

  it("[EN9] replays a recorded history, and refuses one that went another way", async () => {
    const { Worker, Runtime, DefaultLogger, bundleWorkflowCode } = await sdk("worker");
    const logger = new DefaultLogger("ERROR");
    Runtime.install({ logger, shutdownSignals: [] });
    const workflowsPath = fileURLToPath(new URL("workflow.mjs", folder));
    const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger });
    await Worker.runReplayHistory({ workflowBundle }, historyOf("take"));
    await expect(Worker.runReplayHistory({ workflowBundle }, historyOf("other"))).rejects.toThrow(
      /[Nn]ondeterminism/,
    );
  });

  it("[EN3] its activity lasts as long as the session runs, and is tried again where there is no room", async () => {
    const { MockActivityEnvironment } = await sdk("testing");
    const environment = new MockActivityEnvironment(undefined, { logger: quiet });
    let rest = () => {};
    const rested = new Promise<void>((done) => {
      rest = done;
    });
    const run = (answer: Taken): Promise<unknown> =>
      environment.run(activitiesOf({ take: async () => answer, rested: () => rested }).take, wake);
    expect(await run("gone")).toBe("gone");
    await expect(run("busy")).rejects.toMatchObject({ nonRetryable: false });
    let isOver = false;
    const turn = run("taken").then(() => {
      isOver = true;
    });
    await new Promise((done) => environment.once("heartbeat", done));
    expect(isOver).toBe(false);
    rest();
    await turn;
  });

  it("[EN8] a worker does not start while Temporal does not answer", async () => {
    const nowhere = temporal({ address: "127.0.0.1:9" });
    const modules = { one: step("one", () => 1, { effect: "pure" }) };
    await expect(worker({ store: "memory:", modules, engine: nowhere })).rejects.toMatchObject({
      code: "run-refused",
      message: expect.stringContaining("127.0.0.1:9"),
    });
  });
});
