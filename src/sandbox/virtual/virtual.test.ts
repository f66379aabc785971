import { describe, it } from "vitest";
import { sandboxConformance } from "../../testkit/sandbox/index.js";
import { virtualSandbox } from "./provider.js";

describe("virtual", () => {
  for (const { id, title, run } of sandboxConformance) {
    it(`[${id}] ${title}`, async (context) => {
      const note = await run({ provider: async () => virtualSandbox() });
      if (note !== undefined) context.skip(note);
    });
  }
});
