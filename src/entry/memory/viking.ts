export { vikingAddress } from "../../connect/viking/address.js";
export { VikingClient } from "../../connect/viking/client.js";
export type { VikingOptions } from "../../connect/viking/options.js";
export type { VikingSessions } from "../../connect/viking/sessions.js";
export type { VikingSnapshots } from "../../connect/viking/snapshots.js";
export { type VikingBackend, viking } from "../../connect/viking/viking.js";
