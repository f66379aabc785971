// @ts-check
// `npm run crash [-- rounds [vitest arguments]]`: the crash tests again, with far more rounds than `npm test` has
// patience for: killed processes, cut power, failing system calls. The tests read the number of rounds from
// OPENRATH_CRASH_ROUNDS.
import { fileURLToPath } from "node:url";
import { ensureBuilt } from "./build.mjs";
import { run, say } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";

// `npm run crash -- postgres [ROUNDS]` kills servers instead of writers.
const isServer = process.argv[2] === "postgres";
const [rounds = isServer ? "50" : "2000", ...args] = process.argv.slice(isServer ? 3 : 2);
const files = isServer ? ["src/store/postgres/kill.test.ts"] : ["crash", "power-cut"];

if (rounds === "cluster") {
  process.exitCode =
    ensureInstalled() && ensureBuilt()
      ? run(process.execPath, [fileURLToPath(new URL("crash-cluster.mjs", import.meta.url)), ...args])
      : 1;
} else if (!/^[1-9][0-9]*$/.test(rounds)) {
  say(`"${rounds}" is not a number of rounds. Try: npm run crash -- 2000`);
  process.exitCode = 2;
} else if (ensureInstalled() && ensureBuilt()) {
  say(`crash campaign: ${rounds} rounds`);
  process.exitCode = run(
    "vitest",
    ["run", ...files, "--testTimeout=0", "--typecheck.enabled=false", ...args],
    {
      env: { OPENRATH_CRASH_ROUNDS: rounds },
    },
  );
} else {
  process.exitCode = 1;
}
