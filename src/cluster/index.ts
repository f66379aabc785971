export { type Board, board, versions } from "./board.js";
export { cancel, drain, move, pause, unpause } from "./control.js";
export { type Worker, worker } from "./worker.js";
