export * from "./reason/index.js";
export * from "./team/index.js";
