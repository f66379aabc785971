export { type VikingBackend, viking } from "../../connect/viking/viking.js";
