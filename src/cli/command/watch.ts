import { type FactId, isQuiet, jsonCopy, parentsOf, readFact } from "../../session/index.js";
import { isKeptByRuntime, type Line, NotFoundError, type Store } from "../../store/index.js";
import { blobsOf } from "../blobs.js";
import { countOption, type Input } from "../entry.js";
import { UsageError } from "../error.js";
import { filterOf, passes, stampsOf } from "../filter.js";
import { onInterrupt, wasInterrupted } from "../interrupt.js";
import { contentText, patchOfFact, rowOf } from "../row.js";
import type { Shell } from "../shell.js";
import { argument, plain } from "../text.js";
import { cut, pad } from "../width.js";

/** `rath watch [NAME]`: new facts as they become durable, by any process, until Ctrl-C. */
export async function run(shell: Shell, input: Input): Promise<number> {
  return watchFacts(shell, input, async function* () {});
}

/** Tells the facts that are given to begin with, and then new ones. With --json each is a document on a line of its own. */
export async function watchFacts(
  shell: Shell,
  input: Input,
  first: (store: Store, head: FactId) => AsyncIterable<Line>,
): Promise<number> {
  const [reference] = input.args;
  const found = reference === undefined ? undefined : await shell.find(reference);
  if (reference !== undefined && found?.name === undefined)
    throw new UsageError(
      `Cannot follow ${reference}: only a name gets new facts.`,
      `give a name: rath list; or see its history: rath log ${argument(reference)}`,
    );
  if (!shell.hasStore) throw new UsageError("There is no store to watch yet.", "create one: rath demo");
  const store = await shell.store();
  const filter = filterOf(input);
  const all = input.options.all === true || filter.types.size > 0;
  const most = input.options.follow === true ? undefined : countOption(input, "number");
  const room = shell.room(input);
  const stopping = new AbortController();
  const release = onInterrupt(() => stopping.abort());
  let told = 0;
  const tell = async (name: string, { id, line }: Line): Promise<void> => {
    if (!passes(filter, line)) return;
    const fact = readFact(line, await blobsOf(store, line));
    if (!all && isQuiet(fact)) return;
    told += 1;
    const isPatch = input.options.patch === true;
    if (shell.json) {
      const patch = isPatch ? await patchOfFact(store, fact) : undefined;
      shell.tell({
        name,
        id,
        parents: parentsOf(line),
        fact: jsonCopy(fact),
        ...(patch !== undefined && { patch }),
      });
    } else {
      const label = Number.isFinite(room) ? pad(cut(plain(name), 16), 16) : plain(name);
      const start = reference === undefined ? `${shell.bold(label)}  ` : "";
      const content = isPatch ? `${await contentText(shell, store, fact)}\n` : "";
      await shell.write(`${rowOf(shell, room, { start, id, fact })}\n${content}`);
    }
  };
  try {
    // It listens before anything is read, so that nothing is missed in between.
    const moves = store.watch({ signal: stopping.signal });
    const known = new Map((await store.names()).map(({ name, id }) => [name, id]));
    const head = known.get(found?.name ?? "");
    if (found?.name !== undefined && head !== undefined)
      for await (const line of first(store, head)) await tell(found.name, line);
    told = 0;
    for await (const { name, line } of newFacts(store, moves, known, found?.name)) {
      await tell(name, line);
      if (told === most) break;
    }
  } finally {
    release();
  }
  return wasInterrupted() ? 130 : 0;
}

/** The facts that names come to lead to from now on, each once; `known` is where the names stand. */
async function* newFacts(
  store: Store,
  moves: ReturnType<Store["watch"]>,
  known: Map<string, FactId>,
  wanted: string | undefined,
): AsyncGenerator<{ readonly name: string; readonly line: Line }> {
  /** The session of each run: while it is under way, its branches have names of their own. */
  const sessions = new Map<string, string>();
  for await (const { name: moved, id } of moves) {
    if (id === null) continue;
    const name = await sessionOf(store, sessions, moved, id);
    if (name === undefined) continue;
    // New facts of another name can later become new facts of the wanted one.
    if (wanted !== undefined && name !== wanted) continue;
    const without = [...known.values()];
    known.set(moved, id);
    for await (const lines of linesSince(store, id, without)) for (const line of lines) yield { name, line };
  }
}

/** The name that a move is told under: its own, or for a branch of a run that of its session; undefined for others of the runtime. */
async function sessionOf(
  store: Store,
  sessions: Map<string, string>,
  name: string,
  id: FactId,
): Promise<string | undefined> {
  const nonce = /^run\/([^/]+)/.exec(name)?.[1];
  if (nonce === undefined && isKeptByRuntime(name)) return undefined;
  if (nonce === undefined) {
    const { run } = stampsOf((await store.line(id)) ?? "");
    if (run !== undefined) sessions.set(run, name);
    return name;
  }
  if (!sessions.has(nonce))
    for (const other of await store.names())
      if (!isKeptByRuntime(other.name)) await sessionOf(store, sessions, other.name, other.id);
  return sessions.get(nonce) ?? name;
}

async function* linesSince(
  store: Store,
  id: FactId,
  without: readonly FactId[],
): AsyncGenerator<readonly Line[]> {
  const here: FactId[] = [];
  // Another process may have collected what a name stood at.
  for (const one of new Set(without)) if (await store.has(one)) here.push(one);
  try {
    yield* store.lines(id, { without: here });
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
}
