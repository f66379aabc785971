import { writeFileSync } from "node:fs";
import { ProofError, writeProof, writeStandardProof } from "../../evidence/proof/index.js";
import { type Input, textOption } from "../entry.js";
import type { Shell } from "../shell.js";
import { argument } from "../text.js";
import { logOf } from "./checkpoint.js";

/** `rath prove SESSION`: that its newest fact is in the newest checkpoint, and with it its whole history. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [reference = ""] = input.args;
  const { id } = await shell.find(reference);
  const proved = logOf(shell).prove(id);
  if (proved === undefined)
    throw new ProofError(
      "proof-refused",
      `Cannot prove ${id.slice(0, 12)}: it is in no checkpoint.`,
      "create a checkpoint first: rath checkpoint",
      { data: { id } },
    );
  const { proof, checkpoint } = proved;
  const text =
    input.options.standard === true ? writeStandardProof(proof, checkpoint.root) : writeProof(proof);
  const output = textOption(input, "output");
  if (output !== undefined) writeFileSync(output, text);
  const { index, size } = proof;
  const bytes = Buffer.byteLength(text);
  shell.tell({ id, index, size, bytes, proof: text, ...(output && { file: output }) });
  if (output === undefined) shell.say(text.trimEnd());
  else {
    shell.say(`The fact ${shell.id(id)} is number ${index} of ${size}: ${bytes} bytes in ${output}.`);
    shell.hint(`rath verify --proof ${argument(output)} ${id}`);
  }
}
