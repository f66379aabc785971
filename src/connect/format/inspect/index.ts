export { inspect } from "./read.js";
export { inspectEvalExport, inspectExport } from "./write.js";
