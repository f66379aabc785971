import type { Module } from "../../../runtime/index.js";
import { agent } from "../../index.js";
import { scripted } from "../../model/index.js";
import { tool } from "../../tool/index.js";
import { compress, dropOutputs, type Policy, summarise } from "../index.js";

/**
 * The programs of the runs in old.jsonl, which version 0.1.0 recorded: there a summariser was shown what was in view, an
 * answer in plain text was not a summary, and pins were never released.
 */
export function oldPrograms(): { readonly [name: string]: Module } {
  const look = tool({
    name: "look",
    description: "Looks at a page.",
    input: { type: "object", properties: { page: { type: "number" } } },
    effect: "read",
    run: ({ page }) => `page ${page}: ${"words ".repeat(40)}`,
  });
  const reader = (name: string, policies: readonly [Policy, ...Policy[]]): Module =>
    agent({
      name,
      model: scripted((_prompt, turn) =>
        turn < 16 ? { call: [{ tool: "look", input: { page: turn } }] } : "That was all.",
      ),
      tools: [look],
      compress: compress({ budget: 800, policies }),
    });
  const answering = (answer: string): Policy =>
    summarise({ model: scripted(() => answer), least: 64, name: "small" });
  return {
    summed: reader("summed", [dropOutputs(), answering('{ "summary": "Pages were read.", "claims": [] }')]),
    plain: reader("plain", [dropOutputs(), answering("Pages were read.")]),
    pinned: reader("pinned", [dropOutputs()]),
  };
}
