import {
  closeIndexes,
  influence,
  influenceText,
  type Memory,
  memory,
  revoke,
  type Space,
  type SpaceView,
  why,
  whyText,
} from "../../memory/index.js";
import { NotFoundError } from "../../store/index.js";
import { defined, nearestOf } from "../../util/index.js";
import { byOption, type Input, textOption } from "../entry.js";
import { UsageError } from "../error.js";
import type { Shell } from "../shell.js";
import { argument, brief, count, plain, table } from "../text.js";

const ACTIONS = ["list", "show", "search", "why", "influence", "revoke"];
const STATUSES = ["live", "held", "revoked", "expired", "merged"] as const;

/** `rath memory …`: what is remembered, where it is from, what came of it, and taking it back. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [action = "list", ...rest] = input.args;
  try {
    switch (action) {
      case "list":
        return await list(shell);
      case "show":
        return await show(shell, input, rest[0]);
      case "search":
        return await search(shell, input, rest.join(" "));
      case "why": {
        const answer = await why(await shell.store(), await memoryOf(shell, rest[0]));
        shell.tell({ ...answer, nodes: [...answer.nodes.values()] });
        shell.say(plain(whyText(answer)).trimEnd());
        shell.hint(`rath memory influence ${answer.memory.slice(0, 12)}`);
        return;
      }
      case "influence": {
        const answer = await influence(await shell.store(), await memoryOf(shell, rest[0]));
        shell.tell(answer);
        shell.say(plain(influenceText(answer)).trimEnd());
        shell.hint(`rath memory revoke ${answer.memory.slice(0, 12)} --why '…'`);
        return;
      }
      case "revoke":
        return await takeBack(shell, input, rest[0]);
      default: {
        const near = nearestOf(action, ACTIONS);
        throw new UsageError(
          `Nothing can be done with memory that is called ${JSON.stringify(action)}.`,
          `${near === undefined ? "" : `did you mean rath memory ${near}? `}there are ${ACTIONS.join(", ")}`,
        );
      }
    }
  } finally {
    await closeIndexes(await shell.store());
  }
}

async function spaces(shell: Shell): Promise<readonly string[]> {
  const store = await shell.store();
  return (await store.names({ under: "memory/" })).map(({ name }) => name.slice("memory/".length));
}

async function spaceOf(shell: Shell, given: string | undefined): Promise<Space> {
  const known = await spaces(shell);
  if (known.length === 0)
    throw new NotFoundError(
      "a memory space",
      "this store has no memories yet; the demo writes some: rath demo",
    );
  if (given === undefined && known.length > 1)
    throw new UsageError(
      "There are several memory spaces.",
      `name one: --space ${known.join(" or --space ")}`,
    );
  const name = given ?? (known[0] as string);
  if (!known.includes(name))
    throw new NotFoundError(
      `a memory space ${JSON.stringify(name)}`,
      `${nearestOf(name, known) === undefined ? "there are" : `did you mean ${nearestOf(name, known)}? there are`} ${known.join(", ")}`,
    );
  return memory({ name, scope: "cli:rath" }).open(await shell.store());
}

async function list(shell: Shell): Promise<void> {
  const rows: { space: string; head?: string; counts: { [status: string]: number } }[] = [];
  for (const name of await spaces(shell)) {
    const space = await spaceOf(shell, name);
    const counts: { [status: string]: number } = {};
    for (const { status } of await space.list({ within: true, statuses: STATUSES }))
      counts[status] = (counts[status] ?? 0) + 1;
    const head = await space.head();
    rows.push({ space: name, ...(head !== undefined && { head }), counts });
  }
  shell.tell(rows);
  if (rows.length === 0) shell.say("This store has no memories yet.");
  else
    shell.say(
      table(
        rows.map(({ space, counts }) => [
          shell.bold(plain(space)),
          Object.entries(counts)
            .map(([status, number]) => `${number} ${status}`)
            .join(", ") || "empty",
        ]),
      ),
    );
  if (rows[0] !== undefined) shell.hint(`rath memory show ${argument(rows[0].space)}`);
}

/** The space that has a memory. */
async function holderOf(shell: Shell, id: string, given: string | undefined) {
  for (const name of await spaces(shell)) {
    const space = await spaceOf(shell, name);
    const found = await space.get(id);
    if (found !== undefined) return { space, found };
  }
  throw new NotFoundError(`a memory ${given}`, "list the memories: rath memory");
}

