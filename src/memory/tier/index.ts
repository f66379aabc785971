export { type TierOptions, type Tiers, tieredMemory } from "./tiers.js";
export { withTiers } from "./with-tiers.js";
