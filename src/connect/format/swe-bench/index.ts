export { sweBenchExport } from "./write.js";
