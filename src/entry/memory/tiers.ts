// Ways of remembering that people know, each a small module on a memory space: core, recall and archival memory that a model
// pages itself (MemGPT), lessons from failures (Reflexion), a scored stream with reflections (Generative Agents), files (the
// memory tool of Anthropic's models), and the care of a space: merging and forgetting.

export * from "../../memory/care/index.js";
export * from "../../memory/files/index.js";
export * from "../../memory/reflexion/index.js";
export * from "../../memory/stream/index.js";
export * from "../../memory/tier/index.js";
