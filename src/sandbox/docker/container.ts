import { setTimeout as sleep } from "node:timers/promises";
import type { Digest } from "../../session/index.js";
import { limitsOf } from "../check-spec.js";
import { EngineError, FileError, SandboxLostError } from "../error.js";
import { OpenSandbox, type OpenSandboxOptions } from "../open-sandbox.js";
import { bytesOfName } from "../path.js";
import type { ExecOptions, Execution, SandboxFiles, Snapshot } from "../sandbox.js";
import type { SandboxRef, SandboxStatus } from "../spec.js";
import type { Trees } from "../trees.js";
import { entriesOf } from "../workspace/entries.js";
import { Exclude } from "../workspace/exclude.js";
import type { Engine } from "./engine.js";
import { ContainerExecution, type Loss } from "./execution.js";
import { Archive, ContainerFiles } from "./files.js";
import { Freezer, Gate } from "./freeze.js";
import { removeContainer, runHelper } from "./helper.js";
import { environment, type Filling, type Owner } from "./launch.js";
import { emptying, MEMORY_EVENTS, removalOf, signalOf, WORKSPACE } from "./script.js";
import { endOf, type Inspected, statusOf } from "./status.js";
import { partsOf, readTree } from "./tree-read.js";

/** The parts of a sandbox, once its container runs. */
export type ContainerOptions = OpenSandboxOptions & {
  readonly engine: Engine;
  readonly inspected: Inspected;
  readonly owner: Owner;
  /** Whether nothing has run in it yet. */
  readonly fresh: boolean;
  /** Puts the files of a tree into the workspace, which is empty. */
  readonly fill: (sandbox: Filling, tree: Digest | null) => Promise<void>;
  /** Called when it is gone for good. */
  readonly gone: () => void;
};

export class ContainerSandbox extends OpenSandbox {
  readonly engine: Engine;
  readonly container: string;
  readonly gate: Gate = new Gate();
  readonly archive: Archive;
  readonly owner: Owner;
  readonly environment: readonly string[];
  readonly files: SandboxFiles;
  readonly #options: ContainerOptions;
  readonly #freezer: Freezer;
  readonly #memory: MemoryWatch;
  readonly #executions = new Set<ContainerExecution>();
  #number = 0;
  #mending: Promise<void> | undefined;

