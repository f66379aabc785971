import { agent } from "../../../../agent/index.js";
import { scripted } from "../../../../agent/model/index.js";
import { tool } from "../../../../agent/tool/index.js";
import { openRath, RunFailedError } from "../../../../runtime/index.js";
import type { Session } from "../../../../session/index.js";
import { openStore, type Store } from "../../../../store/index.js";
import { step, workflow } from "../../../../workflow/index.js";

/** A run of a workflow with two agents on two branches, a tool that works and one that does not, merged and judged. */
export async function world(): Promise<{ readonly store: Store; readonly session: Session }> {
  const store = await openStore("memory:");
  const rath = openRath({ store });
  const look = tool({
    name: "look",
    description: "Looks.",
    input: { type: "object" },
    effect: "read",
    run: async () => ({ seen: "the word is swordfish" }),
  });
  const broken = tool({
    name: "broken",
    description: "Fails.",
    input: { type: "object" },
    effect: "read",
    run: async (): Promise<string> => {
      throw new TypeError("no power in swordfish");
    },
  });
  const researcher = agent({
    name: "researcher",
    instructions: "Look for swordfish.",
    model: scripted([
      { tool: "look", input: { at: "swordfish" } },
      { tool: "broken", input: {} },
      "Found swordfish.",
    ]),
    tools: [look, broken],
  });
  const critic = agent({ name: "critic", model: scripted(["I doubt swordfish."]) });
  const count = step("count", async () => 3, { effect: "read" });
  const team = workflow("team", { researcher, critic, count }, async (session, parts) => {
    const counted = (await parts.count.call(session)).session;
    const [one, other] = await Promise.all([
      parts.researcher.forward(counted.fork("bold")),
      parts.critic.forward(counted.fork("careful", { why: "in case swordfish bites" })),
    ]);
    return one.merge(other, { adopt: "ours", why: "swordfish was found" });
  });
  let session = await rath.run(team, rath.start("Where is swordfish?"));
  session = session.append({
    type: "validation-report",
    name: "tests",
    passed: true,
    score: 1,
    detail: { swordfish: true },
    by: "runtime",
  });
  session = session.append({
    type: "memory-read",
    space: "notes",
    query: "swordfish",
    hits: [{ memory: "a".repeat(64), score: 0.5, text: "swordfish is a password" }],
  });
  const failing = agent({ name: "critic", model: scripted([]) });
  try {
    await rath.run(failing, session.say("And swordfish again?"));
  } catch (error) {
    if (!(error instanceof RunFailedError)) throw error;
    session = error.session;
  }
  await rath.close();
  const kept = await openStore("memory:");
  await kept.save(session, { name: "world" });
  return { store: kept, session: await kept.load("world") };
}
