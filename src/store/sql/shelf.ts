import { digestOf, type FactId } from "../../session/index.js";
import type { Part, Shelf, Tail } from "../shelf.js";
import type { FactReader } from "./facts.js";

type Reading = Pick<
  Shelf,
  "lines" | "startingWith" | "children" | "history" | "part" | "placeIn" | "count" | "tail" | "every"
>;

/** The reading of a shelf whose facts have places in a database. */
export abstract class SqlShelf implements Reading {
  protected abstract readonly facts: FactReader;

  lines(ids: readonly FactId[]): readonly (string | undefined)[] {
    return this.facts.atOnce(() => {
      this.facts.lookUp(ids);
      return ids.map((id) => {
        const place = this.facts.place(id);
        return place === undefined ? undefined : this.facts.line(place);
      });
    });
  }

  startingWith(prefix: string, most: number): readonly FactId[] {
    return this.facts.atOnce(() => {
      const ids = this.facts.lines
        .startingWith(prefix, most)
        .map((place) => digestOf(this.facts.line(place)));
      return ids.filter((id) => id.startsWith(prefix)).slice(0, most);
    });
  }

  children(id: FactId): readonly FactId[] {
    return this.facts.atOnce(() => {
      const place = this.facts.place(id);
      return place === undefined
        ? []
        : this.facts.childPlaces(place).map((child) => digestOf(this.facts.line(child)));
    });
  }

  history(heads: readonly FactId[], without: readonly FactId[] = []): Iterable<readonly string[]> {
    return this.facts.history(heads, without);
  }

  part(head: FactId, without: readonly FactId[], from: number, to: number): Part {
    return this.facts.part(head, without, from, to);
  }

  placeIn(head: FactId, without: readonly FactId[], id: FactId): number | undefined {
    return this.facts.placeIn(head, without, id);
  }

  count(id: FactId): number {
    return this.facts.count(id);
  }

  tail(head: FactId, most: number): Tail | undefined {
    return this.facts.tail(head, most);
  }

  *every(): Iterable<readonly string[]> {
    for (const batch of this.facts.every()) yield batch.map(({ line }) => line);
  }
}
