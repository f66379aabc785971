export { BackendError, type BackendFault } from "../../memory/index.js";
export { vikingAddress } from "./address.js";

export type { VikingOptions } from "./http.js";

export { viking } from "./viking.js";
