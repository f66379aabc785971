import type { ToolContext } from "../../agent/tool/index.js";
import type { Because, FactId } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { agentOf, becauseOf, groundsOf } from "../evidence.js";
import { type Scope, scopeText } from "../scope.js";
import type { Space } from "../space.js";
import type { Memory } from "../state.js";
import { heldIn, holding, isDoneBy } from "../tier/core.js";
import { useIndex } from "../view.js";
import { isUnder, MemoryFileError, ROOT } from "./path.js";

/** A file: a memory whose subject is its path. */
export type File = { readonly path: string; readonly text: string; readonly memory: Memory };

export type Limits = { readonly files: number; readonly characters: number };

/** The memory files of a space, and what one call does to them: each deed once, however often the call is made. */
export class Folder {
  readonly #space: Space;
  readonly #scope: string;
  readonly #limits: Limits;
  readonly #context: ToolContext;

  constructor(space: Space, scope: Scope, limits: Limits, context: ToolContext) {
    this.#space = space;
    this.#scope = scopeText(scope);
    this.#limits = limits;
    this.#context = context;
  }

  async head(): Promise<FactId | undefined> {
    return this.#space.head();
  }

  /** The file at a path. Of two that were written at once, the first. */
  async file(path: string): Promise<File | undefined> {
    return useIndex(this.#space, async (index) => {
      const memory = index.bySubject(path).find((one) => one.status === "live" && this.#isOurs(one));
      return memory && fileOf(memory);
    });
  }

  /** All files in a folder, however deep, by their paths. */
  async under(folder: string): Promise<readonly File[]> {
    const files = new Map<string, File>();
    for (const memory of await this.#space.list({ under: folder }))
      if (memory.subject !== undefined && isUnder(memory.subject, folder) && this.#isOurs(memory))
        if (!files.has(memory.subject)) files.set(memory.subject, fileOf(memory));
    return [...files.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
  }

  async isFolder(path: string): Promise<boolean> {
    return path === ROOT || (await this.under(path)).length > 0;
  }

  isDone(memory: Memory): boolean {
    return isDoneBy(memory, this.#context.call);
  }

  /** Whether this call has taken away what was at a path, or in it, before a crash. */
  async isGone(path: string): Promise<boolean> {
    for (const { subject, why } of await this.#space.list({ statuses: ["revoked"] }))
      if (subject !== undefined && (subject === path || isUnder(subject, path)))
        if (why?.includes(this.#context.call) === true) return true;
    return false;
  }

  /** Writes a file that is not there. True when it waits for somebody's word. */
  async write(
    path: string,
    text: string,
    more: {
      readonly key?: string;
      readonly because?: FactId;
      readonly from?: FactId;
      readonly importance?: number;
    } = {},
  ): Promise<boolean> {
    const { importance } = more;
    const { status } = await this.#space.write(
      {
        ...holding(this.#fits(path, text), { file: path, ...defined({ from: more.from }) }),
        because: this.#because(more.because),
        source: "reflection",
        by: agentOf(this.#context.session),
        subject: path,
        ...defined({ importance }),
      },
      this.#deed(more.key),
    );
    return status !== "live";
  }

  /** Puts another text into a file. True when it waits for somebody's word. */
  async revise({ path, memory }: File, text: string, why: string): Promise<boolean> {
    const { version } = await this.#space.revise(
      memory.id,
      {
        ...holding(this.#fits(path, text), { file: path }),
        because: this.#because(),
        by: agentOf(this.#context.session),
        why,
        was: memory.version,
      },
      this.#deed(),
    );
    return (await this.#space.get(memory.id))?.version !== version;
  }

  /** Takes a file away: it is no longer recalled, and stays readable as of before. */
  async remove({ memory }: File, why: string): Promise<void> {
    await this.#space.revoke(
      memory.id,
      {
        why: `${why}, in the call ${this.#context.call}`,
        by: agentOf(this.#context.session),
        because: this.#because(),
      },
      this.#deed(`away ${memory.id}`),
    );
  }

  /** Throws when there are as many files as there may be. */
  async requireRoom(): Promise<void> {
    const count = (await this.under(ROOT)).length;
    if (count < this.#limits.files) return;
    throw new MemoryFileError(
      "count",
      `Error: There are ${count} memory files already, and there may be ${this.#limits.files}. Delete files that are no longer needed, or write into one that is there.`,
      "delete a file first, or add to one",
      { files: count, most: this.#limits.files },
    );
  }

  /** Says on the record what was read. */
  record(query: string, head: FactId | undefined, files: readonly File[], whole: boolean): void {
    this.#context.record({
      type: "memory-read",
      space: this.#space.name,
      ...defined({ head }),
      query,
      hits: files.slice(0, RECORDED).map(({ path, text, memory }) => ({
        memory: memory.id,
        version: memory.version,
        score: 1,
        ...(whole && { text }),
        parts: {
          file: path,
          told: whole,
          source: memory.source,
          by: memory.by,
          at: memory.at,
          trust: memory.trust,
        },
      })),
      settings: { part: "files", command: whole ? "view" : "list" },
    });
  }

  #fits(path: string, text: string): string {
    const { characters } = this.#limits;
    if (text.length <= characters) return text.toWellFormed();
    throw new MemoryFileError(
      "size",
      `Error: ${path} would have ${text.length} characters, and a memory file has ${characters} at most. Split it into several files, or keep what matters.`,
      "write several smaller files",
      { path, characters: text.length, most: characters },
    );
  }

  #because(first?: FactId): Because {
    const { session } = this.#context;
    const all = [...(first === undefined ? [] : [first]), ...groundsOf(session), session.id];
    return becauseOf(all);
  }

  #deed(more?: string): { readonly from: ToolContext["session"]; readonly key: string } {
    const { session, key } = this.#context;
    return { from: session, key: more === undefined ? key : `${key} ${more}` };
  }

  #isOurs({ scope }: Memory): boolean {
    return scopeText(scope) === this.#scope;
  }
}

/** Files of a listing that are named on the record. */
const RECORDED = 500;

function fileOf(memory: Memory): File {
  return { path: memory.subject as string, text: heldIn(memory), memory };
}
