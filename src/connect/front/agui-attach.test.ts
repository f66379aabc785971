import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { tool } from "../../agent/tool/index.js";
import { statusOf } from "../../runtime/index.js";
import { rathOf, storeOf, urlOf } from "../../runtime/testing/rath.js";
import { agui } from "./index.js";
import { asked, type Event, eventsOf, inputFor, posted } from "./testing/post.js";

const NAME = "agui/user%3Aada/t1";
const principal = () => "user:ada" as const;
const deltas = (events: readonly Event[]) =>
  events.flatMap(({ type, delta }) => (type === "TEXT_MESSAGE_CONTENT" ? [delta] : []));

describe("agui, while somebody else goes on with a run", () => {
  it.each(["turn", "resume", "elsewhere", "failed", "message"] as const)(
    "[G14] a reader follows it to its end: %s",
    async (how) => {
      const url = urlOf("sqlite");
      const rath = rathOf({ store: await storeOf(url) });
      let [begin, go] = [(): void => {}, (): void => {}];
      const begun = new Promise<void>((resolve) => (begin = resolve));
      const gate = new Promise<void>((resolve) => (go = resolve));
      const pay = tool({
        name: "pay",
        description: "Pays.",
        input: { type: "object" },
        effect: "write",
        approval: { from: "user:boss" },
        run: async () => {
          begin();
          await gate;
          return "paid";
        },
      });
      const model = scripted(
        { text: "I ask first.", tools: [{ tool: "pay" }] },
        () => {
          if (how === "failed") throw new Error("no credit");
          return "It is paid.";
        },
        "You are welcome.",
      );
      const module = agent({ name: "clerk", model, tools: [pay], retry: { attempts: 1 } });
      const handler = agui(rath, module, { principal });
      await asked(handler, inputFor("Refund me."));
      await rath.approve(NAME, { by: "user:boss" });
      const isElsewhere = how === "elsewhere" || how === "message";
      const other = isElsewhere ? rathOf({ store: await storeOf(url) }) : rath;
      const going = (
        how === "turn" || how === "failed" ? other.turn(module, NAME) : other.resume(NAME, module)
      )
        .then(statusOf)
        .catch(() => "failed");
      await begun;
      const response = await handler(
        how === "message"
          ? posted(inputFor("Thanks.", { runId: "r2" }))
          : new Request("http://localhost/agent?threadId=t1"),
      );
      go();
      expect(await going).toBe(how === "failed" ? "failed" : "finished");
      const events = await eventsOf(response);
      expect(events.at(-1)).toMatchObject(
        how === "failed"
          ? { type: "RUN_ERROR", message: expect.stringContaining("no credit") }
          : { type: "RUN_FINISHED", outcome: { type: "success" } },
      );
      const answer = { failed: "", message: "It is paid.You are welcome." };
      expect(deltas(events).join("")).toBe(answer[how as keyof typeof answer] ?? "It is paid.");
      expect(events.map(({ type }) => type)).toContain("TOOL_CALL_RESULT");
    },
  );

  it("[G15] models stream to a front end, whether or not the agent has `stream`", async () => {
    const rath = rathOf();
    const module = agent({ name: "clerk", model: scripted("There are twelve pencils left.") });
    const events = await asked(agui(rath, module, { principal }), inputFor("How many?"));
    expect(deltas(events).length).toBeGreaterThan(1);
    expect(deltas(events).join("")).toBe("There are twelve pencils left.");
    expect((await rath.replay(NAME, module, { mode: "verify" })).id).toBe((await rath.load(NAME)).id);
  });
});
