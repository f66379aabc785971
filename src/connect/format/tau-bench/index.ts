export { tauBench } from "./read.js";
