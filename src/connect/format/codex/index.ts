export { codex } from "./read.js";
