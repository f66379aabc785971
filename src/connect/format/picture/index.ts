export { dot, mermaid } from "./write.js";
