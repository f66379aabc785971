import type { Digest, FactId } from "../../session/index.js";
import type { Erasure, NameRecord } from "../shelf.js";

/** What can change beside facts and blobs. */
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

  apply(change: Change): void {
    if ("record" in change) {
      const { record, key } = change;
      this.names.set(record.name, record);
      if (key !== undefined) this.#putStep(record.name, key, record.head as FactId);
    } else if ("step" in change) this.#putStep(change.step.name, change.step.key, change.step.head);
    else if ("erased" in change) this.erased.set(change.erased.digest, change.erased);
    else if ("revived" in change) this.erased.delete(change.revived);
    else {
      const { name, epoch } = change.forgotten;
      this.names.delete(name);
      this.steps.delete(name);
      if (epoch === 0) this.#forgotten.delete(name);
      else this.#forgotten.set(name, epoch);
    }
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

  #putStep(name: string, key: string, head: FactId): void {
    const steps = this.steps.get(name) ?? new Map<string, FactId>();
    this.steps.set(name, steps.set(key, head));
  }
}
