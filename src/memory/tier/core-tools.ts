import { type Tool, tool } from "../../agent/tool/index.js";
import type { MemorySpace } from "../memory.js";
import { scopeText } from "../scope.js";
import type { Block } from "./block.js";
import { BlockError } from "./block.js";
import { editBlock, undoEdit } from "./core.js";

/** The tools by which a model edits the blocks that are always before it. */
export function coreTools(space: MemorySpace, blocks: readonly Block[]): readonly Tool[] {
  const core = { blocks, scope: scopeText(space.scope) };
  const label = {
    type: "string",
    description: `The block: ${blocks
      .filter(({ readOnly }) => !readOnly)
      .map((block) => block.label)
      .join(", ")}.`,
  } as const;
  // Edits of one reply come one after the other: each is made of what the one before has left.
  const conflicts = [`memory ${space.name}`];
  const append = tool({
    name: "core_memory_append",
    description: "Adds a line to a block of core memory, which is always in view.",
    input: {
      type: "object",
      properties: { label, content: { type: "string", description: "What to add." } },
      required: ["label", "content"],
      additionalProperties: false,
    } as const,
    effect: "idempotent",
    reversible: true,
    conflicts,
    run: async (input, context) => {
      const { label: of, content } = input as { readonly label: string; readonly content: string };
      const opened = space.open(await context.store());
      const edited = await editBlock(opened, core, of, context, {
        change: (value) => {
          if (content.trim() === "")
            throw new BlockError("text", of, "there is nothing to add", "Say what to add.");
          return value === "" ? content : `${value}\n${content}`;
        },
        why: "the model added to it",
      });
      return edited;
    },
  });
  const replace = tool({
    name: "core_memory_replace",
    description:
      "Puts other words in the place of words in a block of core memory. The old words must stand in it exactly once; with empty new words they are taken out.",
    input: {
      type: "object",
      properties: {
        label,
        old_content: { type: "string", description: "Words of the block, exactly." },
        new_content: { type: "string", description: "What to put there." },
      },
      required: ["label", "old_content", "new_content"],
      additionalProperties: false,
    } as const,
    effect: "idempotent",
    reversible: true,
    conflicts,
    run: async (input, context) => {
      const asked = input as Replacement;
      const opened = space.open(await context.store());
      const edited = await editBlock(opened, core, asked.label, context, {
        change: (value) => replaced(value, asked),
        why: "the model replaced words in it",
      });
      return edited;
    },
  });
  const undo = tool({
    name: "core_memory_undo",
    description: "Takes the last edit of a block of core memory back. Again: the one before it.",
    input: {
      type: "object",
      properties: { label },
      required: ["label"],
      additionalProperties: false,
    } as const,
    effect: "idempotent",
    reversible: true,
    conflicts,
    run: async (input, context) => {
      const opened = space.open(await context.store());
      return await undoEdit(opened, core, String(input.label), context);
    },
  });
  return [append as Tool, replace as Tool, undo as Tool];
}

type Replacement = { readonly label: string; readonly old_content: string; readonly new_content: string };

function replaced(value: string, { label, old_content: old, new_content: fresh }: Replacement): string {
  if (old === "")
    throw new BlockError("text", label, "it does not say which words", "Copy the old words exactly.");
  const first = value.indexOf(old);
  if (first < 0)
    throw new BlockError(
      "text",
      label,
      "the old words do not stand in it",
      "Copy them exactly as they stand in it.",
    );
  if (value.indexOf(old, first + 1) >= 0)
    throw new BlockError(
      "text",
      label,
      "the old words stand in it more than once",
      "Copy more of what is around them.",
    );
  return value.slice(0, first) + fresh + value.slice(first + old.length);
}
