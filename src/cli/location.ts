/** Files of the command that are started or loaded by their address. This file keeps its place in dist, so that they are found. */
export const COMMAND: URL = new URL("./rath.js", import.meta.url);
export const HOOKS: URL = new URL("./own-copy-hooks.js", import.meta.url);
export const DEMO_PROGRAM: URL = new URL("./demo/program.js", import.meta.url);
export const DEMO_AGAIN: URL = new URL("./demo/again.js", import.meta.url);
