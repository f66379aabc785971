import type { FactId } from "../session/index.js";

/** A row of a history that is drawn newest first. */
export type Row = { readonly id: FactId; readonly parents: readonly FactId[] };

/** Draws a history as `git log --graph` does, row by row: a lane for each line of facts that is still to come. */
export class Lanes {
  /** Each lane waits for the fact that comes next on it. */
  #waiting: FactId[];

  constructor(heads: readonly FactId[]) {
    this.#waiting = [...heads];
  }

  /** The marks before a row, and the lines of their own before and after it. */
  draw({ id, parents }: Row): {
    readonly before: readonly string[];
    readonly mark: string;
    readonly after: readonly string[];
  } {
    let lane = this.#waiting.indexOf(id);
    if (lane === -1) {
      lane = this.#waiting.length;
      this.#waiting.push(id);
    }
    const before: string[] = [];
    const doubled = this.#waiting.some((other, index) => other === id && index !== lane);
    if (doubled)
      before.push(
        this.#waiting.map((other, index) => (other === id && index !== lane ? "╯" : "│")).join(" "),
      );
    this.#waiting = this.#waiting.filter((other, index) => other !== id || index === lane);
    const mark = this.#waiting.map((_, index) => (index === lane ? "●" : "│")).join(" ");
    const [first, ...others] = parents;
    const after =
      others.length > 0 ? [`${this.#waiting.map(() => "│").join(" ")}${" ╮".repeat(others.length)}`] : [];
    this.#waiting = [
      ...this.#waiting.slice(0, lane),
      ...(first === undefined ? [] : [first]),
      ...this.#waiting.slice(lane + 1),
      ...others,
    ];
    return { before, mark, after };
  }
}