/** A space, as it is or as it was at the fact that `--at` names. */
async function viewOf(shell: Shell, input: Input, name: string | undefined): Promise<SpaceView> {
  const space = await spaceOf(shell, name);
  const at = textOption(input, "at");
  return at === undefined ? space : space.at(await (await shell.store()).resolve(at));
}

async function show(shell: Shell, input: Input, what: string | undefined): Promise<void> {
  const known = await spaces(shell);
  if (what !== undefined && !known.includes(what) && /^[0-9a-f]{6,64}$/.test(what)) {
    const id = await memoryOf(shell, what);
    const { found } = await holderOf(shell, id, what);
    shell.tell(found);
    shell.say(memoryText(shell, found));
    shell.hint(`rath memory why ${id.slice(0, 12)}`, `rath memory influence ${id.slice(0, 12)}`);
    return;
  }
  const view = await viewOf(shell, input, what ?? textOption(input, "space"));
  const memories = await view.list({ within: true, statuses: STATUSES });
  shell.tell(memories);
  if (memories.length === 0) shell.say(`${view.name} has no memories.`);
  for (const one of memories.slice(0, MOST)) shell.say(memoryText(shell, one));
  if (memories.length > MOST) shell.say(shell.dim(`… ${memories.length - MOST} more: --json gives all`));
  const [first] = memories;
  if (first !== undefined) shell.hint(`rath memory why ${first.id.slice(0, 12)}`);
}

const MOST = 200;

async function search(shell: Shell, input: Input, words: string): Promise<void> {
  if (words.trim() === "")
    throw new UsageError("The search text is missing.", "rath memory search rounding errors");
  const view = await viewOf(shell, input, textOption(input, "space"));
  const { found, head, without } = await view.find(words, { within: true, limit: 10 });
  shell.tell({ space: view.name, head, query: words, found, ...defined({ without }) });
  if (without !== undefined) shell.say(shell.dim(`Searched by words only. ${without}`));
  if (found.length === 0) shell.say(`No memory in ${view.name} matches.`);
  for (const { memory: one, score } of found) shell.say(`${score.toFixed(2)}  ${memoryText(shell, one)}`);
  const [first] = found;
  if (first !== undefined) shell.hint(`rath memory why ${first.memory.id.slice(0, 12)}`);
}

async function takeBack(shell: Shell, input: Input, what: string | undefined): Promise<void> {
  const reason = textOption(input, "why");
  if (reason === undefined)
    throw new UsageError(
      "To revoke a memory, give a reason.",
      `rath memory revoke ${argument(what ?? "ID")} --why 'it was wrong'`,
    );
  const id = await memoryOf(shell, what);
  const { space } = await holderOf(shell, id, what);
  const { written, influence: reached } = await revoke(space, id, {
    why: reason,
    by: byOption(shell, input),
  });
  shell.tell({ written, influence: reached });
  shell.say(
    `${shell.id(id)} is no longer recalled. ${count(reached.totals.reads, "reading")} of it, ${count(reached.totals.decisions, "decision")} after them.`,
  );
  shell.hint(`rath memory influence ${id.slice(0, 12)}`);
}

async function memoryOf(shell: Shell, given: string | undefined): Promise<string> {
  if (given === undefined)
    throw new UsageError("Which memory?", "give its id: rath memory why ID; rath memory show lists them");
  return (await shell.find(given)).id;
}

function memoryText(shell: Shell, one: Memory): string {
  const mark = one.status === "live" ? shell.green(one.status) : shell.yellow(one.status);
  const more = [
    one.trust,
    `from ${one.source}`,
    `by ${plain(one.by)}`,
    ...(one.why === undefined ? [] : [`because ${brief(one.why)}`]),
  ];
  return `${shell.id(one.id)} ${mark}  ${brief(one.text, 300)}  ${shell.dim(more.join(", "))}`;
}
