/** Files of the command that are started or loaded by their address. This file keeps its place in dist, so that they are found. */
export const COMMAND: URL = new URL("./rath.js", import.meta.url);
export const HOOKS: URL = new URL("./own-copy-hooks.js", import.meta.url);
/** An example that is part of the package: it is as far from src as from dist. */
export const DEMO: URL = new URL("../../examples/demo/demo.mjs", import.meta.url);
/** The page of the studio in the package, and the script of a checkout that builds it. */
export const STUDIO: URL = new URL("../studio/", import.meta.url);
export const STUDIO_BUILD: URL = new URL("../../scripts/studio.mjs", import.meta.url);
