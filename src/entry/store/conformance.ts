export {
  type ConformanceCase,
  ConformanceError,
  type ConformanceOptions,
  type ConformanceReport,
  conformance,
  type MadeStore,
  type MakeStore,
  runConformance,
} from "../../testkit/store/index.js";
