import type { FactId } from "../../session/index.js";
import { compareText } from "../../util/index.js";
import { LOGGED_MOVES } from "../commit.js";
import type { MoveRecord, NamePage, NameRecord, NameTable } from "../shelf.js";

export class Names implements NameTable {
  readonly all = new Map<string, NameRecord>();
  readonly steps = new Map<string, Map<string, FactId>>();
  /** The newest moves, with room for as many again before it is cut. */
  #log: MoveRecord[] = [];

  get(name: string): NameRecord | undefined {
    return this.all.get(name);
  }

  under(start: string): readonly NameRecord[] {
    return [...this.all.values()]
      .filter(({ name }) => name.startsWith(start))
      .sort((one, other) => compareText(one.name, other.name));
  }

  page(page: NamePage): readonly NameRecord[] {
    const { under, limit } = page;
    const all =
      page.order === "name"
        ? this.under(under).filter(
            ({ name }) => page.after === undefined || compareText(name, page.after) > 0,
          )
        : this.inOrderOfMoves()
            .reverse()
            .filter(({ name, moved }) => name.startsWith(under) && moved < page.before);
    return all.filter(({ head }) => head !== null).slice(0, limit < 0 ? undefined : limit);
  }

  inOrderOfMoves(): NameRecord[] {
    return [...this.all.values()].sort((one, other) => one.moved - other.moved);
  }

  moves(after: number, most: number): readonly MoveRecord[] {
    const from = Math.max(0, after + 1 - (this.#log[0]?.n ?? 0));
    return this.#log.slice(from, from + most);
  }

  newestMove(): number {
    return this.#log.at(-1)?.n ?? 0;
  }

  #move(name: string, before: FactId | null, head: FactId | null): number {
    const n = this.newestMove() + 1;
    this.#log.push({ n, name, head, before });
    if (this.#log.length > 2 * LOGGED_MOVES) this.#log = this.#log.slice(-LOGGED_MOVES);
    return n;
  }

  put(record: Omit<NameRecord, "moved">): void {
    const { name, head } = record;
    const stood = this.all.get(name) ?? { head: null, moved: 0 };
    const moved = stood.head === head ? stood.moved : this.#move(name, stood.head, head);
    this.all.set(name, { ...record, moved });
  }

  drop(name: string): void {
    const head = this.all.get(name)?.head ?? null;
    if (head !== null) this.#move(name, head, null);
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
