export { reflexion } from "./read.js";
