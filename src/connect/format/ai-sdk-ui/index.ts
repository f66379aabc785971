export { aiSdkUi } from "./read.js";
