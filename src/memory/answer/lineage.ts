import { join } from "node:path";
import { RathError } from "../../session/index.js";
import { BUSY, type Name, NotFoundError, type Store, sqliteCode } from "../../store/index.js";
import { derivedFolderOf } from "../name.js";
import { LineageFile } from "./lineage-file.js";
import { catchUp, type Progress } from "./lineage-sync.js";

/** The index of what came of readings, as it is at one moment, and the names of the store at that moment. */
export type Lineage = { readonly file: LineageFile; readonly names: readonly Name[] };

/** How long another process is waited for that is making the same file. After that this one makes its own, in memory. */
const PATIENCE = 30_000;
const ATTEMPTS = 3;

type Held = { turn: Promise<unknown>; memory?: LineageFile };
const held = new WeakMap<Store, Held>();

/**
 * Asks the index of a store, brought to where its names stand. It is derived: made where there is none, made anew where it
 * is damaged or of another format, and made in memory where no file can be.
 */
export async function withLineage<Answer>(
  store: Store,
  progress: Progress | undefined,
  ask: (lineage: Lineage) => Answer,
): Promise<Answer> {
  let own = held.get(store);
  if (own === undefined) {
    own = { turn: Promise.resolve() };
    held.set(store, own);
  }
  const { turn } = own;
  const mine = own;
  // One after the other: two at once would do the same work twice.
  const answer = turn.then(() => asked(store, mine, progress, ask));
  own.turn = answer.catch(() => {});
  return answer;
}

async function asked<Answer>(
  store: Store,
  own: Held,
  progress: Progress | undefined,
  ask: (lineage: Lineage) => Answer,
): Promise<Answer> {
  const folder = own.memory === undefined ? derivedFolderOf(store) : undefined;
  const path = folder === undefined ? undefined : join(folder, "lineage.sqlite");
  if (path !== undefined) {
    // The second time the file is made anew; whatever is wrong then, a file is not needed.
    for (const anew of [false, true]) {
      try {
        if (anew) LineageFile.remove(path);
        const file = await patiently(() => LineageFile.open(path));
        try {
          return await look(store, file, progress, ask);
        } finally {
          file.close();
        }
      } catch (error) {
        if (isOthers(error)) throw error;
        if (isBusy(error)) break;
      }
    }
  }
  own.memory ??= LineageFile.open(undefined);
  try {
    return await look(store, own.memory, progress, ask);
  } catch (error) {
    // Half of something is in nobody's way next time.
    own.memory.close();
    delete own.memory;
    throw error;
  }
}

async function look<Answer>(
  store: Store,
  file: LineageFile,
  progress: Progress | undefined,
  ask: (lineage: Lineage) => Answer,
): Promise<Answer> {
  let attempts = 0;
  for (const deadline = performance.now() + PATIENCE; ; ) {
    try {
      const names = await catchUp(file, store, progress);
      // Several questions make an answer: between them nobody else may go on.
      file.exec("BEGIN");
      const answer = ask({ file, names });
      file.exec("COMMIT");
      return answer;
    } catch (error) {
      undo(file);
      if (isBusy(error) && performance.now() < deadline) await pause();
      // Something was collected, or forgotten, while it was read.
      else if (!(error instanceof NotFoundError) || ++attempts === ATTEMPTS) throw error;
    }
  }
}

async function patiently<Value>(attempt: () => Value): Promise<Value> {
  for (const deadline = performance.now() + PATIENCE; ; ) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      await pause();
    }
  }
}

function pause(): Promise<void> {
  return new Promise((done) => setTimeout(done, 5 + Math.random() * 20));
}

function undo(file: LineageFile): void {
  try {
    file.exec("ROLLBACK");
  } catch {
    // Nothing was under way, or SQLite has undone it by itself.
  }
}

function isBusy(error: unknown): boolean {
  return sqliteCode(error) === BUSY;
}

/** What is wrong with the store, or was thrown by whoever asks, is no fault of the index. */
function isOthers(error: unknown): error is RathError {
  return error instanceof RathError;
}
