import { describe, expect, it, vi } from "vitest";
import { Session } from "../../../session/index.js";
import { openStore } from "../../../store/index.js";
import type { Imported } from "../exchange.js";
import { sweAgent } from "../swe-agent/read.js";
import { sourceOf } from "../trajectory/testing/corpus.js";
import type { Loose } from "../trajectory/testing/loose.js";
import { ERASABLE, sample } from "../trajectory/testing/sample.js";
import { hfTraceExport } from "./write.js";

const linesOf = (text: string): Loose[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("session traces", () => {
  it("[H1] begin with the session, then a message in each line", async () => {
    const { session, store } = await sample();
    const [header, ...messages] = linesOf(
      (await hfTraceExport.write({ session, store, name: "sample" })) as string,
    );
    expect(header).toMatchObject({ type: "session", harness: "openrath", id: session.id, name: "sample" });
    expect(
      messages.every(({ type, message }) => type === "message" && typeof message.content === "string"),
    ).toBe(true);
    expect(messages[2].message).toEqual({
      role: "assistant",
      content: "I look at the file first.",
      reasoningContent: "Let me think.",
      toolCalls: [{ id: "c1", function: { name: "read", arguments: '{"path":"a.js"}' } }],
      timestamp: Date.UTC(2026, 0, 2, 3, 4, 5),
      model: "acme/big-1",
    });
    expect(messages[3].message).toMatchObject({ role: "tool", toolCallId: "c1", content: ERASABLE });
    await store.close();
  });

  it("[H2] tell the adopted line", async () => {
    const { session, store } = await sample();
    const [, ...messages] = linesOf((await hfTraceExport.write({ session, store })) as string);
    expect(messages.map(({ message }) => message.role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
      "assistant",
      "assistant",
      "tool",
      "user",
      "assistant",
      "user",
    ]);
    expect(JSON.stringify(messages)).not.toContain("A small change.");
    const calls = messages.flatMap(({ message }) => (message.toolCalls ?? []).map(({ id }: Loose) => id));
    expect(messages.flatMap(({ message }) => message.toolCallId ?? [])).toEqual(calls);
    await store.close();
  });

  it("[H3] leave out times nobody knows and content that was erased", async () => {
    const empty = await openStore("memory:");
    const run = JSON.stringify({
      history: [
        { role: "user", content: "hi" },
        { role: "assistant", content: "ho" },
      ],
    });
    const [{ session: imported }] = (await sweAgent.read(sourceOf("a.traj", run))) as [Imported];
    expect((await hfTraceExport.write({ session: imported, store: empty })) as string).not.toContain(
      "timestamp",
    );
    vi.stubEnv("TZ", "America/New_York");
    expect(new Date(0).getTimezoneOffset()).toBe(300);
    const at = "2026-01-02T03:04:05";
    let zoneless = Session.start("hi", { at });
    const asked = zoneless.append({ type: "model-call", model: "m", at });
    const content = [{ type: "tool-call", call: "c", name: "look", input: {} }] as const;
    const usage = { input: 1, output: 1 };
    zoneless = asked.append({ type: "model-reply", of: asked.id, content, finish: "stop", usage, at });
    const call = zoneless.append({ type: "tool-call", name: "look", input: {}, call: "c", at });
    zoneless = call.append({ type: "tool-result", of: call.id, output: "seen", at });
    const [, ...told] = linesOf((await hfTraceExport.write({ session: zoneless, store: empty })) as string);
    vi.unstubAllEnvs();
    expect(told.map(({ message }) => [message.role, message.timestamp])).toEqual(
      ["user", "assistant", "tool"].map((role) => [role, Date.UTC(2026, 0, 2, 3, 4, 5)]),
    );
    const { session, store, ids } = await sample();
    const [blob] = [...session.history()]
      .filter(({ id }) => id === ids.long)
      .flatMap((one) => [...one.blobs()]);
    await store.erase("sample", { digests: [blob?.ref.digest as string], by: "user:ada", why: "asked for" });
    const text = (await hfTraceExport.write({ session, store })) as string;
    expect(text).not.toContain("All work and no play");
    expect(text).toContain('"content":"[erased]"');
    await Promise.all([store.close(), empty.close()]);
  });
});
