export {
  type ConformanceCase,
  ConformanceError,
  type ConformanceOptions,
  type ConformanceReport,
  UnknownCaseError,
} from "./runner.js";
export {
  runSandboxConformance,
  type SandboxCase,
  type SandboxPlace,
  sandboxConformance,
} from "./sandbox/index.js";
export {
  type MadeStore,
  type MakeStore,
  runStoreConformance,
  type StoreCase,
  storeConformance,
} from "./store/index.js";
