export type { Block, BlockOptions } from "./block.js";
export type { Conversations } from "./conversation.js";
export type { CoreState, Edited, Held } from "./core.js";
export { BlockError, type BlockFault } from "./error.js";
export { type TierOptions, type Tiers, tieredMemory } from "./tiers.js";
export { withTiers } from "./with-tiers.js";
