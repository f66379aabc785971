export { type Board, board, versions } from "./board.js";
export { cancel, drain, pause, unpause } from "./control.js";
export type { Engine } from "./engine.js";
export { type Worker, worker } from "./worker.js";
