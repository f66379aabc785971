export { catalogue } from "./catalogue.js";
