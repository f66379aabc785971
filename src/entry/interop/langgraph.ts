export { PeerMissingError } from "../../connect/langgraph/error.js";
export { type RathSaver, type RathSaverOptions, rathSaver } from "../../connect/langgraph/saver.js";
