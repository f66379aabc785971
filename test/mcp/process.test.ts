import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterEach, expect, it } from "vitest";
import { mcp } from "../../src/connect/mcp/index.js";
import { closeAll, kept, lastOf, lives, memory, using } from "../../src/connect/mcp/testing/world.js";

afterEach(closeAll);

const serve = fileURLToPath(new URL("./serve.mjs", import.meta.url));
const killed = fileURLToPath(new URL("./killed.mjs", import.meta.url));
const evil = fileURLToPath(new URL("../../src/connect/mcp/testing/evil.mjs", import.meta.url));

it("[Q1] a program of ours over its input and output, in the protocol of 2026", async () => {
  const server = kept(mcp({ name: "bank", command: process.execPath, args: [serve] }, { elicitation: true }));
  const rath = memory();
  const module = using(await server.tools(), { tool: "bank_pay", input: { task: "pay" } }, "ok");
  await rath.run(module, rath.start("go"), { name: "payment" });
  expect(JSON.stringify((await rath.pending("payment"))[0]?.shown)).toContain("130");
  await rath.signal("payment", "mcp:bank", { action: "accept", content: { approved: true } }, "user:ada");
  const session = await rath.resume("payment", module);
  expect(lastOf(session, "tool-result").output).toContain("It is paid.");
  expect(lastOf(session, "tool-call").source).toMatchObject({ mcp: "bank", protocol: "2026-07-28" });
  await server.close();
  expect((await rath.replay("payment", module, { mode: "verify" })).id).toBe(session.id);
});

it("[Q2] the same program for the package's own client, in the protocol of 2025", async () => {
  const asked: unknown[] = [];
  const client = new Client(
    { name: "other", version: "1" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "legacy" } },
  );
  client.setRequestHandler("elicitation/create", (request) => {
    asked.push(request.params);
    return { action: "accept", content: { approved: true } };
  });
  kept({ close: () => client.close() });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [serve] }));
  expect(client.getProtocolEra()).toBe("legacy");
  const result = await client.callTool({ name: "pay", arguments: { task: "pay" } });
  expect(JSON.stringify(asked)).toContain("130");
  expect(JSON.stringify(result.content)).toContain("It is paid.");
});

it.each(["SIGKILL", "SIGTERM", "SIGINT"] as const)(
  "[Q3] %s: nothing is left of the servers of a process that is gone",
  async (signal) => {
    const child = spawn(process.execPath, [killed, evil, "stays", "leaves-children", "none"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const pids = await new Promise<number[]>((resolve, reject) => {
      let text = "";
      child.once("exit", () => reject(new Error(`it ended: ${text}`)));
      child.stdout.on("data", (bytes: Buffer) => {
        text += bytes;
        if (text.includes("\n")) resolve(JSON.parse(text) as number[]);
      });
    });
    expect(pids).toHaveLength(5);
    expect(pids.every(lives)).toBe(true);
    child.removeAllListeners("exit");
    child.kill(signal);
    await expect.poll(() => pids.filter(lives), { timeout: 20_000 }).toEqual([]);
  },
);
