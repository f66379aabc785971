import { runInNewContext } from "node:vm";
import { digestsOf, type FactId, readFact, thrownMessage } from "../../session/index.js";
import { isKeptByRuntime, type Store } from "../../store/index.js";
import { compareText } from "../../util/index.js";
import { blobsOf } from "../blobs.js";
import { linesOf } from "../content.js";
import { countOption, type Input } from "../entry.js";
import { UsageError } from "../error.js";
import { filterOf, passes, stampsOf } from "../filter.js";
import type { Shell } from "../shell.js";
import { argument, count, plain, shortAgo } from "../text.js";
import { cut, pad, width } from "../width.js";

/** `rath grep TEXT [SESSION...]`: the facts that say something, in some sessions or all, each fact once. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [text = "", ...references] = input.args;
  const pattern = patternOf(text, input);
  const filter = filterOf(input);
  const limit = countOption(input, "limit") ?? 1000;
  const store = await shell.store();
  const room = shell.room(input);
  const hits: Omit<Hit, "start" | "length">[] = [];
  const heads = await headsOf(shell, store, references);
  const progress = { facts: 0 };
  let found = 0;
  let isMore = false;
  let last: string | undefined;
  const wanted = (line: string): boolean =>
    passes(filter, line) && (pattern.mayBeIn(line) || digestsOf(line).length > 0);
  const isHit = (batch: readonly Said[]): boolean => pattern.find(batch).length > 0;
  search: for await (const batch of searched(shell, store, heads, wanted, isHit, progress))
    for (const hit of pattern.find(batch)) {
      isMore = found === limit;
      if (isMore) break search;
      found += 1;
      const { start, length, ...said } = hit;
      if (shell.json) hits.push({ ...said, line: around(hit, WHOLE).join("") });
      else await shell.write(hitText(shell, room, hit, hit.name !== last));
      last = hit.name;
    }
  shell.clear();
  shell.tell({ hits, more: isMore });
  if (isMore)
    shell.say(shell.dim(`Only the first ${count(limit, "line")} are shown; for more: --limit ${10 * limit}`));
  if (found === 0) {
    shell.say(`${plain(JSON.stringify(text))} was not found in ${count(progress.facts, "fact")}.`);
    shell.hint("rath list");
  }
}

type Said = {
  readonly name: string;
  readonly id: FactId;
  readonly type: string;
  readonly at: string;
  readonly by: string;
  readonly line: string;
};
type Head = { readonly name: string; readonly id: FactId };
type Hit = Said & { readonly start: number; readonly length: number };

/** So many characters are searched at once, and so many of a line are shown at most. */
const BATCH = 1_000_000;
const WHOLE = 2000;

/**
 * The batches of lines with hits, session by session; a fact that several sessions have is told with the first of them. Many
 * sessions are first searched together: to leave out what others have takes longer the more they are.
 */
async function* searched(
  shell: Shell,
  store: Store,
  heads: readonly Head[],
  wanted: (line: string) => boolean,
  isHit: (batch: readonly Said[]) => boolean,
  progress: { facts: number },
): AsyncGenerator<readonly Said[]> {
  const done: FactId[] = [];
  for (let from = 0; from < heads.length; from += TOGETHER) {
    const some = heads.slice(from, from + TOGETHER);
    let found = some.length === 1;
    const before = progress.facts;
    if (!found)
      for await (const batch of batchesOf(shell, store, some, done, wanted, progress)) {
        found = isHit(batch);
        if (found) break;
      }
    if (found) progress.facts = before;
    for (const head of some) {
      if (found) yield* batchesOf(shell, store, [head], done, wanted, progress);
      done.push(head.id);
    }
  }
}

const TOGETHER = 32;

/** The text of the facts of some sessions, line by line, in batches. */
async function* batchesOf(
  shell: Shell,
  store: Store,
  heads: readonly Head[],
  without: readonly FactId[],
  wanted: (line: string) => boolean,
  progress: { facts: number },
): AsyncGenerator<readonly Said[]> {
  const { name } = heads[0] as Head;
  let batch: Said[] = [];
  let characters = 0;
  const ids = heads.map(({ id }) => id);
  for await (const lines of store.lines(ids, { without }))
    for (const { id, line } of lines) {
      progress.facts += 1;
      if (progress.facts % 20_000 === 0) shell.progress(`${progress.facts.toLocaleString("en")} facts …`);
      if (!wanted(line)) continue;
      const { at, by } = stampsOf(line);
      const recorded = readFact(line, await blobsOf(store, line));
      for (const text of linesOf(recorded)) {
        batch.push({ name, id, type: recorded.type, at, by, line: text });
        characters += text.length;
      }
      if (characters < BATCH) continue;
      shell.clear();
      yield batch;
      [batch, characters] = [[], 0];
    }
  shell.clear();
  yield batch;
}

