import { afterEach, expect, it } from "vitest";
import type { Tool } from "../../agent/tool/index.js";
import type { Json } from "../../session/index.js";
import { closeAll, evil, factsOf, lastOf, memory, using } from "./testing/world.js";

afterEach(closeAll);

const bad = { tool: "evil_good", input: {} } as const;
const well = { tool: "evil_good", input: { well: true } } as const;

/** What came of the only call of a session. */
async function outcome(tools: readonly Tool[], call: typeof bad | typeof well): Promise<Json> {
  const rath = memory();
  const session = await rath.run(using(tools, call, "over"), rath.start("go"));
  expect(session.fact.type).toBe("run-end");
  const last = factsOf(session).findLast(({ type }) => type === "tool-result" || type === "tool-failure");
  return last?.type === "tool-result" ? last.output : (lastOf(session, "tool-failure").error.code ?? "");
}

it.each([
  ["hangs", "mcp-timeout"],
  ["wrong-id", "mcp-timeout"],
  ["null-id", "mcp-timeout"],
  ["invalid-json", "mcp-timeout"],
])("[E14] %s: sessions that use the same server at the same time are served", async (behaviour, code) => {
  const tools = await evil(behaviour).tools();
  const found = await Promise.all([outcome(tools, bad), outcome(tools, well), outcome(tools, well)]);
  expect(found).toEqual([code, 'good {"well":true}', 'good {"well":true}']);
});

it.each([
  ["hangs", "mcp-timeout"],
  ["wrong-id", "mcp-timeout"],
  ["dies-mid-call", "mcp-lost"],
  ["killed-mid-call", "mcp-lost"],
  ["half-a-frame", "mcp-lost"],
  ["half-a-frame-and-waits", "mcp-timeout"],
  ["closes-output", "mcp-lost"],
  ["huge-frame", "mcp-lost"],
  ["endless-line", "mcp-lost"],
  ["floods-messages", "mcp-lost"],
  ["floods-noise", "mcp-lost"],
])(
  "[E15] %s: the next session that uses the same server is served, and the one after it",
  async (behaviour, code) => {
    const tools = await evil(behaviour).tools();
    expect(await outcome(tools, bad)).toBe(code);
    expect(await outcome(tools, well)).toBe('good {"well":true}');
    expect(await outcome(tools, well)).toBe('good {"well":true}');
  },
);

it("[E16] a line without an end is not held: memory stays what it was", async () => {
  const tools = await evil("endless-line", { frame: 16 * 1024 * 1024 }).tools();
  const before = process.memoryUsage().rss;
  for (let time = 0; time < 5; time++) expect(await outcome(tools, bad)).toBe("mcp-lost");
  expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024);
});
