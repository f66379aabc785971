export { type TierOptions, type Tiers, tieredMemory, withTiers } from "./tiers.js";
