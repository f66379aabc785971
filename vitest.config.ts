import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
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

// A file that replaces modules, clocks or parts of the process gets a process of its own. All others share one for each
// core, so that the sources are loaded once and not three hundred times.
const CHANGES_THE_PROCESS =
  /\bvi\.(mock|doMock|useFakeTimers|stubEnv|stubGlobal)\b|\bvi\.spyOn\((process|globalThis|console)\b|\bprocess\.(chdir|on|once|umask)\(|\bprocess\.env\.\w+ = |defineProperty\((process|globalThis)\b/;
const alone = tests.filter((path) => CHANGES_THE_PROCESS.test(textOf(path)));

/** Files that start processes or try many cases take longest and come first: the end waits for one short file only. */
class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const weights = new Map(specifications.map((one) => [one, weightOf(readFileSync(one.moduleId, "utf8"))]));
    return specifications.toSorted((a, b) => (weights.get(b) ?? 0) - (weights.get(a) ?? 0));
  }
}

function weightOf(text: string): number {
  const isSlow = /child_process|\bcampaign\(|testing\/(crash|child)|\bcommandIn\(|\bBench\b|\bbenchOf\(/.test(
    text,
  );
  return text.length + (isSlow ? 1_000_000 : 0);
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
    // More than there are cores: many tests wait for disks, timers and other processes.
    maxWorkers: "150%",
    // This ends a test that hangs. It says nothing of how long a test may take: a busy machine needs the room.
    testTimeout: 300_000,
    hookTimeout: 300_000,
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
