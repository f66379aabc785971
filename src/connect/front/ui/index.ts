export type { Handler } from "../door.js";
export { serve } from "../serve.js";
export { type UiApprovalsOptions, type UiAwaited, uiApprovals } from "./approvals.js";
export type { UiMessage, UiPart, UiVersion } from "./chunk.js";
export type { UiOptions } from "./options.js";
export { uiStream } from "./ui.js";
