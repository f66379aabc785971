export { sweAgent } from "./read.js";
export { sweAgentExport } from "./write.js";
