export { sendSpans } from "./send.js";
