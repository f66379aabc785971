import { agent } from "../../../agent/index.js";
import { type PromptMessage, type ScriptedReply, scripted } from "../../../agent/model/index.js";
import type { Module } from "../../../runtime/index.js";
import { type MemorySpace, memory } from "../../memory.js";
import { hashingEmbedder } from "../../search/testing/embedder.js";
import { type TierOptions, type Tiers, tieredMemory, withTiers } from "../tiers.js";

export function notesOf(options: Partial<Parameters<typeof memory>[0]> = {}): MemorySpace {
  return memory({ name: "notes", scope: "user:ada", embedding: hashingEmbedder(), ...options });
}

export function tiersOf(options: Partial<TierOptions> = {}): Tiers {
  return tieredMemory({
    memory: notesOf(),
    blocks: [
      { label: "human", description: "What is known about the user.", limit: 200 },
      { label: "persona", value: "You are brief.", readOnly: true },
    ],
    ...options,
  });
}

/** An agent with the tools of the tiers, that follows a script. */
export function helperOf(tiers: Tiers, ...script: readonly ScriptedReply[]): Module {
  return withTiers(
    "helper",
    agent({ name: "helper", model: scripted(...script), tools: [...tiers.tools] }),
    tiers,
  );
}

/** All that a model was told, as one text. */
export function toldIn(prompt: readonly PromptMessage[]): string {
  return prompt
    .map(({ content }) =>
      typeof content === "string"
        ? content
        : content.map((part) => ("text" in part ? part.text : JSON.stringify(part))).join("\n"),
    )
    .join("\n\n");
}
