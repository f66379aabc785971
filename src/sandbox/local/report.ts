/** What process 1 of a sandbox, or its worker, says about a command. */
export type Report =
  | { readonly kind: "ready" }
  | { readonly kind: "start"; readonly number: number; readonly process: number }
  | { readonly kind: "exit"; readonly number: number; readonly status: number; readonly signalled: boolean }
  | { readonly kind: "unstarted"; readonly number: number; readonly why: string };

const LONGEST_LINE = 8192;
const MANY_DEATHS = 1000;
/** Bash does not mention these deaths: SIGINT, SIGPIPE and SIGTERM. */
const UNMENTIONED = [130, 141, 143];

/**
 * Reads the reports of a sandbox. Whatever runs in there may have found a way to write into them, so a line that is no
 * report is the end of all trust: `nonsense` is called, and nothing is read after it.
 */
export class Reports {
  readonly #take: (report: Report) => void;
  readonly #nonsense: (line: string) => void;
  readonly #deaths = new Set<number>();
  #rest = "";
  #over = false;

  constructor(take: (report: Report) => void, nonsense: (line: string) => void) {
    this.#take = take;
    this.#nonsense = nonsense;
  }

  push(bytes: Uint8Array): void {
    if (this.#over) return;
    const text =
      this.#rest + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
    const lines = text.split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) if (!this.#over) this.#line(line);
    if (this.#rest.length > LONGEST_LINE) this.#stop(this.#rest);
  }

  #line(line: string): void {
    if (/^(?:openrath|environment): /.test(line)) {
      this.#remark(line);
      return;
    }
    const [, kind, number, value, process] =
      /^([rseu])(?: (\d{1,15}))?(?: (\d{1,10}|[a-z]{1,20}))?(?: (\d{1,10}))?$/.exec(line) ?? [];
    if (kind === "r" && number === undefined) this.#take({ kind: "ready" });
    else if (kind === "s" && isNumber(value) && process === undefined)
      this.#take({ kind: "start", number: Number(number), process: Number(value) });
    else if (kind === "u" && value !== undefined && process === undefined)
      this.#take({ kind: "unstarted", number: Number(number), why: value });
    else if (kind === "e" && isNumber(value) && process !== undefined) {
      const status = Number(value);
      const signalled = this.#deaths.delete(Number(process)) || UNMENTIONED.includes(status);
      this.#take({ kind: "exit", number: Number(number), status, signalled });
    } else this.#stop(line);
  }

  /** Bash tells, in words, when a job died of a signal, and what it could not do. Only the first is of use. */
  #remark(line: string): void {
    const [, process] = /^\w+: line \d+: +(\d{1,10}) .* job$/.exec(line) ?? [];
    if (process === undefined) return;
    if (this.#deaths.size >= MANY_DEATHS) this.#deaths.clear();
    this.#deaths.add(Number(process));
  }

  #stop(line: string): void {
    this.#over = true;
    this.#rest = "";
    this.#nonsense(line);
  }
}

function isNumber(text: string | undefined): boolean {
  return text !== undefined && /^\d+$/.test(text);
}
