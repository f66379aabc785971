export { react } from "./read.js";
