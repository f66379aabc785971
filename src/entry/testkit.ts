export * from "../testkit/index.js";
