import { join } from "node:path";
import type { FactId } from "../session/index.js";
import { DamageError } from "./error.js";
import { FactsFile } from "./file-facts.js";
import { moveFile, replaceFile, writeFile } from "./file-folder.js";
import { linesIn } from "./file-lines.js";
import { LogFile } from "./file-log.js";
import { type Entry, type Mark, readEntry, writeEntry, writeLog } from "./file-names.js";
import { type Change, NameIndex } from "./index-names.js";
import type { Finding, NameRecord } from "./shelf.js";

/** A log is written anew when it is this many times longer than what it says. */
const MUCH_LONGER = 4;

/**
 * What a process knows of a folder: the facts, the names, and how far it has read. A line of `names.jsonl` is
 * what makes a commit: it is written after everything it speaks of is durable, and says how much of
 * `facts.jsonl` counts. So readers need no lock, and what a dead writer left behind is told from damage.
 */
export class FolderState {
  readonly #folder: string;
  readonly #writable: boolean;
  #names!: LogFile;
  #facts!: FactsFile;
  #book = new NameIndex();
  #mark: Mark | null = null;
  #sum = "";
  #lines = 0;

  constructor(folder: string, writable: boolean) {
    this.#folder = folder;
    this.#writable = writable;
    this.#load();
  }

  get facts(): FactsFile {
    return this.#facts;
  }

  get book(): NameIndex {
    return this.#book;
  }

  get mark(): Mark {
    return this.#facts.mark;
  }

