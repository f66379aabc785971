import { type ChildProcess, spawn } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { namesIn } from "../proc.js";

/** The channels between us and a sandbox. Commands inherit none of them. */
export const CHANNEL = {
  orders: 0,
  /** Reports of process 1 and the worker. */
  reports: 1,
  /** Error messages of bubblewrap. */
  complaints: 2,
  /** Bubblewrap's description of the sandbox. */
  status: 3,
  arguments: 4,
  worker: 5,
  /** The filter of system calls. */
  filter: 6,
  /** The command that the launcher becomes. */
  launch: 7,
} as const;

/** A shell that waits to become a sandbox: starting it and joining control groups is done beforehand. */
export class Launcher {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  constructor() {
    this.#child = spawn("/bin/bash", ["--norc", "--noprofile", "-c", PROGRAM, "openrath-launcher"], {
      // Bubblewrap's own environment can be read inside, in /proc/1/environ.
      env: {},
      cwd: "/",
      stdio: sealed(Object.keys(CHANNEL).map(() => "pipe" as const)),
    });
    this.#ended = new Promise((resolve) => {
      this.#child.once("exit", () => resolve());
      this.#child.once("error", () => resolve());
    });
    // Whatever happens to a channel, the exit of the child says it too.
    for (const stream of this.#child.stdio) stream?.on("error", () => {});
    this.hold(false);
  }

  get #streams(): readonly (Readable | Writable | null | undefined)[] {
    return this.#child.stdio;
  }

  /** undefined when it could not be started. */
  get process(): number | undefined {
    return this.#child.pid;
  }

  get over(): boolean {
    const { exitCode, signalCode, pid } = this.#child;
    return exitCode !== null || signalCode !== null || pid === undefined;
  }

  /** Has it become another program: `source` ends with `exec`. */
  launch(source: string): void {
    this.to("launch").end(`${source}\0`);
  }

  to(channel: keyof typeof CHANNEL): Writable {
    return this.#streams[CHANNEL[channel]] as Writable;
  }

  from(channel: keyof typeof CHANNEL): Readable {
    return this.#streams[CHANNEL[channel]] as Readable;
  }

  on(event: "exit" | "close", listener: () => void): void {
    this.#child.once(event, listener);
    // One that could not be started never exits.
    if (event === "close") this.#child.once("error", listener);
  }

  /** Whether our process must stay for it. */
  hold(held: boolean): void {
    const open = this.#child.stdio.filter((stream) => stream?.destroyed === false);
    for (const one of [this.#child, ...open] as Held[]) held ? one.ref?.() : one.unref?.();
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** Ends it and waits for that. */
  async stop(): Promise<void> {
    this.kill();
    await this.ended();
  }

  /** Resolves when it is gone. */
  async ended(): Promise<void> {
    this.hold(true);
    await this.#ended;
    for (const stream of this.#child.stdio) stream?.destroy();
  }
}

/** Closes what it need not have, then waits for what it should become. */
const PROGRAM = `
for descriptor in /proc/self/fd/*; do
  descriptor=\${descriptor##*/}
  if ((descriptor > ${CHANNEL.launch})); then eval "exec $descriptor>&-"; fi
done
IFS= read -r -d '' source <&${CHANNEL.launch} && eval "$source"
`;

type Held = { ref?(): void; unref?(): void };

type Stdio = "pipe" | "ignore" | "inherit" | number;

/**
 * The descriptors of a new process and no others. Node would pass on those that our own parent left open (a
 * terminal, a socket); in their places the child gets a descriptor of nothing.
 */
export function sealed(stdio: readonly Stdio[]): Stdio[] {
  const leaking = inherited().filter((descriptor) => descriptor >= stdio.length);
  if (leaking.length === 0) return [...stdio];
  nothing ??= openSync("/dev/null", "r+");
  const all: Stdio[] = [...stdio];
  for (const descriptor of leaking) {
    while (all.length < descriptor) all.push("ignore");
    all.push(nothing);
  }
  return all;
}

let nothing: number | undefined;

/** The descriptors of this process that go on to its children, in order. None where the system does not tell. */
function inherited(): readonly number[] {
  return namesIn("/proc/self/fdinfo")
    .map(Number)
    .filter((descriptor) => descriptor > 2 && !closesOnExec(descriptor))
    .sort((one, other) => one - other);
}

function closesOnExec(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "latin1"))?.[1];
    return flags === undefined || (Number.parseInt(flags, 8) & 0o2000000) !== 0;
  } catch {
    // Closed since the list was read.
    return true;
  }
}
