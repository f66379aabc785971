export { openHands } from "./read.js";