  /** Takes in what other processes committed, and returns the names they moved. One `stat` when there is nothing. */
  refresh(): readonly NameRecord[] {
    const { size, replaced } = this.#names.look();
    if (!replaced && size === this.#names.size) return [];
    if (replaced) return this.#reload();
    const entries = this.#newEntries();
    const last = entries.at(-1);
    // While the facts are being replaced, what is known goes on being true.
    if (last === undefined || last.facts === null) return [];
    if (this.#facts.log.replaced) return this.#reload();
    this.#facts.grow(last.facts);
    return this.#take(entries);
  }

  /** For holders of the lock: clears away what a writer that died left behind, so that nothing is glued to it. */
  settle(): void {
    this.#take(this.#newEntries());
    if (this.#names.actualSize > this.#names.size) this.#cutNames();
    if (this.#lines === 0) this.#begin();
    if (this.#mark === null) {
      this.#facts.log.close();
      this.#facts = FactsFile.load(this.#folder, this.#writable, null, () => []);
    }
    const { log } = this.#facts;
    if (log.actualSize < log.size)
      throw new DamageError(log.name, `it has ${log.actualSize} bytes, but ${log.size} were written`);
    if (this.#facts.adopt()) log.cut();
    if (this.#mark?.bytes !== log.size) this.append([]);
  }

  /** Makes changes and all facts appended before durable: the moment a commit is done. */
  append(changes: readonly Change[]): void {
    this.#append({ facts: this.#facts.mark, changes });
  }

  /** Writes the facts anew without some of them. */
  replaceFacts(goes: Uint8Array): void {
    const staying = Math.max(0, goes.length - goes.reduce((sum, gone) => sum + gone, 0));
    const path = this.#facts.log.path;
    const fresh = `${path}.tmp`;
    writeFile(fresh, this.#facts.staying(goes));
    // From here until the next entry no reader trusts the file, whichever of the two it finds.
    this.#append({ facts: null, changes: [] });
    moveFile(fresh, path);
    this.#facts.log.close();
    this.#facts = FactsFile.load(this.#folder, true, null, () => []);
    if (this.#facts.adopt() || this.#facts.index.count !== staying)
      throw new DamageError("facts.jsonl", "it could not be written anew");
    this.#book.dropSteps((head) => this.#facts.index.row(head) < 0);
    this.rewriteNames();
  }

  /** Writes the names anew, when their log is much longer than what it says. For holders of the lock. */
  compact(): void {
    if (this.#lines < 200) return;
    let size = 0;
    for (const line of writeLog(this.mark, this.#book.changes())) size += line.length;
    if (this.#names.size > MUCH_LONGER * size) this.rewriteNames();
  }

  rewriteNames(): void {
    replaceFile(this.#names.path, writeLog(this.mark, this.#book.changes()));
    this.#names.close();
    this.#openNames();
    this.#book = new NameIndex();
    this.#take(this.#newEntries());
  }

  /** Reads the log of names again and says where it is not what was written. */
  *examineNames(): Generator<Finding, void> {
    let sum = "";
    let number = 0;
    for (const { bytes } of linesIn(this.#names.fd, 0, this.#names.size)) {
      number += 1;
      const entry = readEntry(bytes, sum);
      if (entry === undefined)
        return yield { place: `names.jsonl:${number}`, problem: "the line is not the one that was written" };
      sum = entry.sum;
    }
    for (const { name, head } of this.#book.names.values()) {
      if (head !== null && this.#facts.index.row(head) < 0)
        yield { place: "names.jsonl", problem: `"${name}" stands at ${head}, which is not among the facts` };
    }
  }

  close(): void {
    this.#names.close();
    this.#facts.log.close();
  }

  /** Opens both files as they belong together, also while another process is replacing one of them. */
  #load(): void {
    for (;;) {
      this.#openNames();
      this.#book = new NameIndex();
      this.#take(this.#newEntries());
      const heads = (): Iterable<FactId> => [...this.#book.names.values()].flatMap(({ head }) => head ?? []);
      try {
        this.#facts = FactsFile.load(this.#folder, this.#writable, this.#mark, heads);
      } catch (error) {
        const changed = this.#names.replaced || this.#newEntries().length > 0;
        this.#names.close();
        if (!changed) throw error;
        continue;
      }
      if (!this.#names.replaced && !this.#newEntries().some((entry) => entry.facts === null)) break;
      this.close();
    }
    // Nobody will come to finish what was interrupted on a medium that cannot be written.
    if (!this.#writable && this.#mark === null) this.#facts.adopt();
  }

  #reload(): readonly NameRecord[] {
    const before = {
      book: this.#book,
      names: this.#names,
      facts: this.#facts,
      mark: this.#mark,
      sum: this.#sum,
      lines: this.#lines,
    };
    const back = (): void => {
      [this.#book, this.#names, this.#facts, this.#mark, this.#sum, this.#lines] = [
        before.book,
        before.names,
        before.facts,
        before.mark,
        before.sum,
        before.lines,
      ];
    };
    try {
      this.#load();
    } catch (error) {
      back();
      throw error;
    }
    if (this.#mark === null) {
      // The facts are being replaced; until they are, what is known goes on being true.
      this.close();
      back();
      return [];
    }
    before.names.close();
    before.facts.log.close();
    return [...this.#book.names.values()].filter(
      ({ name, head }) => head !== (before.book.names.get(name)?.head ?? null),
    );
  }

  #openNames(): void {
    this.#names = new LogFile(join(this.#folder, "names.jsonl"), this.#writable);
    this.#mark = null;
    this.#sum = "";
    this.#lines = 0;
  }

  /** The entries behind what was read, up to the first that is not whole. Who holds the lock decides what that is. */
  #newEntries(): (Entry & { readonly sum: string; readonly end: number })[] {
    const entries: (Entry & { sum: string; end: number })[] = [];
    for (const { bytes, start, complete } of linesIn(
      this.#names.fd,
      this.#names.size,
      this.#names.actualSize,
    )) {
      const entry = complete ? readEntry(bytes, entries.at(-1)?.sum ?? this.#sum) : undefined;
      if (entry === undefined) break;
      entries.push({ ...entry, end: start + bytes.length + 1 });
    }
    return entries;
  }

  #take(entries: readonly (Entry & { readonly sum: string; readonly end: number })[]): NameRecord[] {
    const moved: NameRecord[] = [];
    for (const { facts, changes, sum, end } of entries) {
      for (const change of changes) {
        if (
          "record" in change &&
          change.record.head !== (this.#book.names.get(change.record.name)?.head ?? null)
        )
          moved.push(change.record);
        this.#book.apply(change);
      }
      this.#mark = facts;
      this.#sum = sum;
      this.#names.size = end;
      this.#lines += 1;
    }
    return moved;
  }

  #append(entry: Entry): void {
    const { bytes, sum } = writeEntry(entry, this.#sum);
    this.#names.append(bytes);
    this.#sum = sum;
    this.#mark = entry.facts;
    this.#lines += 1;
  }

  #begin(): void {
    if (this.#facts.log.actualSize > 0)
      throw new DamageError("names.jsonl:1", "it is empty, but there are facts");
    this.append([]);
  }

  /** The end of the log that is not an entry: cut when a crash explains it, else it is damage. */
  #cutNames(): void {
    const [first, second] = [...linesIn(this.#names.fd, this.#names.size, this.#names.actualSize)];
    if (first === undefined) return;
    // A whole entry with something else in place of its newline was acknowledged once.
    const torn = first.complete
      ? second === undefined && first.bytes.includes(0)
      : readEntry(first.bytes.subarray(0, -1), this.#sum) === undefined;
    if (!torn)
      throw new DamageError(`names.jsonl:${this.#lines + 1}`, "the line is not the one that was written");
    this.#names.cut();
  }
}
