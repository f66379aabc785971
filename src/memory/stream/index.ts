export type { MemoryStreamOptions } from "./options.js";

export { type MemoryStream, memoryStream } from "./stream.js";
