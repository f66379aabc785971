import type { Digest, FactId } from "../session/index.js";
import type { Erasure, NameRecord } from "./shelf.js";

/** What can change beside facts and blobs: the words of a store's log. */
export type Change =
  /** The record of a name as it is from now on; with `key`, the step that moved it there. */
  | { readonly record: NameRecord; readonly key?: string }
  | { readonly step: { readonly name: string; readonly key: string; readonly head: FactId } }
  /** A name was taken away. Should it come again, its epochs start at `epoch`, so that old leases stay over. */
  | { readonly forgotten: { readonly name: string; readonly epoch: number } }
  | { readonly erased: Erasure }
  | { readonly revived: Digest };

/** Names, their leases and recorded steps, and what was erased. */
export class NameIndex {
  readonly names = new Map<string, NameRecord>();
  readonly steps = new Map<string, Map<string, FactId>>();
  readonly erased = new Map<Digest, Erasure>();
  readonly #forgotten = new Map<string, number>();

  /** What a name is before anyone used it. */
  unused(name: string): NameRecord {
    return { name, head: null, epoch: this.#forgotten.get(name) ?? 0, until: 0 };
  }

  /** What it takes to set a name whatever it stood at, or to take it away. Nothing, where it stands there already. */
  settingTo(name: string, head: FactId | null): readonly Change[] {
    const record = this.names.get(name) ?? this.unused(name);
    if (head === record.head) return [];
    if (head !== null) return [{ record: { ...record, head } }];
    // Whoever still holds a lease of the old name must not pass for a holder of a new one. Where there never was a
    // lease, nothing stays behind.
    return [{ forgotten: { name, epoch: record.epoch === 0 ? 0 : record.epoch + 1 } }];
  }

  /** Makes a change, and returns the way back. */
  apply(change: Change): () => void {
    if ("record" in change) {
      const { record, key } = change;
      const undo = put(this.names, record.name, record);
      if (key === undefined) return undo;
      const undoStep = this.#putStep(record.name, key, record.head as FactId);
      return () => {
        undoStep();
        undo();
      };
    }
    if ("step" in change) return this.#putStep(change.step.name, change.step.key, change.step.head);
    if ("erased" in change) return put(this.erased, change.erased.digest, change.erased);
    if ("revived" in change) return put(this.erased, change.revived, undefined);
    const { name, epoch } = change.forgotten;
    const undos = [
      put(this.names, name, undefined),
      put(this.steps, name, undefined),
      put(this.#forgotten, name, epoch === 0 ? undefined : epoch),
    ];
    return () => {
      for (const undo of undos) undo();
    };
  }

  /** The shortest list of changes that leads to what is here now. */
  *changes(): Generator<Change> {
    for (const [name, epoch] of this.#forgotten) yield { forgotten: { name, epoch } };
    for (const record of this.names.values()) yield { record };
    for (const [name, steps] of this.steps)
      for (const [key, head] of steps) yield { step: { name, key, head } };
    for (const erased of this.erased.values()) yield { erased };
  }

  /** Forgets steps whose fact is gone: they cannot be answered any more. */
  dropSteps(gone: (head: FactId) => boolean): void {
    for (const steps of this.steps.values())
      for (const [key, head] of steps) if (gone(head)) steps.delete(key);
  }

  #putStep(name: string, key: string, head: FactId): () => void {
    let steps = this.steps.get(name);
    if (steps === undefined) {
      steps = new Map();
      this.steps.set(name, steps);
    }
    return put(steps, key, head);
  }
}

function put<Key, Value>(map: Map<Key, Value>, key: Key, value: Value | undefined): () => void {
  const before = map.get(key);
  if (value === undefined) map.delete(key);
  else map.set(key, value);
  return () => {
    if (before === undefined) map.delete(key);
    else map.set(key, before);
  };
}
