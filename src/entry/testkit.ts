export {
  type ConformanceCase,
  ConformanceError,
  type ConformanceReport,
  type MakeStore,
  runSandboxConformance,
  runStoreConformance,
  type SandboxCase,
  type StoreCase,
  sandboxConformance,
  storeConformance,
} from "../testkit/index.js";
