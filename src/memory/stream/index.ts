export type { Somebody } from "./asking.js";
export type { StreamKind } from "./kind.js";
export type { MemoryStreamOptions, Rating, StreamRecallOptions } from "./options.js";
export { PROFILES, type Profile, type ProfileName, type Weights } from "./profile.js";
export type { AboutQuestion, AboutStatements, Reflected, ReflectionOptions } from "./reflecting.js";
export { type MemoryStream, memoryStream, type Observation } from "./stream.js";
