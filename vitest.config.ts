import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { sourcesByName } from "./scripts/exports.mjs";

const { version } = JSON.parse(readFileSync(new URL("./package.json", import.meta.url), "utf8"));

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
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    setupFiles: ["test/setup.ts"],
    pool: "forks",
    // One for each core: by default one core is left idle, which on two of them is half.
    maxWorkers: "100%",
    // Crash and property tests start processes and sync to disk; slow machines need the room.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    typecheck: {
      enabled: true,
      include: ["src/**/*.test-d.ts"],
      tsconfig: "./tsconfig.json",
      // Errors in sources are reported once, by `npm run typecheck`.
      ignoreSourceErrors: true,
    },
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      exclude: ["src/**/*.test.ts", "src/**/*.test-d.ts", "src/**/testing/**"],
    },
  },
});
