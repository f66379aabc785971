// @ts-check
// `npm start [-- arguments]`: from a fresh clone to a running demonstration, installing and building what is missing.
import { ensureBuilt } from "./build.mjs";
import { run } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";

const ready = ensureInstalled() && ensureBuilt();
process.exitCode = ready ? run(process.execPath, ["dist/cli/rath.js", "demo", ...process.argv.slice(2)]) : 1;
