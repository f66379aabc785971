export { agentTraceExport } from "./write.js";
