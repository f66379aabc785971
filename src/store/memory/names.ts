import type { FactId } from "../../session/index.js";
import { compareText } from "../../util/index.js";
import type { NameRecord, NameTable } from "../shelf.js";

export class Names implements NameTable {
  readonly all = new Map<string, NameRecord>();
  readonly steps = new Map<string, Map<string, FactId>>();

  get(name: string): NameRecord | undefined {
    return this.all.get(name);
  }

  under(start: string): readonly NameRecord[] {
    return [...this.all.values()]
      .filter(({ name }) => name.startsWith(start))
      .sort((one, other) => compareText(one.name, other.name));
  }

  put(record: NameRecord): void {
    this.all.set(record.name, record);
  }

  drop(name: string): void {
    this.all.delete(name);
    this.steps.delete(name);
  }

  step(name: string, key: string): FactId | undefined {
    return this.steps.get(name)?.get(key);
  }

  addStep(name: string, key: string, head: FactId): void {
    const steps = this.steps.get(name) ?? new Map<string, FactId>();
    this.steps.set(name, steps.set(key, head));
  }

  /** Forgets steps whose fact is gone: they cannot be answered. */
  dropSteps(isGone: (head: FactId) => boolean): void {
    for (const steps of this.steps.values())
      for (const [key, head] of steps) if (isGone(head)) steps.delete(key);
  }
}