  constructor(options: ContainerOptions) {
    super(options);
    const { engine, inspected, owner, fresh } = options;
    this.#options = options;
    this.engine = engine;
    this.container = inspected.Id;
    this.archive = new Archive(engine, inspected.Id);
    this.owner = owner;
    // Secrets go to each command and not into the container's settings, which everybody with the engine's socket can read.
    this.environment = environment(options.options.secrets ?? {});
    this.files = new ContainerFiles(this);
    this.#memory = new MemoryWatch(this, this.#helper, fresh);
    this.#freezer = new Freezer(this, this.#helper, async () => {
      const state = await this.#look();
      return state === "unknown" ? state : (state?.Status ?? "gone");
    });
    this.life.observe(statusOf(inspected.State));
    const { ttl } = this.identity.spec;
    if (ttl !== undefined) this.life.renew(ttl);
  }

  exec(command: string | readonly string[], options: ExecOptions = {}): Execution {
    this.#number += 1;
    const id = `${this.identity.id}/${this.#number}`;
    const execution = new ContainerExecution(this, id, command, limitsOf(this.identity.spec), options);
    this.#executions.add(execution);
    void execution.run();
    return execution;
  }

  async snapshot(): Promise<Snapshot> {
    const { trees } = this.#options.options;
    return this.still(() =>
      readTree(this.archive.read(Buffer.from(WORKSPACE)), trees, this.identity.spec.exclude),
    );
  }

  /** Everything is emptied before anything is put: what a command planted is gone, and so are links to follow. */
  async restore(tree: Digest | null): Promise<void> {
    const { fill, inspected, options } = this.#options;
    const { archive, owner } = this;
    const emptying = { archive, trees: options.trees, freezer: this.#freezer, script: this.#helper };
    await this.#here(() =>
      this.gate.alone(() => emptied(emptying, tree, () => fill({ inspected, owner, archive }, tree))),
    );
  }

  suspend(): Promise<void> {
    return this.#turn(true);
  }

  resume(): Promise<void> {
    return this.#turn(false);
  }

  override async status(): Promise<SandboxStatus> {
    if (!this.isDestroyed) await this.#look();
    return super.status();
  }

  /** Nothing in the container runs until it is resumed. */
  get isSuspended(): boolean {
    return this.#freezer.isSuspended;
  }

  /** Why no command can begin now. */
  async hindrance(): Promise<string | undefined> {
    await this.#mending;
    // The observed status may be old: a container that was lost or paused by others is tried again.
    return this.isDestroyed || this.isSuspended ? this.obstacle : undefined;
  }

  over(execution: ContainerExecution): void {
    this.#executions.delete(execution);
  }

  /** Sends a signal to the processes of a command; whether that could be done. */
  async signal(session: number, signal: string): Promise<boolean> {
    return (await this.gate.together(() => this.#helper(signalOf(session, signal)))) === "ok";
  }

  /** Ends everything in the container, because a command in it could not be ended. */
  abandon(why: string): Promise<void> {
    this.#mending ??= this.#restart(why).finally(() => {
      this.#mending = undefined;
    });
    return this.#mending;
  }

  /** Whether a process was ended for want of memory since a time. */
  outOfMemory(since: number, code: number): Promise<boolean> {
    return this.#memory.ranOut(since, code);
  }

  /** The end of the container that a command was in; undefined when it is there and runs. */
  async loss(): Promise<Loss | undefined> {
    if (this.isDestroyed) return { outcome: "killed", why: "the sandbox was destroyed" };
    const state = await this.#look();
    if (state === "unknown") return { outcome: "lost", why: "the engine does not answer" };
    if (state?.Status === "running" || state?.Status === "paused") return undefined;
    return { outcome: "lost", why: state === undefined ? "its container is gone" : endOf(state) };
  }

  /** Works while no process of the container runs, so that nothing changes between a look and the next step. */
  still<Value>(work: () => Promise<Value>): Promise<Value> {
    return this.#here(() => this.#freezer.share(work));
  }

  /** Looks at something while the container may go on. */
  async look<Value>(work: () => Promise<Value>): Promise<Value> {
    const seen = await this.#here(() => this.gate.together(work));
    // Nothing is also what is seen where no container is.
    const loss = seen === undefined ? await this.loss() : undefined;
    if (loss === undefined) return seen;
    throw new SandboxLostError(this.identity.id, loss.why);
  }

  /** Runs a script in the container, as its commands run; the answer is its output. */
  script(words: readonly string[]): Promise<string> {
    return this.#here(() => this.gate.alone(() => this.#freezer.whileRunning(() => this.#helper(words))));
  }

  readonly #helper = (words: readonly string[]): Promise<string> =>
    runHelper(this.engine, this.container, words);

  async #turn(isSuspended: boolean): Promise<void> {
    await this.#here(() =>
      this.gate.alone(async () => {
        const freezer = this.#freezer;
        if (freezer.isSuspended === isSuspended) return;
        await (isSuspended ? freezer.pause() : freezer.unpause());
        freezer.isSuspended = isSuspended;
        if (isSuspended) this.life.suspend();
        else this.life.resume();
        for (const execution of this.#executions)
          if (isSuspended) execution.suspend();
          else execution.resume();
        await this.#look();
      }),
    );
  }

  /** Ends everything in the container. Its files stay. The others in it end too, and must know why. */
  async #restart(why: string): Promise<void> {
    const loss: Loss = { outcome: "killed", why: `everything in the sandbox was ended: ${why}` };
    const doomed = [...this.#executions];
    await this.engine.json("POST", `/containers/${this.container}/restart`, { query: { t: "0" } });
    for (const execution of doomed) execution.lose(loss);
  }

  /** Does something in a container that must be there; when it is not, that is what is wrong. */
  async #here<Value>(work: () => Promise<Value>): Promise<Value> {
    await this.#mending;
    this.requireThere();
    try {
      return await work();
    } catch (error) {
      const loss = error instanceof EngineError ? await this.loss() : undefined;
      if (loss === undefined) throw error;
      throw new SandboxLostError(this.identity.id, loss.why, error);
    }
  }

  /** Asks the engine how the container is; undefined when it is not there. */
  async #look(): Promise<Inspected["State"] | undefined | "unknown"> {
    try {
      const { State } = await this.engine.json<Inspected>("GET", `/containers/${this.container}/json`);
      this.life.observe(statusOf({ ...State, Status: this.#seen(State.Status) }));
      return State;
    } catch (error) {
      if (!(error instanceof EngineError) || error.status !== 404) return "unknown";
      this.life.observe(statusOf(undefined));
      return undefined;
    }
  }

  /** A container is not suspended because it stands still for a moment, and it is when its processes were stopped. */
  #seen(status: string): string {
    if (status === "paused" && this.#freezer.isBrief) return "running";
    return status === "running" && this.#freezer.isSuspended ? "paused" : status;
  }

  protected override get native(): SandboxRef["native"] {
    const { container, engine } = this;
    return { container, engine: engine.about.name, version: engine.about.version };
  }

  protected async remove(): Promise<void> {
    for (const execution of this.#executions)
      execution.lose({ outcome: "killed", why: "the sandbox was destroyed" });
    try {
      await removeContainer(this.engine, this.container);
    } finally {
      this.life.finish();
      this.#options.gone();
    }
  }
}

const ATTEMPTS = 3;

type Names = readonly string[];

/** The parts needed to empty a workspace: scripts while it runs, looks while it stands still. */
export type Emptying = {
  readonly archive: Archive;
  readonly trees: Trees;
  readonly freezer: Freezer;
  readonly script: (words: readonly string[]) => Promise<string>;
};

/**
 * Empties a workspace before anything in it runs again. A script in the container removes the files, with
 * programs that commands may have replaced; so the engine's own look decides whether it is empty. Excluded
 * files stay, unless their directory goes.
 */
export async function emptied(
  { archive, trees, freezer, script }: Emptying,
  next: Digest | null,
  work: () => Promise<void>,
): Promise<void> {
  const exclude = new Exclude((await trees.tree(next)).exclude ?? []);
  const isPlain = exclude.patterns.length === 0;
  const directories = isPlain ? new Set<string>() : await directoriesOf(next, trees);
  let waste: readonly Names[] = isPlain
    ? []
    : await freezer.whileFrozen(() => wasteIn(archive, exclude, directories));
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const now = waste;
    await freezer.whileRunning(async () => {
      if (isPlain) await script(emptying());
      else for (const names of now) await script(removalOf(names.map(bytesOfName)));
    });
    const isDone = await freezer.whileFrozen(async () => {
      waste = await wasteIn(archive, exclude, directories);
      if (waste.length > 0) return false;
      await work();
      return true;
    });
    if (isDone) return;
  }
  throw new FileError("failed", waste[0]?.join("/") ?? ".", "it is in the way and could not be removed");
}

/** The topmost entries of the workspace that must go. */
async function wasteIn(
  archive: Archive,
  exclude: Exclude,
  directories: ReadonlySet<string>,
): Promise<Names[]> {
  const entries: { readonly names: Names; readonly isDirectory: boolean }[] = [];
  for await (const { name, kind } of archive.read(Buffer.from(WORKSPACE))) {
    const names = partsOf(name);
    if (names.length > 0) entries.push({ names, isDirectory: kind === "directory" });
  }
  entries.sort((one, other) => one.names.length - other.names.length);
  const excluded = new Set<string>();
  const needed = new Set<string>();
  if (exclude.patterns.length > 0)
    for (const { names, isDirectory } of entries) {
      const way = names.slice(0, -1);
      if (isUnder(excluded, names) || !directories.has(way.join("/"))) continue;
      if (!exclude.has(way, names.at(-1) as string, isDirectory)) continue;
      excluded.add(names.join("/"));
      way.forEach((_name, place) => {
        needed.add(way.slice(0, place + 1).join("/"));
      });
    }
  const gone = new Set<string>();
  const waste: Names[] = [];
  for (const { names } of entries) {
    const path = names.join("/");
    if (needed.has(path) || isUnder(excluded, names) || isUnder(gone, names)) continue;
    gone.add(path);
    waste.push(names);
  }
  return waste;
}

/** Whether one of these paths is this one, or one above it. */
function isUnder(paths: ReadonlySet<string>, names: Names): boolean {
  return paths.size > 0 && names.some((_name, place) => paths.has(names.slice(0, place + 1).join("/")));
}

/** The paths of all directories of a tree, "" for itself. */
async function directoriesOf(tree: Digest | null, trees: Trees): Promise<ReadonlySet<string>> {
  const paths = new Set([""]);
  for await (const { path, entry } of entriesOf(trees, tree)) if (entry.kind === "tree") paths.add(path);
  return paths;
}

/** The exit code of a process that the kernel ended for want of memory: SIGKILL. */
const KILLED = 137;
const LATE_MILLISECONDS = 150;

/** Whether a container ran out of memory: by Docker's event, else by the kernel's count (Podman). */
export class MemoryWatch {
  readonly #host: { readonly engine: Engine; readonly container: string };
  readonly #helper: (words: readonly string[]) => Promise<string>;
  #seen: number | undefined;

  /** @param fresh whether nothing has run in the container yet */
  constructor(
    host: { readonly engine: Engine; readonly container: string },
    helper: (words: readonly string[]) => Promise<string>,
    fresh: boolean,
  ) {
    this.#host = host;
    this.#helper = helper;
    if (fresh) this.#seen = 0;
  }

  async ranOut(since: number, code: number): Promise<boolean> {
    try {
      const tells = this.#host.engine.about.name === "docker";
      let told = tells && (await this.#wasTold(since));
      if (!told && tells && code !== KILLED) return false;
      if (!told && tells) {
        await sleep(LATE_MILLISECONDS);
        told = await this.#wasTold(since);
      }
      // How often it was is not known then: the count is not a measure until it is looked at again.
      if (told) this.#seen = undefined;
      if (told) return true;
      const before = this.#seen;
      const now = Number(/^oom_kill (\d+)$/m.exec(await this.#helper(MEMORY_EVENTS))?.[1] ?? 0);
      this.#seen = now;
      return before !== undefined && now > before;
    } catch {
      // Nobody knows; then it is a command that failed.
      return false;
    }
  }

  async #wasTold(since: number): Promise<boolean> {
    const filters = JSON.stringify({ container: [this.#host.container], event: ["oom"] });
    const query = { since: seconds(since), until: seconds(Date.now()), filters: encodeURIComponent(filters) };
    for await (const chunk of this.#host.engine.read("/events", { query }))
      if (chunk.toString("utf8").trim() !== "") return true;
    return false;
  }
}

function seconds(milliseconds: number): string {
  return `${Math.floor(milliseconds / 1000)}.${String(milliseconds % 1000).padStart(3, "0")}000000`;
}
