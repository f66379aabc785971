import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Session } from "../../../session/index.js";
import { campaign } from "../../../session/testing/campaign.js";
import { openStore } from "../../../store/index.js";
import type { Imported } from "../exchange.js";
import { lacking, recordings, sourceOf } from "../trajectory/testing/corpus.js";
import { mutated, nonsense, survives } from "../trajectory/testing/garbage.js";
import { expectNothingLost } from "../trajectory/testing/leaves.js";
import type { Loose } from "../trajectory/testing/loose.js";
import { sample } from "../trajectory/testing/sample.js";
import { wordsOf } from "../trajectory/turn.js";
import { sweAgent } from "./read.js";
import { sweAgentExport } from "./write.js";

const runs = recordings("swe-agent/trajectories", /\.traj$/);
const json = (bytes: string | Uint8Array): Loose => JSON.parse(Buffer.from(bytes).toString("utf8"));

async function written(session: Session): Promise<string> {
  const store = await openStore("memory:");
  try {
    return (await sweAgentExport.write({ session, store })) as string;
  } finally {
    await store.close();
  }
}

async function read(value: unknown): Promise<Imported> {
  return (await sweAgent.read(sourceOf("run.traj", JSON.stringify(value))))[0] as Imported;
}

describe.skipIf(lacking !== undefined)(
  `the supplied trajectories${lacking === undefined ? "" : ` (${lacking})`}`,
  () => {
    it("[I1] are all read, and nothing is lost", async () => {
      expect(runs).toHaveLength(3);
      for (const source of runs) {
        expect(sweAgent.fits(source)).toBe(true);
        expectNothingLost([json(source.bytes)], await sweAgent.read(source));
      }
    });

    it("[I2] read as conversations", async () => {
      for (const source of runs) {
        const { history } = json(source.bytes);
        const [{ session }] = (await sweAgent.read(source)) as [Imported];
        expect(session.pending).toEqual([]);
        const answers = session.transcript.filter(({ role }) => role === "assistant");
        expect(answers).toHaveLength(history.filter(({ role }: Loose) => role === "assistant").length);
        const tools = session.transcript.filter(({ role }) => role === "tool");
        // The last action of each run but one was never answered in the history; the trajectory may tell what came of it.
        expect(tools.length).toBeGreaterThanOrEqual(answers.length - 1);
        for (const message of tools) expect(message.role === "tool" && message.error).toBe(undefined);
        const configured = [...session.history()].filter(({ fact }) => fact.type === "agent-configure");
        expect(configured).toHaveLength(1);
        expect(configured[0]?.fact).toMatchObject({ instructions: history[0].content });
      }
      const [{ session }] = (await sweAgent.read(runs[2] as never)) as [Imported];
      const users = session.transcript.filter(({ role }) => role === "user");
      expect(users.map((message) => "content" in message && wordsOf(message.content).slice(0, 21))).toEqual([
        "Here is a demonstrati",
        "We're currently solvi",
      ]);
      expect(session.transcript.find(({ role }) => role === "tool")).toMatchObject({ name: "command" });
    });

    it("[I4] give the same ids each time", async () => {
      for (const source of runs) {
        const [one, other] = [await sweAgent.read(source), await sweAgent.read(source)];
        expect(one[0]?.session.id).toBe(other[0]?.session.id);
      }
    });

    it("[T1] are written as they were", async () => {
      for (const source of runs) {
        const [{ session }] = (await sweAgent.read(source)) as [Imported];
        const text = await written(session);
        expect(json(text)).toEqual(json(source.bytes));
        expect(Object.keys(json(text))).toEqual(Object.keys(json(source.bytes)));
        const more = json(await written(session.say("more")));
        expect(more.history.at(-1)).toMatchObject({ role: "user", content: "more" });
        expect(more.history.slice(0, -1)).toEqual(json(source.bytes).history);
      }
    });

    it("[G1] whatever is done to one, it is read or refused", async () => {
      const [small] = runs;
      await fc.assert(
        fc.asyncProperty(
          mutated([small as never, runs[2] as never], false),
          async (source) => void (await survives(sweAgent, source)),
        ),
        { numRuns: Number(process.env.FUZZ_RUNS ?? campaign(80)) },
      );
    });
  },
);

