import { KeyRing, signHead } from "../../evidence/proof/index.js";
import { byOption, type Input, textOption } from "../entry.js";
import type { Shell } from "../shell.js";
import { argument } from "../text.js";

/** `rath sign SESSION`: one fact more, which vouches for all before it. The name moves on to it. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [reference = ""] = input.args;
  const key = new KeyRing(shell.config).signer(textOption(input, "sign"));
  const { id, name } = await shell.find(reference);
  const store = await shell.store();
  const signed = signHead(await store.load(id), key, { by: byOption(shell, input) });
  const { id: saved } = await store.save(signed, name === undefined ? {} : { name, expect: id });
  shell.tell({ id: saved, of: id, key: key.label, ...(name !== undefined && { name }) });
  shell.say(`${shell.id(saved)} signs ${shell.id(id)} with ${shell.bold(key.label)}.`);
  // Without a name nothing leads to it, and it would be collected.
  if (name === undefined) shell.say(`No name points to the signature, because SESSION is an id: ${saved}`);
  shell.hint(`rath verify ${argument(name ?? saved.slice(0, 12))}`);
}
