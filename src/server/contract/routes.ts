import { acting } from "./acting.js";
import { reading } from "./reading.js";

/** Every operation of the server, once: requests are checked by it, and OpenAPI and the client are made of it. */
export const routes = { ...reading, ...acting };

export type Routes = typeof routes;
