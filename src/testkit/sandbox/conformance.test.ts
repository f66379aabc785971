import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hostSandbox } from "../../sandbox/host/provider.js";
import { localSandbox } from "../../sandbox/local/provider.js";
import { virtualSandbox } from "../../sandbox/virtual/provider.js";
import { runSandboxConformance, type SandboxCase, type SandboxPlace, sandboxConformance } from "./index.js";
import { OtherUser } from "./testing/other-user.js";

const folder = mkdtempSync(join(tmpdir(), "openrath-conformance-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const kinds = {
  host: async () => hostSandbox({ directory: join(folder, "host") }),
  local: async () => localSandbox({ directory: join(folder, "local") }),
} as const;

const me = process.getuid?.() === 0 ? "root" : "an ordinary user";

for (const [kind, provider] of Object.entries(kinds)) {
  // Most cases wait for processes and for time: they run side by side.
  describe.concurrent(`${kind}, as ${me}`, async () => {
    const missing = await unavailable({ provider });
    for (const { id, title, run } of sandboxConformance)
      it(`[${id}] ${title}`, async (context) => {
        const note = missing ?? (await run({ provider }));
        if (note !== undefined) context.skip(note);
      });
  });
}

describe.concurrent.each(["host", "local"] as const)("%s, as another user", (kind) => {
  let other: OtherUser;
  beforeAll(() => {
    other = new OtherUser(kind);
  });
  afterAll(() => other.close());

  for (const { id, title } of sandboxConformance)
    it(`[${id}] ${title}`, async (context) => {
      const { note, error } = other.obstacle === undefined ? await other.told(id) : { note: other.obstacle };
      if (error !== undefined) throw new Error(error);
      if (note !== undefined) context.skip(note);
    });
});

describe("runSandboxConformance", () => {
  it("[K10] says what a provider does not keep, by id and in words, without a test runner", async () => {
    const told: string[] = [];
    const forgetful: SandboxPlace = {
      provider: async () => {
        const provider = virtualSandbox();
        return Object.assign(provider, { list: async function* () {} });
      },
    };
    const { passed, failed, skipped } = await runSandboxConformance(forgetful, {
      only: ["P7", "P9", "E31"],
      report: (line) => told.push(line),
    });
    expect([passed, failed.map(({ id }) => id), skipped.map(({ id }) => id)]).toEqual([1, ["P7"], ["E31"]]);
    expect(failed[0]?.error.message).toMatch(/^\[P7\] sandboxes are listed while they are there/);
    expect(skipped[0]?.note).toContain("no terminals");
    expect(told.map((line) => line.slice(0, 10))).toEqual(["FAIL  [P7]", "ok    [P9]", "skip  [E31"]);
  });

  it("[K11] refuses an id that there is not, with those near it, and runs nothing", async () => {
    let opened = 0;
    const place: SandboxPlace = {
      provider: async () => {
        opened += 1;
        return virtualSandbox();
      },
    };
    const refusal = (only: readonly string[]) => expect(runSandboxConformance(place, { only })).rejects;
    await refusal(["ZZ9"]).toMatchObject({
      code: "conformance-case-unknown",
      message: expect.stringContaining('"ZZ9"'),
      data: { unknown: ["ZZ9"] },
    });
    await refusal(["P1", "p2", "Y77"]).toMatchObject({
      hint: expect.stringContaining("P2"),
      data: { unknown: ["p2", "Y77"] },
    });
    await refusal(["Y77"]).toMatchObject({ hint: "near it are Y1, Y2, Y3, Y4, Y5" });
    expect(opened).toBe(0);
    expect(await runSandboxConformance(place, { only: [] })).toEqual({ passed: 0, failed: [], skipped: [] });
  });

  it("[K10] has no two cases with one id, and more than a hundred in all", () => {
    const ids = sandboxConformance.map(({ id }: SandboxCase) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(100);
    expect(ids).not.toContain("");
  });
});

/** Why this kind of sandbox cannot be had here. */
async function unavailable({ provider }: SandboxPlace): Promise<string | undefined> {
  const one = await provider();
  try {
    await one.capabilities();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await one.close();
  }
}
