export { CONVENTIONS_COMMIT } from "./conventions.js";
export { SpanOptionError, SpansError } from "./error.js";
export { otelImport } from "./read.js";
export { type SendOptions, type SentSpans, sendSpans } from "./send.js";
export { otelExport } from "./write.js";
