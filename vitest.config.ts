import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type TestProjectConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { sourcesByName } from "./scripts/exports.mjs";

const { version } = JSON.parse(readFileSync(new URL("./package.json", import.meta.url), "utf8"));
const root = fileURLToPath(new URL(".", import.meta.url));
const tests = ["src", "test"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".test.ts"))
    .map((path) => `${folder}/${path.replaceAll("\\", "/")}`),
);
const textOf = (path: string): string => readFileSync(join(root, path), "utf8");

// A file that replaces modules, clocks or what cannot be put back gets a process of its own. All others share one for
// each core, so that the sources are loaded once and not three hundred times; test/setup.ts refuses one that leaves the
// process changed.
const CHANGES_THE_PROCESS =
  /\bvi\.(mock|doMock|useFakeTimers|stubGlobal)\b|\bvi\.spyOn\((globalThis|console)\b|\bprocess\.once\("warning"|\bdefineProperty\((process|globalThis)\b/;
const alone = tests.filter((path) => CHANGES_THE_PROCESS.test(textOf(path)));

/** The files that took longest in a run of all of them, the longest first, however short their text is. */
const LONGEST = [
  "src/store/conformance.test.ts",
  "src/store/postgres/conformance.test.ts",
  "src/testkit/sandbox/conformance.test.ts",
  "src/session/scale.test.ts",
  "src/store/postgres/server.test.ts",
  "test/engines/restate.test.ts",
  "test/engines/dbos.test.ts",
  "src/cluster/crash.test.ts",
  "src/store/scale.test.ts",
  "test/studio/views.test.ts",
  "src/sandbox/virtual/virtual.test.ts",
  "test/adversary/evil.test.ts",
  "test/studio/trouble.test.ts",
  "src/connect/mcp/evil.test.ts",
  "test/sandbox/escape/escape.test.ts",
  "test/mcp/conformance.test.ts",
  "src/sandbox/local/limits.test.ts",
  "src/connect/langgraph/fork.test.ts",
  "src/agent/compress/long.test.ts",
  "src/runtime/crash.test.ts",
  "src/sandbox/workspace/git-import.test.ts",
  "test/interop/corpus.test.ts",
  "src/agent/tool/sandbox/tools.test.ts",
  "src/store/memory/facts.test.ts",
  "test/memory/reflexion.test.ts",
  "test/react/react.test.ts",
  "src/store/process.test.ts",
];

/**
 * The longest come first, then files that start processes or try many cases: the end waits for one short file only. Files
 * with a process of their own come before all others, because a shared process ends where one of them is next.
 */
class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const weights = new Map(specifications.map((one) => [one, weightOf(one)]));
    return specifications.toSorted((a, b) => (weights.get(b) ?? 0) - (weights.get(a) ?? 0));
  }
}

function weightOf({ moduleId, project }: TestSpecification): number {
  const text = readFileSync(moduleId, "utf8");
  const isSlow = /child_process|\bcampaign\(|testing\/(crash|child)|\bcommandIn\(|\bBench\b|\bbenchOf\(/.test(
    text,
  );
  const place = LONGEST.indexOf(relative(root, moduleId).replaceAll("\\", "/"));
  const known = place < 0 ? 0 : (LONGEST.length - place) * 1_000_000;
  return text.length + known + (isSlow ? 1_000_000 : 0) + (project.name === "alone" ? 100_000_000 : 0);
}

const types: TestProjectConfiguration = {
  extends: true,
  test: {
    name: "types",
    include: [],
    typecheck: {
      enabled: true,
      include: ["src/**/*.test-d.ts"],
      tsconfig: "./tsconfig.json",
      ignoreSourceErrors: true,
    },
  },
};

export default defineConfig({
  // As the build does it.
  define: { OPENRATH_VERSION: JSON.stringify(version) },
  // Tests import the package by name and get its sources, for exactly the names that package.json exports.
  resolve: {
    alias: Object.entries(sourcesByName()).map(([name, source]) => ({
      find: new RegExp(`^${name}$`),
      replacement: fileURLToPath(new URL(source, import.meta.url)),
    })),
  },
  test: {
    setupFiles: ["test/setup.ts"],
    pool: "forks",
    // One more than there are cores: many tests wait for disks, timers and other processes. Percentages end at 100.
    maxWorkers: availableParallelism() + 1,
    // This ends a test that hangs. It says nothing of how long a test may take: a busy machine needs the room.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Tests of real servers and killed processes are young: one accident of time must not hold a landing up. It shows in the log.
    retry: process.env.CI === "true" ? 1 : 0,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: "shared",
          include: ["src/**/*.test.ts", "test/**/*.test.ts"],
          exclude: alone,
          isolate: false,
        },
      },
      { extends: true, test: { name: "alone", include: alone } },
      // `tsc` checks these files too, in the same pass as everything else; this says which promise is broken.
      ...(process.argv.includes("--typecheck.enabled=false") ? [] : [types]),
    ],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      exclude: ["src/**/*.test.ts", "src/**/*.test-d.ts", "src/**/testing/**"],
    },
  },
});
