export { PeerMissingError } from "../../connect/langgraph/error.js";
export { type RathSaver, rathSaver } from "../../connect/langgraph/saver.js";
