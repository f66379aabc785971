// Runs the suite beside the compiled sources, and prints what became of each case as a line of JSON.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [kind] = process.argv.slice(2);
/** The sources lie beside this file only where it is run. */
const load = (path) => import(new URL(path, import.meta.url).href);
const { sandboxConformance } = await load("./testkit/sandbox/index.js");
const folder = mkdtempSync(join(tmpdir(), "openrath-conformance-"));
const make = {
  local: async () => (await load("./sandbox/local/provider.js")).localSandbox({ directory: folder }),
  host: async () => (await load("./sandbox/host/provider.js")).hostSandbox({ directory: folder }),
}[kind];

const tell = (told) => process.stdout.write(`${JSON.stringify(told)}\n`);
process.once("SIGTERM", () => process.exit(1));

const probe = await make();
const missing = await probe.capabilities().then(
  () => undefined,
  (error) => error.message,
);
await probe.close();
for (const { id, run } of sandboxConformance) {
  try {
    const note = missing ?? (await run({ provider: make }));
    tell({ id, ...(note !== undefined && { note }) });
  } catch (error) {
    tell({ id, error: error?.stack ?? String(error) });
  }
}
rmSync(folder, { recursive: true, force: true });
process.exit(0);
