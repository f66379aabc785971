import { isQuiet, parentsOf, readFact } from "../../session/index.js";
import { blobsOf } from "../blobs.js";
import { countOption, type Input } from "../entry.js";
import { filterOf, passes } from "../filter.js";
import { Lanes } from "../lanes.js";
import { newestFirst, type Told } from "../newest-first.js";
import { pages } from "../pager.js";
import { contentText, patchOfFact, rowOf } from "../row.js";
import type { Shell } from "../shell.js";
import { isStep } from "../step.js";
import { argument, count } from "../text.js";
import { cut } from "../width.js";

/** `rath log SESSION`: the history as a graph, newest first, as far as somebody reads. */
export async function run(shell: Shell, input: Input): Promise<number> {
  if (input.options.follow === true) return follow(shell, input);
  const store = await shell.store();
  const reference = input.args[0] as string;
  const { id: head } = await shell.find(reference);
  const most = countOption(input, "number") ?? Number.POSITIVE_INFINITY;
  const filter = filterOf(input);
  const all = input.options.all === true || filter.types.size > 0;
  const isPatch = input.options.patch === true;
  const room = shell.room(input);
  const lanes = new Lanes([head]);
  const out = shell.json ? undefined : pages(shell.streams, input.options.pager !== false);
  const told: unknown[] = [];
  let rows = 0;
  let left = 0;
  for await (const { id, line, step } of newestFirst(store, head, isStep)) {
    // Where only some facts are shown there are no lanes between them.
    if (!filter.isEmpty && !passes(filter, line)) continue;
    const parents = parentsOf(line);
    const fact = readFact(line, await blobsOf(store, line));
    const drawn = filter.isEmpty ? lanes.draw({ id, parents }) : FLAT;
    const beside = drawn.before.length + drawn.after.length > 0;
    if (!all && isQuiet(fact) && (!filter.isEmpty || (parents.length === 1 && drawn.after.length === 0))) {
      left += 1;
      if (beside) await out?.write([...drawn.before, ...drawn.after, ""].join("\n"));
      continue;
    }
    if (rows === most) {
      await out?.write(shell.dim(`… older facts: ${shell.typed(`rath log ${id.slice(0, 12)}`)}\n`));
      break;
    }
    rows += 1;
    if (out === undefined) {
      const patch = isPatch ? await patchOfFact(store, fact) : undefined;
      told.push({
        id,
        parents,
        ...(step !== undefined && { step }),
        fact,
        ...(patch !== undefined && { patch }),
      });
      continue;
    }
    const start = drawn.mark === "" ? "" : `${cut(drawn.mark, Math.floor(room / 3))}  `;
    const lines = [...drawn.before, rowOf(shell, room, { start, id, step, fact }), ...drawn.after];
    const content = isPatch ? `${await contentText(shell, store, fact)}\n` : "";
    if (!(await out.write(`${lines.map((one) => cut(one, room)).join("\n")}\n${content}`))) break;
  }
  shell.tell(told);
  if (rows === 0) shell.say("No fact matches.");
  if (left > 0 && out !== undefined && !shell.quiet)
    await out.write(
      shell.dim(
        `${count(left, "fact")} of bookkeeping left out: ${shell.typed(`rath log ${argument(reference)} --all`)}\n`,
      ),
    );
  await out?.end();
  return 0;
}

const FLAT: ReturnType<Lanes["draw"]> = { before: [], mark: "", after: [] };

/** The newest facts, oldest first, and from then on those that come. */
async function follow(shell: Shell, input: Input): Promise<number> {
  const { watchFacts } = await import("./watch.js");
  return watchFacts(shell, input, async function* (store, head) {
    const most = countOption(input, "number") ?? 10;
    const filter = filterOf(input);
    const all = input.options.all === true || filter.types.size > 0;
    const newest: Told[] = [];
    for await (const told of newestFirst(store, head, isStep)) {
      if (newest.length === most) break;
      if (passes(filter, told.line) && (all || !isQuiet(readFact(told.line, undefined)))) newest.push(told);
    }
    yield* newest.reverse();
  });
}
