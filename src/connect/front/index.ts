export { a2a } from "./a2a/a2a.js";
export type { A2aCard } from "./a2a/card.js";
export { agui } from "./agui/agui.js";
export { frontContext, frontTools } from "./agui/front-tool.js";
export { appState, stateTool } from "./agui/state.js";
export { approvals } from "./approvals.js";
export { FrontError, type Handler, jsonOf, RequestError } from "./door.js";
export { type ServeOptions, serve } from "./serve.js";
