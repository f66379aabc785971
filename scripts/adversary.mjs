// @ts-check
// `npm run adversary [-- rounds [vitest arguments]]`: the campaigns of those who mean harm, with far more scenarios than
// `npm test` has patience for: the perfectly gullible model, evil tools, canary secrets, and ten times as
// many changes to approved calls. The tests read the number of scenarios from OPENRATH_ADVERSARY_ROUNDS, that of changes from
// OPENRATH_MUTATIONS, that of agreements from OPENRATH_AGREEMENTS, and where they begin from OPENRATH_SEED.
import { ensureBuilt } from "./build.mjs";
import { run, say } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";

const [rounds = "10000", ...args] = process.argv.slice(2);

if (!/^[1-9][0-9]*$/.test(rounds)) {
  say(`"${rounds}" is not a number of scenarios. Try: npm run adversary -- 10000`);
  process.exitCode = 2;
} else if (ensureInstalled() && ensureBuilt()) {
  say(`adversary campaign: ${rounds} scenarios`);
  process.exitCode = run(
    "vitest",
    ["run", "test/adversary", "test/approval", "--testTimeout=0", "--typecheck.enabled=false", ...args],
    {
      env: {
        OPENRATH_ADVERSARY_ROUNDS: rounds,
        OPENRATH_MUTATIONS: `${rounds}0`,
        OPENRATH_AGREEMENTS: rounds,
      },
    },
  );
} else {
  process.exitCode = 1;
}
