// @ts-check
// `npm run crash [-- rounds [vitest arguments]]`: the crash tests again, with far more rounds than `npm test` has
// patience for: killed processes, cut power, failing system calls. The tests read the number of rounds from
// OPENRATH_CRASH_ROUNDS.
import { ensureBuilt } from "./build.mjs";
import { run, say } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";

const [rounds = "2000", ...args] = process.argv.slice(2);

if (!/^[1-9][0-9]*$/.test(rounds)) {
  say(`"${rounds}" is not a number of rounds. Try: npm run crash -- 2000`);
  process.exitCode = 2;
} else if (ensureInstalled() && ensureBuilt()) {
  say(`crash campaign: ${rounds} rounds`);
  process.exitCode = run(
    "vitest",
    ["run", "crash", "power-cut", "--testTimeout=0", "--typecheck.enabled=false", ...args],
    {
      env: { OPENRATH_CRASH_ROUNDS: rounds },
    },
  );
} else {
  process.exitCode = 1;
}
