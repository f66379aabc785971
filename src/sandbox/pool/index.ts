export { gated } from "../gated-files.js";
export { joinFiles, type SandboxLease, SandboxPool, staysOpen } from "./pool.js";
export type { ProviderSource } from "./providers.js";
