export type { Command } from "./command.js";
export { type FileFault, MemoryFileError } from "./error.js";
export { type MemoryFilesOptions, memoryFiles } from "./files.js";
