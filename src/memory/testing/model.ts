import type { FactId } from "../../session/index.js";

/** One thing that was done in a space. `about` is the memory, by the number of the deed that wrote it. */
export type Act =
  | { readonly type: "write"; readonly text: string }
  | { readonly type: "revise"; readonly about: number; readonly text: string }
  | { readonly type: "revoke" | "expire"; readonly about: number }
  | { readonly type: "scope"; readonly about: number; readonly to: string };

/** What a space is, in the simplest words: deeds in the order in which they were done, of which some hold. */
export class Model {
  readonly deeds: Act[] = [];
  /** The deeds that hold, as of each id of the space. */
  readonly holding = new Map<FactId, ReadonlySet<number>>();

  /** The number of a new deed, which holds from this id on. */
  done(act: Act, before: FactId | undefined, after: FactId): number {
    const number = this.deeds.push(act) - 1;
    this.holding.set(after, new Set([...this.at(before), number]));
    return number;
  }

  at(id: FactId | undefined): ReadonlySet<number> {
    return (id === undefined ? undefined : this.holding.get(id)) ?? new Set();
  }

  same(id: FactId, as: FactId | undefined): void {
    this.holding.set(id, this.at(as));
  }

  /** What one side changed since the base is changed; where neither did, it is as it was. */
  merged(id: FactId, base: FactId | undefined, ours: FactId, theirs: FactId): void {
    const [was, one, other] = [this.at(base), this.at(ours), this.at(theirs)];
    const holds = this.deeds
      .map((_, number) => number)
      .filter((number) => (one.has(number) === was.has(number) ? other.has(number) : one.has(number)));
    this.holding.set(id, new Set(holds));
  }

  /** The memories as of an id: by the number that wrote them, what they say and for whom. */
  memoriesAt(id: FactId | undefined): ReadonlyMap<number, { text: string; scope: string; status: string }> {
    const memories = new Map<number, { text: string; scope: string; status: string }>();
    for (const number of [...this.at(id)].sort((one, other) => one - other)) {
      const act = this.deeds[number] as Act;
      if (act.type === "write") {
        memories.set(number, { text: act.text, scope: "project:rath", status: "live" });
        continue;
      }
      const memory = memories.get(act.about);
      if (memory === undefined) continue;
      if (act.type === "revise") memory.text = act.text;
      else if (act.type === "scope") memory.scope = act.to;
      else if (act.type === "revoke") memory.status = "revoked";
      else if (memory.status === "live") memory.status = "expired";
    }
    return memories;
  }
}
