import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runScenario, startServer } from "../../scripts/mcp-conformance.mjs";

/** The newest version of the official suite that runs on the oldest Node that we run on. */
const require = createRequire(import.meta.url);
const suite = require.resolve("@modelcontextprotocol/conformance/dist/index.js");
const { version } = JSON.parse(readFileSync(join(suite, "..", "..", "package.json"), "utf8")) as {
  version: string;
};
const node = process.execPath;

it(`[K1] our server passes all scenarios of the official suite ${version}`, async () => {
  const { url, stop } = await startServer(node);
  try {
    const { ok, tally, faults } = await runScenario(node, suite, "server", {}, url);
    expect(faults.filter((fault) => fault.startsWith("FAILURE"))).toEqual([]);
    expect(tally).toMatchObject({ SUCCESS: 44, FAILURE: 0 });
    expect(ok).toBe(true);
  } finally {
    stop();
  }
});

it.each([
  "initialize",
  "tools_call",
  "elicitation-sep1034-client-defaults",
  "auth/basic-cimd",
  "auth/scope-step-up",
  "auth/client-credentials-basic",
])(`[K2] our client passes %s of the official suite ${version}`, async (scenario) => {
  const { ok, tally, faults } = await runScenario(node, suite, "client", { scenario });
  expect(faults).toEqual([]);
  expect(tally.SUCCESS).toBeGreaterThan(0);
  expect(ok).toBe(true);
});
