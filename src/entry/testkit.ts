export { ConformanceError, type ConformanceReport } from "../testkit/runner.js";
export { runSandboxConformance, sandboxConformance } from "../testkit/sandbox/index.js";
export { runStoreConformance, storeConformance } from "../testkit/store/index.js";
