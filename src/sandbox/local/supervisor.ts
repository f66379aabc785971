import { quoteShell } from "../../util/index.js";
import { SandboxUnavailableError } from "../error.js";
import { startOf } from "./janitor.js";
import { CHANNEL, type Launcher } from "./launcher.js";
import { equipment, framed, preparation, type Report, Reports, SUPERVISOR } from "./shell.js";

export type SupervisorOptions = {
  /** The process that becomes the sandbox. */
  readonly launcher: Launcher;
  /** The words that start bubblewrap, up to its own arguments. */
  readonly launch: readonly string[];
  /** The arguments of bubblewrap, except for channels and the command. */
  readonly arguments: readonly string[];
  /** A name that stands among the arguments, so that it is found by anyone who cleans up after us. */
  readonly name: string;
  readonly seccomp: Uint8Array | undefined;
};

/** The sandbox that uses a supervisor. */
export type User = {
  /** The variables of commands. */
  readonly environment: { readonly [name: string]: string };
  readonly report: (report: Report) => void;
  /** Called once it is gone, by itself or by `end`. */
  readonly gone: (why: string) => void;
};

const START_MILLISECONDS = 20_000;
const END_MILLISECONDS = 5_000;
const LONGEST_COMPLAINT = 4096;

/** Process 1 of a sandbox, seen from the host: bubblewrap around a shell that runs what it is told. */
export class Supervisor {
  /** Process 1 as the host sees it: when it is killed, the kernel ends everything in the sandbox. */
  process = 0;
  namespaces: { readonly [name: string]: number } = {};
  readonly #launcher: Launcher;
  #user: User | undefined;
  #ready = false;
  /** When process 1 began: its number alone may be another's by the time it is used. */
  #start = 0;
  #why = "its first process ended";

  static async start(options: SupervisorOptions): Promise<Supervisor> {
    const it = new Supervisor(options.launcher);
    await it.#begin(options);
    return it;
  }

  private constructor(launcher: Launcher) {
    this.#launcher = launcher;
  }

  /** Gives it to who uses it: from here on commands can be run. */
  serve(user: User): void {
    this.#user = user;
    if (this.#launcher.over) user.gone(this.#why);
    const source = equipment(user.environment);
    this.tell(source);
    this.order(source);
  }

  /** Has process 1 run a piece of source, at once. */
  tell(source: string): void {
    this.#launcher.to("orders").write(framed(source));
  }

  /** Has the worker run a piece of source, after those it was given before. */
  order(source: string): void {
    this.#launcher.to("worker").write(framed(source));
  }

  /** Whether our process must stay for it: while a command runs. A sandbox that is forgotten ends with us. */
  hold(held: boolean): void {
    this.#launcher.hold(held);
  }

  /** Ends everything in it. When this resolves, it is over. */
  async end(why: string): Promise<void> {
    const launcher = this.#launcher;
    if (launcher.over) return;
    this.#why = why;
    try {
      // Killing the outer bubblewrap is not enough; it goes by itself when process 1 is gone.
      if (this.process !== 0 && startOf(this.process) === this.#start) process.kill(this.process, "SIGKILL");
      else launcher.kill();
    } catch {
      launcher.kill();
    }
    const timer = setTimeout(() => launcher.kill(), END_MILLISECONDS);
    await launcher.ended();
    clearTimeout(timer);
  }

  async #begin(options: SupervisorOptions): Promise<void> {
    this.hold(true);
    const failure = this.#failure();
    const listening = this.#listen();
    const identity = this.#identity();
    this.#launch(options);
    const timer = setTimeout(() => void this.end("it did not begin in time"), START_MILLISECONDS);
    try {
      await Promise.race([failure, identity]);
      await Promise.race([failure, listening]);
      this.#ready = true;
      this.hold(false);
    } catch (error) {
      await this.end("it did not begin");
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #launch({ launch, arguments: words, name, seccomp }: SupervisorOptions): void {
    const launcher = this.#launcher;
    const all = [
      ...words,
      ...["--json-status-fd", `${CHANNEL.status}`],
      ...(seccomp === undefined ? [] : ["--seccomp", `${CHANNEL.filter}`]),
    ];
    const shell = ["/bin/bash", "--norc", "--noprofile", "-c", SUPERVISOR, "openrath", name];
    const command = [...launch, "--args", `${CHANNEL.arguments}`, "--", ...shell];
    launcher.launch(`exec ${command.map(quoteShell).join(" ")} ${CHANNEL.launch}<&-`);
    launcher.to("arguments").end(all.map((word) => `${word}\0`).join(""));
    launcher.to("filter").end(seccomp ?? "");
    this.tell(preparation(CHANNEL.worker));
  }

  /** Resolves when process 1 listens; then what it says is passed on. */
  #listen(): Promise<void> {
    // Nothing comes from there; but that it ends says that the worker did, by the hand of what runs inside.
    const worker = this.#launcher.from("worker").resume();
    worker.once("end", () => void this.end("a process of ours in it was ended from inside"));
    return new Promise((resolve) => {
      const nonsense = (line: string) =>
        void this.end(`its reports make no sense: ${JSON.stringify(line.slice(0, 80))}`);
      const reports = new Reports((one) => {
        if (this.#ready && one.kind !== "ready") this.#user?.report(one);
        else if (!this.#ready && one.kind === "ready") resolve();
        else nonsense(one.kind);
      }, nonsense);
      this.#launcher.from("reports").on("data", (bytes: Buffer) => reports.push(bytes));
    });
  }

  /** Reads what bubblewrap tells about the sandbox: process 1 and its namespaces. */
  #identity(): Promise<void> {
    return new Promise((resolve) => {
      let text = "";
      this.#launcher.from("status").on("data", (bytes: Buffer) => {
        if (this.process !== 0) return;
        text += bytes.toString("utf8");
        const end = text.indexOf("\n");
        if (end < 0) return;
        const { "child-pid": first, ...rest } = JSON.parse(text.slice(0, end)) as { [name: string]: number };
        this.process = first ?? 0;
        this.#start = startOf(this.process);
        this.namespaces = Object.fromEntries(
          Object.entries(rest).map(([name, id]) => [name.replace(/-namespace$/, ""), id]),
        );
        resolve();
      });
    });
  }

  /** Rejects when it ends before it is ready; later it says so to anyone who asked. */
  #failure(): Promise<never> {
    const launcher = this.#launcher;
    let complaint = "";
    launcher.from("complaints").on("data", (bytes: Buffer) => {
      complaint = `${complaint}${bytes.toString("utf8")}`.slice(-LONGEST_COMPLAINT);
    });
    const failure = new Promise<never>((_resolve, reject) => {
      // Its last words come before "close", its end comes with "exit": anyone who waits for it need not wait for a pipe.
      launcher.on("close", () => reject(unavailable(complaint.trim() || this.#why)));
      launcher.on("exit", () => {
        if (this.#ready) void launcher.ended().then(() => this.#user?.gone(this.#why));
      });
    });
    failure.catch(() => {});
    return failure;
  }
}

function unavailable(what: string): SandboxUnavailableError {
  return new SandboxUnavailableError(
    "local",
    `bubblewrap did not start: ${what}`,
    "see what it says when it is started by hand: bwrap --unshare-all --ro-bind / / true",
  );
}
