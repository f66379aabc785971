import { type Json, RathError } from "../../session/index.js";
import { nearestOf, optionNames, showValue } from "../../util/index.js";
import { type Refuse, requireCount, requireOptions } from "../../workflow/index.js";
import { LONGEST } from "../operation.js";

/** A part of core memory: a text that is always before the model, and that it edits itself. */
export type BlockOptions = {
  /** The name of the block for the model: "human", "persona", "task". */
  readonly label: string;
  /** Its first text; the text of a read-only block. */
  readonly value?: string;
  /** Characters at most. Default 2,000. */
  readonly limit?: number;
  /** Its purpose, for the model. */
  readonly description?: string;
  /** Whether only the program says what is in it. */
  readonly readOnly?: boolean;
};

export type Block = Required<Pick<BlockOptions, "label" | "value" | "limit" | "readOnly">> &
  Pick<BlockOptions, "description">;

/** The subjects of blocks begin with this. */
export const CORE = "core/";
/** All blocks stand in every prompt, so their number is limited. */
const MOST_BLOCKS = 32;
const MOST_CHARACTERS = 100_000;
const LIMIT = 2_000;
const LABEL = /^[\p{L}\p{N}][\p{L}\p{N}_-]{0,63}$/u;
const LONGEST_DESCRIPTION = 1_000;
const EXAMPLE = '{ label: "human", description: "What is known about the user.", limit: 2_000 }';

const KNOWN = optionNames<BlockOptions>()("label value limit description readOnly");

export function blocksOf(given: unknown, refuse: Refuse): readonly Block[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > MOST_BLOCKS)
    throw refuse(
      `its \`blocks\` are ${Array.isArray(given) ? `${given.length} of them` : showValue(given)}`,
      `from 1 to ${MOST_BLOCKS}: blocks: [${EXAMPLE}]`,
    );
  const blocks = given.map((one) => blockOf(one as BlockOptions, refuse));
  const labels = new Set<string>();
  for (const { label } of blocks) {
    if (labels.has(label))
      throw refuse(`two of its blocks are called ${showValue(label)}`, "give each a label of its own");
    labels.add(label);
  }
  const room = blocks.reduce((sum, { limit }) => sum + limit, 0);
  if (room > MOST_CHARACTERS)
    throw refuse(
      `its blocks may have ${room} characters in all, and all of them stand in every prompt`,
      `limits of at most ${MOST_CHARACTERS} in all; the rest belongs into archival memory`,
    );
  return Object.freeze(blocks);
}

function blockOf(given: BlockOptions, refuse: Refuse): Block {
  requireOptions(given, refuse, EXAMPLE, KNOWN);
  const { label, value = "", limit = LIMIT, description, readOnly = false } = given;
  if (typeof label !== "string" || !LABEL.test(label))
    throw refuse(
      `a block is called ${showValue(label)}`,
      `letters, digits, "_" and "-", at most 64: ${EXAMPLE}`,
    );
  requireCount(limit, "limit", refuse, 1, "limit: 2_000");
  if (limit > LONGEST)
    throw refuse(`the limit of its block "${label}" is more than ${LONGEST}`, `limit: ${LONGEST}`);
  if (typeof value !== "string" || value.length > limit)
    throw refuse(
      typeof value === "string"
        ? `the value of its block "${label}" has ${value.length} characters, and its limit is ${limit}`
        : `the value of its block "${label}" is ${showValue(value)}`,
      `limit: ${Math.min(LONGEST, typeof value === "string" ? value.length : LIMIT)}, or a shorter value`,
    );
  if (
    description !== undefined &&
    (typeof description !== "string" || description.length > LONGEST_DESCRIPTION)
  )
    throw refuse(
      `the description of its block "${label}" is ${showValue(description)}`,
      `a text of at most ${LONGEST_DESCRIPTION} characters`,
    );
  if (typeof readOnly !== "boolean")
    throw refuse(`the \`readOnly\` of its block "${label}" is ${showValue(readOnly)}`, "readOnly: true");
  return Object.freeze({
    label,
    value: value.toWellFormed(),
    limit,
    readOnly,
    ...(description !== undefined && { description: description.toWellFormed() }),
  });
}

/** The block that is called so, or what the model reads instead. */
export function named(blocks: readonly Block[], label: string): Block {
  const found = blocks.find((one) => one.label === label);
  if (found !== undefined) return found;
  const labels = blocks.map((one) => one.label);
  const meant = nearestOf(label, labels);
  throw new BlockError(
    "unknown",
    label,
    "there is no such block",
    meant === undefined ? `The blocks are ${labels.join(", ")}.` : `Did you mean "${meant}"?`,
    { labels },
  );
}

/** Why an edit of core memory was refused. */
export type BlockFault = "unknown" | "read-only" | "limit" | "text" | "undo";

/** An edit of a block that cannot be made as it was asked for: the model reads this and tries something else. */
export class BlockError extends RathError {
  constructor(
    fault: BlockFault,
    label: string,
    reason: string,
    hint: string,
    data: { readonly [key: string]: Json } = {},
  ) {
    super(
      `memory-block-${fault}`,
      `Cannot edit the block ${JSON.stringify(label.slice(0, 100))}: ${reason}. ${hint}`,
      { hint, data: { label: label.slice(0, 100), reason, ...data } },
    );
  }
}
