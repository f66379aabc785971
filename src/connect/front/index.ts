export { type A2aOptions, a2a } from "./a2a.js";
export type { A2aCard } from "./a2a-card.js";
export { type AguiOptions, agui } from "./agui.js";
export { FrontError } from "./error.js";
export type { DoorOptions, Handler } from "./request.js";
