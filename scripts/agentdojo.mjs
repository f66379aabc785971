// @ts-check
// `npm run agentdojo [-- cases.json]`: the recorded tasks of AgentDojo with a model that obeys everything and the rules that
// docs/control.md recommends, on the real runtime. Without a file of your own, all of ../shared/data/agentdojo is played and the
// table is written to docs/control.md.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { root, run, say } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";

const [given] = process.argv.slice(2);
const file =
  given === undefined ? join(root, "..", "shared", "data", "agentdojo", "cases.json") : resolve(given);

if (!existsSync(file)) {
  say(
    `${given ?? "../shared/data/agentdojo/cases.json"} does not exist. Try: npm run agentdojo -- cases.json`,
  );
  process.exitCode = 2;
} else if (ensureInstalled()) {
  process.exitCode = run(
    "vitest",
    ["run", "test/adversary/agentdojo.test.ts", "--testTimeout=0", "--typecheck.enabled=false"],
    {
      env: {
        OPENRATH_AGENTDOJO: file,
        OPENRATH_AGENTDOJO_EVERY: "1",
        ...(given === undefined && { OPENRATH_AGENTDOJO_PAGE: join(root, "docs", "control.md") }),
      },
    },
  );
} else {
  process.exitCode = 1;
}
