// @ts-check
// `npm run example -- <name>` runs examples/<name>.mjs against the built package.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt } from "./build.mjs";
import { root, run, say } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";
import { ensureSystem } from "./system.mjs";

const [name, ...args] = process.argv.slice(2);
const examples = readdirSync(join(root, "examples"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".mjs") && !/^(demo|fixtures)\b/.test(file))
  .map((file) => file.slice(0, -".mjs".length).replaceAll("\\", "/"))
  .sort();

if (name === undefined || !existsSync(join(root, "examples", `${name}.mjs`))) {
  say(name === undefined ? "which example?" : `there is no example called "${name}".`);
  say(`npm run example -- <name>, where <name> is one of: ${examples.join(", ")}`);
  process.exitCode = 2;
} else if (ensureInstalled() && ensureBuilt()) {
  // Only some examples need it; what is missing is said, and they say so as well.
  if (readFileSync(join(root, "examples", `${name}.mjs`), "utf8").includes('.to("local"'))
    ensureSystem(["bubblewrap"]);
  process.exitCode = run(process.execPath, [join("examples", `${name}.mjs`), ...args]);
} else {
  process.exitCode = 1;
}
