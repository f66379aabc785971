import { type Tool, type ToolContext, tool } from "../../agent/tool/index.js";
import type { Json } from "../../session/index.js";
import type { MemorySpace } from "../memory.js";
import { scopeText } from "../scope.js";
import type { Space } from "../space.js";
import { type Block, BlockError } from "./block.js";
import { type Edited, editBlock, undoEdit } from "./core.js";

/** The tools by which a model edits the blocks that are always before it. */
export function coreTools(space: MemorySpace, blocks: readonly Block[]): readonly Tool[] {
  const core = { blocks, scope: scopeText(space.scope) };
  const labels = blocks.filter(({ readOnly }) => !readOnly).map((block) => block.label);
  const label = { type: "string", description: `The block: ${labels.join(", ")}.` };
  /** A tool that edits a block. Edits of one reply run one after the other: each starts from the result of the one before. */
  function edits<Input extends { readonly label: string }>(
    name: string,
    description: string,
    properties: { readonly [field: string]: Json },
    edit: (opened: Space, input: Input, context: ToolContext) => Promise<Edited>,
  ): Tool {
    const all = { label, ...properties };
    return tool({
      name,
      description,
      input: { type: "object", properties: all, required: Object.keys(all), additionalProperties: false },
      effect: "idempotent",
      reversible: true,
      conflicts: [`memory ${space.name}`],
      run: async (input, context) =>
        edit(space.open(await context.store()), input as Input, context) as Promise<Json>,
    }) as Tool;
  }
  return [
    edits<Addition>(
      "core_memory_append",
      "Adds a line to a block of core memory, which is always in view.",
      { content: { type: "string", description: "What to add." } },
      (opened, { label: of, content }, context) =>
        editBlock(opened, core, of, context, {
          change: (value) => {
            if (content.trim() === "")
              throw new BlockError("text", of, "there is nothing to add", "Say what to add.");
            return value === "" ? content : `${value}\n${content}`;
          },
          why: "the model added to it",
        }),
    ),
    edits<Replacement>(
      "core_memory_replace",
      "Puts other words in the place of words in a block of core memory. The old words must stand in it exactly once; with empty new words they are taken out.",
      {
        old_content: { type: "string", description: "Words of the block, exactly." },
        new_content: { type: "string", description: "What to put there." },
      },
      (opened, asked, context) =>
        editBlock(opened, core, asked.label, context, {
          change: (value) => replaced(value, asked),
          why: "the model replaced words in it",
        }),
    ),
    edits<{ readonly label: string }>(
      "core_memory_undo",
      "Takes the last edit of a block of core memory back. Again: the one before it.",
      {},
      (opened, input, context) => undoEdit(opened, core, input.label, context),
    ),
  ];
}

type Addition = { readonly label: string; readonly content: string };
type Replacement = { readonly label: string; readonly old_content: string; readonly new_content: string };

function replaced(value: string, { label, old_content: old, new_content: fresh }: Replacement): string {
  const refuse = (reason: string, hint: string) => new BlockError("text", label, reason, hint);
  if (old === "") throw refuse("it does not say which words", "Copy the old words exactly.");
  const first = value.indexOf(old);
  if (first < 0) throw refuse("the old words do not stand in it", "Copy them exactly as they stand in it.");
  if (value.indexOf(old, first + 1) >= 0)
    throw refuse("the old words stand in it more than once", "Copy more of what is around them.");
  return value.slice(0, first) + fresh + value.slice(first + old.length);
}
