export { importFolder, recover } from "./recover.js";
