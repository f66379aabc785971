export {
  type ConformanceCase,
  ConformanceError,
  type ConformanceReport,
} from "./runner.js";
export {
  runSandboxConformance,
  type SandboxCase,
  sandboxConformance,
} from "./sandbox/index.js";
export {
  type MakeStore,
  runStoreConformance,
  type StoreCase,
  storeConformance,
} from "./store/index.js";
