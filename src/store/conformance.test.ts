import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type MakeStore, runStoreConformance, storeConformance } from "../testkit/store/index.js";
import { openStore } from "./open.js";

const kinds: { readonly [scheme: string]: MakeStore } = {
  "memory:": async () => ({ open: () => openStore("memory:"), destroy: async () => {} }),
  "sqlite:": inFolder((folder) => `sqlite:${join(folder, "rath.db")}`),
};

for (const [scheme, makeStore] of Object.entries(kinds)) {
  describe(scheme, () => {
    for (const { id, title, run } of storeConformance) {
      it(`[${id}] ${title}`, async (context) => {
        const note = await run(makeStore);
        if (note !== undefined) context.skip(note);
      });
    }
  });
}

describe("runStoreConformance", () => {
  it("[S95] says what a store does not keep, by id and in words, without a test runner", async () => {
    const told: string[] = [];
    const forgetful: MakeStore = async () => ({
      destroy: async () => {},
      open: async () => Object.assign(await openStore("memory:"), { children: async () => [] }),
    });
    const { passed, failed, skipped } = await runStoreConformance(forgetful, {
      only: ["S1", "S5", "S43"],
      report: (line) => told.push(line),
    });
    expect([passed, failed.map(({ id }) => id), skipped.map(({ id }) => id)]).toEqual([1, ["S43"], ["S5"]]);
    expect(failed[0]?.error.message).toMatch(/^\[S43\] children are the sessions made directly from one/);
    expect(told.map((line) => line.slice(0, 11))).toEqual(["ok    [S1] ", "skip  [S5] ", "FAIL  [S43]"]);
  });

  it("[S95] has no two cases with one id", () => {
    expect(new Set(storeConformance.map(({ id }) => id)).size).toBe(storeConformance.length);
  });
});

function inFolder(urlOf: (folder: string) => string): MakeStore {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), "openrath-store-"));
    return {
      open: () => openStore(urlOf(folder)),
      destroy: async () => rmSync(folder, { recursive: true, force: true }),
    };
  };
}
