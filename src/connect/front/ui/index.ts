export { approvals } from "../approvals.js";
export type { Handler } from "../door.js";
export { serve } from "../serve.js";
export type { UiMessage, UiVersion } from "./chunk.js";
export type { UiOptions } from "./options.js";
export { uiStream } from "./ui.js";
