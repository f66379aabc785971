export { a2a } from "../connect/front/a2a/a2a.js";
export { agui } from "../connect/front/agui/agui.js";
export { frontContext, frontTools } from "../connect/front/agui/front-tool.js";
export { appState, stateTool } from "../connect/front/agui/state.js";
export { approvals } from "../connect/front/approvals.js";
export { FrontError, type Handler } from "../connect/front/door.js";
export { nodeListener, serve } from "../connect/front/serve.js";
