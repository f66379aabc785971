export {
  type ConformanceCase,
  ConformanceError,
  type ConformanceOptions,
  type ConformanceReport,
  conformance,
  type Place,
  runConformance,
  UnknownCaseError,
} from "../../testkit/sandbox/index.js";
