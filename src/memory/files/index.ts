export { memoryFiles } from "./files.js";
