export { BUNDLE_FORMAT, BundleError, type Seal } from "./form.js";
export { type Bundle, bundleLines, readBundle } from "./read.js";
export { type BundleOptions, writeBundle } from "./write.js";
