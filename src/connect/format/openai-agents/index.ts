export { openaiAgents } from "./read.js";
