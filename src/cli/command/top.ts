import { type Board, board } from "../../cluster/index.js";
import { countOption, type Input } from "../entry.js";
import { untilInterrupted } from "../interrupt.js";
import type { Shell } from "../shell.js";
import { argument, plain } from "../text.js";
import { cut } from "../width.js";

const EVERY_MS = 1_000;

/** `rath top`: what runs where, and what waits; on a terminal again and again. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const store = await shell.store();
  const rath = await shell.rath();
  const most = countOption(input, "limit", 1) ?? 20;
  const look = async (): Promise<Board & { readonly costs: Costs }> => {
    const now = await board(store, most);
    const costs: Costs = {};
    for (const { name } of now.sessions) {
      if ((await store.head(name)) !== undefined) costs[name] = (await rath.load(name)).usage.cost;
    }
    return { ...now, costs };
  };
  const isLive = shell.streams.stdout.isTTY === true && !shell.json && input.options.once !== true;
  if (!isLive) {
    const now = await look();
    shell.tell(now);
    shell.say(textOf(shell, now));
    shell.hint("rath submit FILE --input TEXT", ...stuckIn(now));
    return;
  }
  let isOver = false;
  const over = untilInterrupted().then(() => {
    isOver = true;
  });
  while (!isOver) {
    await shell.write(`\u001b[H\u001b[2J${textOf(shell, await look())}\n`);
    await Promise.race([over, new Promise((resolve) => setTimeout(resolve, EVERY_MS))]);
  }
}

/** `null` where the price of a call is not known. */
type Costs = { [name: string]: number | null };

function stuckIn({ sessions }: Board): readonly string[] {
  const stuck = sessions.find(({ place }) => place === "stuck");
  return stuck === undefined ? [] : [`rath replay ${argument(stuck.name)}`];
}

function textOf(
  shell: Shell,
  { workers, counts, sessions, costs }: Board & { readonly costs: Costs },
): string {
  const room = shell.columns;
  const totals = Object.entries(counts).map(([place, count]) => `${count} ${place}`);
  const lines = [totals.join(", "), ""];
  for (const { id, running, concurrency, modules, engine } of workers)
    lines.push(
      `${shell.bold(id)}  ${running}/${concurrency}  ${engine}  ${Object.keys(modules).map(plain).join(", ")}`,
    );
  if (workers.length === 0) lines.push("No worker is here. Start one: rath worker FILE");
  if (sessions.length > 0) lines.push("");
  for (const { name, place, module, queue, worker, due } of sessions) {
    const cost = costs[name] ? ` $${(costs[name] as number).toFixed(4)}` : "";
    const where = worker === undefined ? (due ?? "") : `at ${worker}`;
    lines.push(
      cut(
        `${place.padEnd(8)} ${plain(name)}  ${plain(module)}  ${plain(queue)}${cost}  ${where}`.trimEnd(),
        room,
      ),
    );
  }
  return lines.join("\n");
}
