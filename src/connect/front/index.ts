export { a2a } from "./a2a.js";
export type { A2aCard } from "./a2a-card.js";
export { agui } from "./agui.js";
export { FrontError } from "./error.js";
export type { Handler } from "./request.js";
