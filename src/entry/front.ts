export { type A2aOptions, a2a } from "../connect/front/a2a/a2a.js";
export { type AguiOptions, agui } from "../connect/front/agui/agui.js";
export { FrontError, type Handler } from "../connect/front/door.js";
export { nodeListener, type Served, type ServeOptions, serve } from "../connect/front/serve.js";
