export * from "../pattern/reason/index.js";
export * from "../pattern/team/index.js";
