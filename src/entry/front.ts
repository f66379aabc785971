export { type A2aOptions, a2a } from "../connect/front/a2a.js";
export { type AguiOptions, agui } from "../connect/front/agui.js";
export { FrontError } from "../connect/front/error.js";
export type { Handler } from "../connect/front/request.js";
