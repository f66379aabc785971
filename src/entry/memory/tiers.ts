export { consolidate, consolidating } from "../../memory/care/consolidate.js";
export { forget, forgetting } from "../../memory/care/forget.js";
export { memoryFiles } from "../../memory/files/files.js";
export { importTrials, type RecordedTrial } from "../../memory/reflexion/import.js";
export { reflexion as reflexionMemory } from "../../memory/reflexion/reflexion.js";
export type { StreamRecallOptions } from "../../memory/stream/options.js";
export { type MemoryStream, memoryStream } from "../../memory/stream/stream.js";
export { type Tiers, tieredMemory, withTiers } from "../../memory/tier/tiers.js";
