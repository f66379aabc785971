import type { Digest } from "../session/index.js";
import type { NewFact } from "./commit.js";
import type { FolderState } from "./file-state.js";
import type { Change } from "./index-names.js";
import type { Draft } from "./index-shelf.js";
import type { Blob, NameRecord } from "./shelf.js";

/** What a group of tasks writes. The index knows it at once, so that later tasks of the group see it. */
export class Batch {
  readonly draft: Draft;
  readonly blobs: Blob[] = [];
  readonly puts: Digest[] = [];
  readonly keys: { id: string; secret: Uint8Array }[] = [];
  readonly lines: Buffer[] = [];
  readonly changes: Change[] = [];
  readonly moved: NameRecord[] = [];
  /** Whether the log has it: then it can no longer be undone. */
  done = false;
  readonly undo: () => void;
  #bytes = 0;

  constructor(state: FolderState) {
    const undos: (() => void)[] = [];
    const { facts, book } = state;
    const { count } = facts.index;
    const { size } = facts.log;
    this.draft = {
      fact: (fact: NewFact) => {
        const bytes = facts.stage(fact, size + this.#bytes);
        this.lines.push(bytes);
        this.#bytes += bytes.length;
      },
      blob: (blob) => this.blobs.push(blob),
      put: (digests) => {
        for (const digest of digests) this.puts.push(digest);
      },
      key: (id, secret) => this.keys.push({ id, secret }),
      change: (change) => {
        if ("record" in change && change.record.head !== (book.names.get(change.record.name)?.head ?? null))
          this.moved.push(change.record);
        this.changes.push(change);
        undos.push(book.apply(change));
      },
    };
    this.undo = () => {
      for (const undo of undos.reverse()) undo();
      facts.index.truncate(count);
      facts.log.takeBack(size);
    };
  }
}
