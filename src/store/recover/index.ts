export { importFolder } from "./recover.js";
