export { atof } from "./atof.js";
export { atif } from "./read.js";
export { type Breach, breachesOf } from "./rules.js";
export { atifExport } from "./write.js";
