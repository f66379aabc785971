export { claudeCode } from "./read.js";
