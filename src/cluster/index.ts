export { type Board, board, versions } from "./board.js";
export { cancel, drain, move, pause, release, unpause } from "./control.js";
export type { Engine } from "./engine.js";
export { fanOut, gather } from "./fan.js";
export { type Worker, worker } from "./worker.js";
