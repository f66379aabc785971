import type { Piece } from "./frames.js";

const LONGEST = 4096;

/**
 * The first line of a command, on standard error, before anything of its own: its number, or why it does not start. Where
 * it is missing, what came instead is what the engine has to say.
 */
export class Handshake {
  /** The number of the command's first process, and of the session it leads. */
  pid: number | undefined;
  /** Resolves when the line is there. */
  readonly done: Promise<void>;
  readonly #held: Piece[] = [];
  #text = "";
  #isOver = false;
  #resolve: () => void = () => {};

  constructor() {
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /**
   * What of the command's own is known from a piece. The two streams take different ways, so output may come before the
   * line that was written before it: it is held back until then. A terminal has one stream for all.
   */
  take(piece: Piece, terminal: boolean): readonly Piece[] {
    if (this.pid !== undefined) return [piece];
    if (this.#isOver) return [];
    if (piece.from !== "stderr" && !terminal) {
      this.#held.push(piece);
      return [];
    }
    const { bytes } = piece;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
    const end = text.indexOf("\n");
    this.#text += end < 0 ? text : text.slice(0, end);
    this.#isOver = end >= 0 || this.#text.length > LONGEST;
    if (!this.#isOver) return [];
    const [, pid] = /^\+(\d{1,10})\r?$/.exec(this.#text) ?? [];
    if (pid !== undefined) this.pid = Number(pid);
    this.#resolve();
    if (this.pid === undefined) return [];
    return [...this.#held.splice(0), { from: piece.from, bytes: bytes.subarray(end + 1) }];
  }

  /** Why there is no number. */
  refusal(command: string | readonly string[]): string {
    const complaint = Buffer.concat(this.#held.map(({ bytes }) => bytes)).toString("utf8");
    const said = `${this.#text}${complaint}`.slice(0, LONGEST).trim();
    if (said === "-directory") return "there is no such directory";
    if (said === "-program")
      return `there is no program ${typeof command === "string" ? "for the shell" : command[0]}`;
    return said === "" ? "the engine did not start it and did not say why" : said;
  }
}
