import { quoteShell } from "../../util/index.js";
import { bytesOfName } from "../path.js";
import type { Limits } from "../spec.js";
import { PIPES } from "./arguments.js";

/**
 * The program that process 1 of a sandbox runs: it reads source from its standard input, each piece after its length in
 * eight digits, and runs it. A second shell, the worker, does the same with a channel of its own and is where commands
 * usually run: so that starting one costs a single fork, while process 1 is free to kill it. Both report on standard
 * output, which commands do not inherit: they get pipes for all three. When the host goes away, everything ends.
 *
 * Everything is read at once instead of byte by byte (-N), and lengths are of bytes (LC_ALL, which is not exported).
 */
export const SUPERVISOR = `
exec 2>&1
LC_ALL=C
exec 3>&- 4>&- 6>&- 7>&- 8>&- 9>&-
serve() { while IFS= read -r -N 8 length && IFS= read -r -N "$((10#$length))" source; do eval "$source"; done; }
environment() { :; }
others=()
go() {
  set -m
  job &
  process=$!
  set +m
  exec 9<&-
  printf 's %s %s\\n' "$1" "$process"
  wait "$process"
  printf 'e %s %s %s\\n' "$1" "$?" "$process"
}
serve
kill -KILL -1
`;

/** The first order to process 1: it starts the worker. */
export function preparation(channel: number): string {
  return `serve <&${channel} ${channel}<&- &\nexec ${channel}<&-\nprintf 'r\\n'`;
}

/** The variables of commands, kept where only their processes get them. */
export function equipment(environment: { readonly [name: string]: string }): string {
  const { exports, others } = variables(environment);
  return `environment() { ${exports === "" ? ":" : exports}; }\nothers=(${others.join(" ")})`;
}

export type Order = {
  readonly number: number;
  readonly pipes: { readonly stdin?: string; readonly stdout: string; readonly stderr: string };
  readonly words: readonly string[];
  /** Inside; relative to the workspace. */
  readonly directory: string | undefined;
  readonly environment: { readonly [name: string]: string };
  /** Shell commands that set the limits of the process. */
  readonly limits: string;
};

/** The source that runs one command. Until it is replaced by the program, its output is still the report. */
export function ordered({ number, pipes, words, directory, environment, limits }: Order): string {
  const { exports, others } = variables(environment);
  const [program = "", ...rest] = words;
  const found = program.includes("/")
    ? `[[ -x ${quoteShell(program)} && ! -d ${quoteShell(program)} ]]`
    : `type -P -- ${quoteShell(program)} >/dev/null`;
  const all = [program, ...rest].map(quoteShell).join(" ");
  const through = `\${others[0]:+/usr/bin/env "\${others[@]}"}`;
  const prefix = others.length === 0 ? through : `/usr/bin/env "\${others[@]}" ${others.join(" ")}`;
  return [
    "job() {",
    ...(directory === undefined
      ? []
      : [`cd -- ${quoteShell(directory)} 2>/dev/null || { printf 'u ${number} directory\\n'; exit; }`]),
    // When memory is short on the host, it is taken from here first, and from a command before what supervises it.
    "printf 500 >/proc/self/oom_score_adj",
    "environment",
    ...(exports === "" ? [] : [exports]),
    `${found} || { printf 'u ${number} program\\n'; exit; }`,
    limits,
    `exec ${prefix} ${all} ${pipes.stdin === undefined ? "</dev/null" : "<&9 9<&-"} >${PIPES}/${pipes.stdout} 2>${PIPES}/${pipes.stderr}`,
    "}",
    // Opened before the start is reported: from then on the host may close its end, and there must be another.
    ...(pipes.stdin === undefined ? [] : [`exec 9<${PIPES}/${pipes.stdin}`]),
    `go ${number}`,
  ].join("\n");
}

/** A piece of source as it goes over the channel. */
export function framed(source: string): Buffer {
  const bytes = bytesOfName(source);
  return Buffer.concat([Buffer.from(`${bytes.length}`.padStart(8, "0")), bytes]);
}

/** Names that bash itself uses, or cannot export: these go through `env`. */
const OURS =
  /^(?:BASH.*|_|COMP_.*|COPROC|DIRSTACK|EPOCH.*|EUID|FUNCNAME|GROUPS|HIST.*|HOSTNAME|HOSTTYPE|IFS|LC_ALL|LINENO|MACHTYPE|MAILCHECK|OLDPWD|OPT.*|OSTYPE|PIPESTATUS|PPID|PS[0-4]|PWD|RANDOM|READLINE.*|REPLY|SECONDS|SHELLOPTS|SHLVL|SRANDOM|TIMEFORMAT|UID|POSIXLY_CORRECT|EXECIGNORE|FIGNORE|GLOBIGNORE|length|source|process|others|fd)$/;

function variables(environment: { readonly [name: string]: string }): {
  readonly exports: string;
  readonly others: readonly string[];
} {
  const exported: string[] = [];
  const others: string[] = [];
  for (const [name, value] of Object.entries(environment))
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !OURS.test(name))
      exported.push(`${name}=${quoteShell(value)}`);
    else others.push(quoteShell(`${name}=${value}`));
  return { exports: exported.length === 0 ? "" : `export ${exported.join(" ")}`, others };
}

/** Shell commands that limit a process and its children: data, not address space, as Node reserves that. */
export function ulimits(limits: Required<Limits>, pids: boolean): string {
  const kilobytes = (bytes: number) => Math.max(1, Math.floor(bytes / 1024));
  const seconds = Math.max(1, Math.ceil(limits.cpu / 1000));
  return [
    `ulimit -c 0 -d ${kilobytes(limits.memory)} -f ${Math.floor(limits.file / 1024)}`,
    // First a signal that tells why; a second later one that cannot be caught.
    `ulimit -St ${seconds}; ulimit -Ht ${seconds + 1}`,
    // Process 1, the worker and what reports are counted too.
    ...(pids ? [`ulimit -u ${limits.pids + OWN_PROCESSES}`] : []),
  ].join("; ");
}

/** Processes of a sandbox that are ours. */
export const OWN_PROCESSES = 3;

/** A report about a command from process 1 of a sandbox, or its worker. */
export type Report =
  | { readonly kind: "ready" }
  | { readonly kind: "start"; readonly number: number; readonly process: number }
  | { readonly kind: "exit"; readonly number: number; readonly status: number; readonly signalled: boolean }
  | { readonly kind: "unstarted"; readonly number: number; readonly why: string };

const LONGEST_LINE = 8192;
const MANY_DEATHS = 1000;
/** Bash does not mention these deaths: SIGINT, SIGPIPE and SIGTERM. */
const UNMENTIONED = [130, 141, 143];

/** Reads the reports of a sandbox. A malformed line ends all trust: `nonsense` is called. */
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
