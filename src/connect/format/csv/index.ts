export { csv } from "./write.js";
