export { vikingAddress } from "../../connect/viking/address.js";
export { VikingClient } from "../../connect/viking/client.js";
export type { VikingOptions } from "../../connect/viking/http.js";
export type { VikingSessions, VikingSnapshots } from "../../connect/viking/sessions.js";

export { type VikingBackend, viking } from "../../connect/viking/viking.js";
