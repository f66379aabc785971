import { isQuiet, parentsOf, readFact, toneOf } from "../../session/index.js";
import { blobsOf } from "../blobs.js";
import { countOption, type Input, textsOption } from "../entry.js";
import { Lanes } from "../lanes.js";
import { newestFirst } from "../newest-first.js";
import { pages } from "../pager.js";
import type { Shell } from "../shell.js";
import { isStep } from "../step.js";
import { describe, plain } from "../text.js";

/** `rath log SESSION`: the history as a graph, newest first, as far as somebody reads. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const store = await shell.store();
  const { id: head } = await shell.find(input.args[0] as string);
  const most = countOption(input, "number") ?? Number.POSITIVE_INFINITY;
  const types = new Set(textsOption(input, "type"));
  const all = input.options.all === true || types.size > 0;
  const lanes = new Lanes([head]);
  const out = shell.json ? undefined : pages(shell.streams, input.options.pager !== false);
  const told: unknown[] = [];
  let rows = 0;
  let left = 0;
  for await (const { id, line, step } of newestFirst(store, head, isStep)) {
    const parents = parentsOf(line);
    const fact = readFact(line, await blobsOf(store, line));
    const { before, mark, after } = lanes.draw({ id, parents });
    const isShown =
      (types.size === 0 || types.has(fact.type)) &&
      (all || !isQuiet(fact) || parents.length !== 1 || after.length > 0);
    if (!isShown) {
      left += 1;
      if (types.size === 0 && out !== undefined && (before.length > 0 || after.length > 0))
        await out.write([...before, ...after, ""].join("\n"));
      continue;
    }
    if (rows === most) {
      await out?.write(shell.dim(`… older facts: rath log ${id.slice(0, 12)}\n`));
      break;
    }
    rows += 1;
    if (out === undefined) {
      told.push({ id, parents, ...(step !== undefined && { step }), fact });
      continue;
    }
    const number = step === undefined ? "" : `${shell.cyan(`#${step}`)} `;
    const text = describe(fact, Math.max(30, shell.columns - 50 - mark.length));
    const tone = toneOf(fact);
    const words = tone === "bad" ? shell.red(text) : tone === "good" ? shell.green(text) : text;
    const drawn = types.size === 0 ? `${mark}  ` : "";
    const row = `${drawn}${shell.id(id)} ${number}${words} ${shell.dim(plain(`${fact.by} ${fact.at}`))}`;
    const ready = types.size === 0 ? [...before, row, ...after] : [row];
    if (!(await out.write(`${ready.join("\n")}\n`))) break;
  }
  shell.tell(told);
  if (left > 0 && out !== undefined && types.size === 0 && !shell.quiet)
    await out.write(
      shell.dim(`${left} facts of bookkeeping are left out: rath log ${input.args[0]} --all\n`),
    );
  await out?.end();
}
