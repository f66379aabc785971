// @ts-check
// A refund whose process dies right after the money has moved, run twice: first as plain code, then with OpenRath.
// `npm run example -- refund` prints both ledgers. Each program is one that the README shows.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const programs = { plain: "fixtures/refund/plain.mjs", openrath: "fixtures/refund/durable.mjs" };

for (const [name, program] of Object.entries(programs)) {
  const folder = mkdtempSync(join(tmpdir(), "openrath-refund-"));
  const ledger = join(folder, "ledger.txt");
  console.log(`${name}: the process dies in the refund, and the program runs again`);
  for (let time = 1; time <= 2; time++) {
    const file = fileURLToPath(new URL(program, import.meta.url));
    const { stdout } = spawnSync(process.execPath, [file], { cwd: folder, encoding: "utf8" });
    if (stdout !== "") console.log(stdout.trimEnd().replaceAll(/^/gm, "  "));
  }
  const lines = existsSync(ledger) ? readFileSync(ledger, "utf8").trim().split("\n") : [];
  console.log(`  ledger.txt has ${lines.length} line${lines.length === 1 ? "" : "s"}\n`);
  rmSync(folder, { recursive: true, force: true });
  if (lines.length !== (name === "plain" ? 2 : 1)) throw new Error(`${name}: ${lines.length} refunds`);
}
