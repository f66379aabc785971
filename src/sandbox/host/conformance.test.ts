import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { conformance } from "../conformance.js";
import { hostSandbox } from "./provider.js";

const directory = mkdtempSync(join(tmpdir(), "openrath-host-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

// What every kind of sandbox promises; the suite has its own list.
describe("host", () => {
  for (const { id, title, run } of conformance)
    it(`[${id}] ${title}`, async (context) => {
      const note = await run({ provider: async () => hostSandbox({ directory }) });
      if (note !== undefined) context.skip(note);
    });
});
