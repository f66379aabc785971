export { hfTraceExport } from "./write.js";
