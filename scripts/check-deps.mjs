// @ts-check
// Enforces the list in .dependency-cruiser.cjs, and does not believe a silent "no violations": dependency-cruiser
// reports success as well when it could not read a single file (no compiler, a wrong folder, a parser that gave up).
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { capture, root } from "./run.mjs";

const folders = ["src", "test", "bench", "examples", "studio/src"].filter((folder) =>
  existsSync(join(root, folder)),
);
const { output } = capture("depcruise", [
  "--config",
  ".dependency-cruiser.cjs",
  "--output-type",
  "json",
  ...folders,
]);

/**
 * The part of dependency-cruiser's answer that is read here.
 * @typedef {{ name: string }} Rule
 * @typedef {{ from: string, to: string, rule: Rule, comment?: string, cycle?: { name: string }[] }} Violation
 * @typedef {{ source: string, dependencies: { resolved: string }[] }} Module
 */
const report =
  /** @type {{ modules: Module[], summary: { violations: Violation[], ruleSetUsed: { forbidden: (Rule & { comment: string })[] } } }} */ (
    JSON.parse(output)
  );

const problems = [...unseen(report.modules), ...report.summary.violations.map(describe)];
const own = report.modules.filter((module) =>
  folders.some((folder) => module.source.startsWith(`${folder}/`)),
);
const count = own.reduce((sum, module) => sum + module.dependencies.length, 0);
if (count === 0)
  problems.push("dependency-cruiser found no dependency at all: it did not parse the sources.");

if (problems.length > 0) {
  process.stderr.write(`${problems.join("\n")}\n\n${problems.length} dependency problem(s)\n`);
  process.exitCode = 1;
} else {
  process.stdout.write(`dependencies follow the table: ${own.length} files, ${count} imports\n`);
}

/** Files that the tool did not report, or in which it found no import although there is one. */
function unseen(/** @type {Module[]} */ modules) {
  const seen = new Map(modules.map((module) => [module.source, module.dependencies.length]));
  return sources("src").flatMap((path) => {
    const found = seen.get(path);
    if (found === undefined) return [`${path}: dependency-cruiser did not see this file.`];
    const hasImport = /^(import|export)\b[^;]*\bfrom "/m.test(readFileSync(join(root, path), "utf8"));
    return found === 0 && hasImport
      ? [`${path}: dependency-cruiser did not see the imports of this file.`]
      : [];
  });
}

function sources(/** @type {string} */ folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[cm]?tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"));
}

function describe(/** @type {Violation} */ { from, to, rule, cycle }) {
  const path = cycle === undefined ? to : cycle.map((step) => step.name).join(" -> ");
  const reason = report.summary.ruleSetUsed.forbidden.find(({ name }) => name === rule.name)?.comment ?? "";
  return `${from} -> ${path}\n    ${rule.name}: ${reason}`;
}
