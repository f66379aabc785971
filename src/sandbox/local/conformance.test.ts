import { describe, it } from "vitest";
import { conformance } from "../conformance.js";
import { localSandbox } from "./provider.js";
import { missing } from "./testing/bwrap.js";
import { folder } from "./testing/folder.js";

const why = missing();

// What every kind of sandbox promises; the suite has its own list.
describe.skipIf(why !== undefined)(`local${why === undefined ? "" : ` (skipped: ${why})`}`, () => {
  const directory = folder();
  for (const { id, title, run } of conformance)
    it(`[${id}] ${title}`, async (context) => {
      const note = await run({ provider: async () => localSandbox({ directory, onSweep: () => {} }) });
      if (note !== undefined) context.skip(note);
    });
});