/** The sessions to search: those that were named, or all, newest first. */
async function headsOf(shell: Shell, store: Store, references: readonly string[]): Promise<readonly Head[]> {
  if (references.length > 0)
    return Promise.all(
      references.map(async (reference) => ({ name: reference, ...(await shell.find(reference)) })),
    );
  const heads: { readonly name: string; readonly id: FactId; readonly at: string }[] = [];
  for (const { name, id } of await store.names())
    if (!isKeptByRuntime(name)) heads.push({ name, id, at: stampsOf((await store.line(id)) as string).at });
  return heads.sort((one, other) => compareText(other.at, one.at) || compareText(one.name, other.name));
}

/** Milliseconds that an expression may take over the lines of a batch. */
const PATIENCE = 2000;

function patternOf(text: string, { options }: Input) {
  if (text === "") throw new UsageError("The search text is empty.", "give a text: rath grep refund");
  const flags = options.caseSensitive === true ? "u" : "iu";
  const isExpression = options.regexp === true;
  let expression: RegExp;
  try {
    expression = new RegExp(isExpression ? text : text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), flags);
  } catch (error) {
    throw new UsageError(
      `Cannot read the expression: ${thrownMessage(error)}.`,
      `leave out -E to search for the literal text: rath grep ${argument(text)}`,
    );
  }
  // Letters and digits stand in a record line as they are: a line without them needs no reading.
  const [word] = [...text.matchAll(/[a-z0-9]+/gi)]
    .map(([one]) => one)
    .sort((one, other) => other.length - one.length);
  const quick = isExpression || word === undefined ? undefined : new RegExp(word, flags);
  return {
    mayBeIn: (line: string): boolean => quick?.test(line) ?? true,
    find(batch: readonly Said[]): readonly Hit[] {
      const lines = batch.map(({ line }) => line);
      const places = isExpression ? within(expression, lines) : lines.map((line) => expression.exec(line));
      return batch.flatMap((said, index) => {
        const place = places[index];
        return place ? [{ ...said, start: place.index, length: place[0].length }] : [];
      });
    },
  };
}

/** Some expressions take exponential time on some texts: they are stopped. */
function within(expression: RegExp, lines: readonly string[]): readonly (RegExpExecArray | null)[] {
  try {
    return runInNewContext(
      "lines.map((line) => expression.exec(line))",
      { expression, lines },
      { timeout: PATIENCE },
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    throw new UsageError(
      `The expression takes too long: it was stopped after ${PATIENCE / 1000} seconds.`,
      "use one without nested repetitions such as (a+)+, or plain text without -E",
    );
  }
}

/** The line before the hit, the hit, and the line after it, in so many characters. */
function around({ line, start, length }: Hit, most: number): readonly [string, string, string] {
  const from = start + length <= most ? 0 : Math.max(0, start - Math.floor(most / 4));
  const end = Math.min(line.length, from + 2 * most);
  const clean = (text: string): string => plain(text.toWellFormed()).replaceAll("\t", " ");
  return [
    `${from > 0 ? "…" : ""}${clean(line.slice(from, start))}`,
    clean(line.slice(start, Math.min(start + length, end))),
    clean(line.slice(start + length, end)),
  ];
}

/** A hit: on a terminal under the name of its session, else all of it in one row. */
function hitText(shell: Shell, room: number, hit: Hit, isFirst: boolean): string {
  const { name, id, at, by } = hit;
  const isNarrow = Number.isFinite(room);
  const left = isNarrow
    ? `  ${shell.id(id)}  ${pad(shortAgo(plain(at), Date.now()), 3)}  ${pad(cut(plain(by), 14), 14)}  `
    : `${plain(name)}  ${shell.id(id)}  ${plain(at)}  ${plain(by)}  `;
  const [before, found, after] = around(hit, isNarrow ? Math.max(20, room - width(left)) : WHOLE);
  const row = cut(`${left}${before}${shell.red(found)}${after}`, room);
  return `${isNarrow && isFirst ? `${cut(shell.bold(plain(name)), room)}\n` : ""}${row}\n`;
}