describe("trajectories", () => {
  it("[I3] without a history are told by their steps", async () => {
    const steps = [
      {
        action: "ls",
        observation: "a",
        response: "I look.",
        thought: "I look.",
        execution_time: 0.5,
        state: { working_dir: "/" },
      },
      { action: "submit", observation: "", response: "Done.", thought: "" },
    ];
    const { session } = await read({
      environment: "main",
      trajectory: steps,
      info: { exit_status: "submitted" },
    });
    expect(session.transcript.map(({ role }) => role)).toEqual(["assistant", "tool", "assistant", "tool"]);
    expect(session.transcript[1]).toMatchObject({ name: "command", output: "a" });
    expect(json(await written(session)).trajectory).toEqual(steps);
  });

  it("[W3] leave the cost out where a reply has no price", async () => {
    const unpriced = Session.start("Go.").append({ type: "model-call", model: "m", by: "agent:coder" });
    const call = unpriced.id;
    const reply = {
      type: "model-reply",
      of: call,
      content: "Done.",
      finish: "stop",
      usage: { input: 3, output: 1 },
    } as const;
    const stats = async (session: Session) => json(await written(session)).info.model_stats;
    expect(await stats(unpriced.append(reply))).toEqual({ tokens_sent: 3, tokens_received: 1, api_calls: 1 });
    expect(await stats(unpriced.append({ ...reply, cost: 0 }))).toMatchObject({ instance_cost: 0 });
  });

  it("[W1] tell the adopted line, the accepted patch and what it cost", async () => {
    const { session, store } = await sample();
    const run = json((await sweAgentExport.write({ session, store, name: "sample" })) as string);
    expect(run.info).toMatchObject({
      exit_status: "submitted",
      model_stats: { tokens_sent: 400, tokens_received: 40, api_calls: 4, instance_cost: 1 },
    });
    expect(run.info.submission).toContain("diff --git a/c.js b/c.js");
    expect(run.trajectory.map(({ action }: Loose) => action)).toEqual([
      'read {"path":"a.js"}',
      "npm test",
      "",
      'edit {"path":"a.js"}',
      "",
    ]);
    expect(run.trajectory[1]).toMatchObject({ observation: "exit 1" });
    expect(run.history.map(({ role }: Loose) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
      "assistant",
      "assistant",
      "tool",
      "system",
      "assistant",
      "user",
    ]);
    await store.close();
  });

  it("[W2] have nothing that was erased", async () => {
    const { session, store, ids } = await sample();
    const [blob] = [...session.history()]
      .filter(({ id }) => id === ids.long)
      .flatMap((one) => [...one.blobs()]);
    await store.erase("sample", { digests: [blob?.ref.digest as string], by: "user:ada", why: "asked for" });
    for (const subject of [session, await store.load("sample")]) {
      const text = (await sweAgentExport.write({ session: subject, store })) as string;
      expect(text).not.toContain("All work and no play");
      expect(json(text).trajectory[0].observation).toBe("[erased]");
    }
    await store.close();
  });

  it("[T2] exported, imported and exported again are the same", async () => {
    const { session, store } = await sample();
    const first = (await sweAgentExport.write({ session, store, name: "sample" })) as string;
    const imported = (await sweAgent.read(sourceOf("sample.traj", first)))[0] as Imported;
    expectNothingLost([json(first)], [imported]);
    expect(await written(imported.session)).toBe(first);
    await store.close();
  });

  it("[G1] say where they are wrong", async () => {
    await expect(read({ history: [{ role: "ghost", content: "" }] })).rejects.toMatchObject({
      data: { where: "history[0].role" },
    });
    await expect(
      read({ history: [{ role: "assistant", content: "", tool_calls: [{}] }] }),
    ).rejects.toMatchObject({ data: { where: "history[0].tool_calls[0].function" } });
  });

  it.each(nonsense)("[G1] refuses %s", async (_, content) => {
    expect(await survives(sweAgent, sourceOf("x.traj", content))).toBe(false);
  });
});
