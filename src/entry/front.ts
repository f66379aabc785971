export { type A2aOptions, a2a } from "../connect/front/a2a/a2a.js";
export { type AguiOptions, agui } from "../connect/front/agui/agui.js";
export { type FrontContext, frontContext, frontTools } from "../connect/front/agui/front-tool.js";
export { appState, type StateToolOptions, stateTool } from "../connect/front/agui/state.js";
export { type ApprovalsOptions, type AwaitedAnswer, approvals } from "../connect/front/approvals.js";
export { FrontError, type Handler } from "../connect/front/door.js";
export { nodeListener, type Served, type ServeOptions, serve } from "../connect/front/serve.js";
