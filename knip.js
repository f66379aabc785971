// @ts-check
// Finds files, exports and dependencies that nothing uses.
import { sourcesByName } from "./scripts/exports.mjs";

/** @type {import("knip").KnipConfig} */
export default {
  entry: [
    ...Object.values(sourcesByName()),
    "src/cli/rath.ts",
    // Started as processes of their own, by the name of a function.
    "src/connect/langgraph/testing/killed.ts",
    "src/**/*.test-d.ts",
    "{bench,examples,scripts,test}/**/*.{mjs,ts}",
  ],
  project: ["src/**/*.ts", "{bench,examples,scripts,test}/**/*.{mjs,ts}"],
  // Projects that are created import openrath, which is theirs to install.
  ignoreWorkspaces: ["packages/create-openrath"],
  // A type that is part of an exported signature is exported for the reader, used elsewhere or not.
  ignoreExportsUsedInFile: true,
  // Started as programs by the scripts; and the benchmarks' peers, which have package files of their own.
  // Programs of the operating system, which no package brings.
  ignoreBinaries: [
    "bwrap",
    "dockerd",
    "ldd",
    "mkfifo",
    "mount",
    "pg_config",
    "setpriv",
    "strace",
    "umount",
    "unshare",
  ],
  ignoreDependencies: [
    "@arethetypeswrong/cli",
    "dependency-cruiser",
    "publint",
    /^@langchain\//,
    // Peers of tests: asked for by name, or started as programs.
    /^@ag-ui\//,
    "@a2a-js/sdk",
    "@openai/agents",
    "@seriousme/openapi-schema-validator",
    "otlp-receiver",
    // Of the packages of the engines.
    "@temporalio/workflow",
    // Imported by a name that is put together: it has no types.
    "pg",
  ],
};
