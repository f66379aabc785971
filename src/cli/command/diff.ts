import { filesAt } from "../../sandbox/index.js";
import {
  BeyondHorizonError,
  type Cost,
  costText,
  costWith,
  diff,
  isQuiet,
  RathError,
  type Session,
  toneOf,
} from "../../session/index.js";
import type { Input } from "../entry.js";
import { pages } from "../pager.js";
import type { Shell } from "../shell.js";
import { argument, count, describe, plain, table } from "../text.js";

/** `rath diff A B`: what both share, what each has alone, and what that did to the files. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [one, other] = input.args as readonly [string, string];
  const [ours, theirs] = await bothOf(shell, one, other);
  const files = await filesBetween(shell, ours, theirs);
  if (input.options.files === true || input.options.stat === true) {
    shell.tell(files);
    if (!shell.json)
      await shell.write(input.options.stat === true ? statOf(files) : coloured(shell, files.patch ?? ""));
    return;
  }
  const { base, ours: left, theirs: right } = diff(ours, theirs);
  const sides = [sideOf(one, left), sideOf(other, right)] as const;
  shell.tell({
    base: base.map(({ id }) => id),
    ours: { ...sides[0], facts: left.map(told) },
    theirs: { ...sides[1], facts: right.map(told) },
    files,
  });
  if (shell.json) return;
  const out = pages(shell.streams, true);
  const shared =
    base.length === 0
      ? "nothing"
      : base.map(({ id, fact }) => `${shell.id(id)} ${describe(fact, 80)}`).join("\n         ");
  await out.write(`${shell.bold("shared")}   ${shared}\n\n`);
  for (const [name, facts] of [
    [one, left],
    [other, right],
  ] as const) {
    await out.write(`${shell.bold(`only ${plain(name)}`)}  ${count(facts.length, "fact")}\n`);
    const shown = facts.filter(({ fact }) => !isQuiet(fact));
    for (const { id, fact } of shown.slice(0, MOST))
      await out.write(
        `  ${shell.id(id)} ${toned(shell, describe(fact, shell.columns - 30), toneOf(fact))}\n`,
      );
    if (shown.length > MOST)
      await out.write(
        shell.dim(`  … ${shown.length - MOST} more: ${shell.typed(`rath log ${argument(name)}`)}\n`),
      );
    await out.write("\n");
  }
  await out.write(
    `${table([
      ["", plain(one), plain(other)],
      ["model calls", `${sides[0].calls}`, `${sides[1].calls}`],
      ["tokens in, out", `${sides[0].input}, ${sides[0].output}`, `${sides[1].input}, ${sides[1].output}`],
      ["cost", costText(sides[0].cost), costText(sides[1].cost)],
      ["tool calls", `${sides[0].tools}`, `${sides[1].tools}`],
      ["checks passed", checksText(sides[0]), checksText(sides[1])],
    ])}\n\n`,
  );
  if (files.problem !== undefined) await out.write(`${shell.bold("files")}    ${files.problem}\n`);
  else if (files.paths.length === 0) await out.write(`${shell.bold("files")}    the same\n`);
  else
    await out.write(
      `${shell.bold("files")}    from ${plain(one)} to ${plain(other)}\n${coloured(shell, files.patch ?? "")}`,
    );
  await out.end();
  if (ours.id !== theirs.id)
    shell.hint(
      `rath verify ${argument(other)}`,
      `rath merge ${argument(one)} ${argument(other)} --why '…'   # conversation and files of both`,
    );
}

/** Both sessions, with as much of their past as it takes to see where they parted. */
async function bothOf(shell: Shell, one: string, other: string): Promise<readonly [Session, Session]> {
  const store = await shell.store();
  const [ours, theirs] = [await shell.find(one), await shell.find(other)];
  const load = async (horizon: number): Promise<readonly [Session, Session]> => [
    await store.load(ours.id, { horizon }),
    await store.load(theirs.id, { horizon }),
  ];
  const near = await load(100_000);
  try {
    diff(...near);
    return near;
  } catch (error) {
    if (!(error instanceof BeyondHorizonError)) throw error;
    return load(Number.POSITIVE_INFINITY);
  }
}

/** How many facts of a side are shown. */
const MOST = 60;

type Files = {
  readonly paths: readonly { readonly path: string; readonly change: string }[];
  readonly patch?: string;
  readonly problem?: string;
};

async function filesBetween(shell: Shell, ours: Session, theirs: Session): Promise<Files> {
  const store = await shell.store();
  try {
    const now = filesAt(theirs, store);
    const paths = await now.changesSince(ours);
    return paths.length === 0 ? { paths } : { paths, patch: await now.patchSince(ours) };
  } catch (error) {
    // Files that conflict, or that are not here, do not hide the rest.
    if (!(error instanceof RathError)) throw error;
    return { paths: [], problem: error.message };
  }
}

type Side = ReturnType<typeof sideOf>;

function sideOf(name: string, sessions: readonly Session[]) {
  const side = { name, calls: 0, input: 0, output: 0, cost: 0 as Cost, tools: 0, passed: 0, failed: 0 };
  for (const { fact } of sessions) {
    if (fact.type === "model-reply") {
      side.calls += 1;
      side.input += fact.usage.input;
      side.output += fact.usage.output;
      side.cost = costWith(side.cost, fact.cost);
    } else if (fact.type === "tool-call") side.tools += 1;
    else if (fact.type === "validation-report") side[fact.passed ? "passed" : "failed"] += 1;
  }
  return side;
}

function checksText({ passed, failed }: Side): string {
  return `${passed} of ${passed + failed}`;
}

function told({ id, fact }: Session): unknown {
  return { id, fact };
}

function toned(shell: Shell, text: string, tone: "bad" | "good" | "plain"): string {
  return tone === "bad" ? shell.red(text) : tone === "good" ? shell.green(text) : text;
}

function statOf({ paths, problem }: Files): string {
  if (problem !== undefined) return `${problem}\n`;
  return paths.map(({ path, change }) => `${change.padEnd(6)}  ${plain(path)}\n`).join("");
}

/** A patch for its reader: painted and harmless on a terminal, and to the byte where a program takes it. */
export function coloured(shell: Shell, patch: string): string {
  if (!shell.isWatched) return patch;
  return plain(patch).replace(/^.*$/gm, (line) => {
    if (/^(diff|index|---|\+\+\+|new file|deleted file|old mode|new mode)/.test(line))
      return shell.bold(line);
    if (line.startsWith("@@")) return shell.cyan(line);
    if (line.startsWith("+")) return shell.green(line);
    return line.startsWith("-") ? shell.red(line) : line;
  });
}
