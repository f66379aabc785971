import { setTimeout as wait } from "node:timers/promises";
import { defined } from "../../util/index.js";
import { checkSpec, limitsOf, secretsOf } from "../check-spec.js";
import { SandboxLostError } from "../error.js";
import { Lazy } from "../lazy.js";
import { identityOf, OpeningProvider, type OpenSandboxOptions, WorkspaceSandbox } from "../open-sandbox.js";
import type {
  ConnectOptions,
  CreateOptions,
  ExecOptions,
  Execution,
  Sandbox,
  SandboxProvider,
} from "../sandbox.js";
import type { Capabilities, SandboxRef, SandboxSpec } from "../spec.js";
import { totalsOf } from "../workspace/entries.js";
import { baseEnvironment } from "./arguments.js";
import type { Cgroup } from "./cgroup.js";
import { areStopped, Commands } from "./commands.js";
import { DiskWatch, heldBy } from "./disk-watch.js";
import { openNetwork, startForwarder } from "./network.js";
import { type Findings, probe } from "./probe.js";
import { openStateDirectory, Registry, type StateDirectory, stateDirectory } from "./registry.js";
import { SparePool, shapeOf } from "./spare-pool.js";
import type { Supervisor } from "./supervisor.js";
import { type SweepReport, sweep } from "./sweep.js";
import { copiedWorkspace, overlaidWorkspace, overlayObstacle, type Workspace } from "./workspace.js";

export type LocalOptions = {
  /** Where sandboxes are kept; only this user may be able to look into it. */
  readonly directory?: string;
  /** The bubblewrap to use. Default: the one of the system. */
  readonly bwrap?: string;
  /** Whether names of hosts that a sandbox may speak with may lead to private addresses. */
  readonly private?: boolean;
  /** Told when something was cleaned up that a process which is gone had left. Default: a warning of the process. */
  readonly onSweep?: (report: SweepReport) => void;
};

/** Sandboxes by bubblewrap: own namespaces, no network, the host's programs only, limits. */
export function localSandbox(options: LocalOptions = {}): SandboxProvider {
  return new LocalProvider(options);
}

/** The findings about this machine, and the parts that its sandboxes share. */
type Machine = {
  readonly state: StateDirectory;
  readonly registry: Registry;
  readonly spares: SparePool;
  readonly findings: Findings;
  /** Why workspaces cannot be layers over a shared checkout. */
  readonly obstacle: string | undefined;
};

class LocalProvider extends OpeningProvider<LocalSandbox> {
  readonly name = "local";
  readonly #options: LocalOptions;
  readonly #machine = new Lazy(() => this.#prepare());
  readonly #swept = new Lazy(() => this.#sweep());

  constructor(options: LocalOptions) {
    super();
    this.#options = options;
  }

  async capabilities(): Promise<Capabilities> {
    const { obstacle, findings } = await this.#machine.get();
    const { capabilities } = findings;
    const { detail } = capabilities;
    return {
      ...capabilities,
      fork: obstacle === undefined ? "cow" : "copy",
      detail: { ...detail, overlay: obstacle ?? true },
    };
  }

  async create(spec: SandboxSpec, options: CreateOptions): Promise<Sandbox> {
    return this.open(options, (forget) => this.#make(spec, options, forget));
  }

  override async connect(ref: SandboxRef, options: ConnectOptions): Promise<Sandbox> {
    const { phase, conditions } = (await (await this.opened(ref))?.status()) ?? {};
    if (phase === "lost")
      throw new SandboxLostError(
        ref.id,
        conditions?.find(({ reason }) => reason === "Lost")?.message ?? "it ended",
      );
    return super.connect(ref, options);
  }

  override async *list(): AsyncIterable<SandboxRef> {
    const { registry } = await this.#machine.get();
    yield* super.list();
    // Those of other processes; ours are written down a little later than they are opened.
    for (const { ref, provider } of await registry.list())
      if (provider === this.name && ref !== undefined && this.opened(ref) === undefined) yield ref;
  }

  sweep(): Promise<void> {
    return this.#swept.get();
  }

  override async close(): Promise<void> {
    await this.#swept.known?.catch(() => {});
    this.#swept.forget();
    await super.close();
    const machine = await this.#machine.known;
    if (machine === undefined) return;
    await machine.spares.close();
    await machine.registry.close();
    this.#machine.forget();
  }

  async #sweep(): Promise<void> {
    const { directory, onSweep } = this.#options;
    await sweep(stateDirectory(this.name, directory), defined({ onSweep }));
  }

  async #prepare(): Promise<Machine> {
    const { directory, bwrap } = this.#options;
    // A failed clean-up must not keep sandboxes from opening.
    await this.sweep().catch(() => {});
    const findings = await probe(bwrap);
    const state = await openStateDirectory(directory);
    const registry = new Registry(state.root);
    const obstacle = await overlayObstacle(state.root);
    return { state, registry, spares: new SparePool(registry, findings.groups), findings, obstacle };
  }

  async #make(given: SandboxSpec, options: CreateOptions, forget: () => void): Promise<LocalSandbox> {
    const capabilities = await this.capabilities();
    const spec = checkSpec(given, this.name, capabilities);
    const secrets = secretsOf(spec, options.secrets);
    const { state, spares, findings } = await this.#machine.get();
    const { id, incarnation, signal, trees, tree } = options;
    signal?.throwIfAborted();
    const limits = limitsOf(spec);
    const layers = await this.#isLayered(options);
    const shape = shapeOf(state, findings.bwrap, spec, limits);
    const spare = await spares.take(layers ? undefined : shape);
    const { box, group, launcher, pipes, clean, used, supervisor: ready } = spare;
    // Steps to undo, the last first.
    const ends: (() => Promise<void>)[] = [clean, () => launcher.stop()];
    const end = async () => {
      forget();
      for (const each of ends.splice(0).reverse()) await each();
    };
    if (ready !== undefined) ends.push(() => ready.end("it was destroyed"));
    try {
      group?.limit(limits);
      const files = { folder: box.directory, trees, exclude: spec.exclude, limit: limits.disk, signal };
      const workspace =
        layers && tree !== null
          ? await overlaidWorkspace({ ...files, tree, shelf: state.frozen })
          : await copiedWorkspace({ ...files, tree });
      ends.push(() => workspace.release());
      const network = await openNetwork(spec.network, pipes.folder, this.#options.private === true);
      if (network !== undefined) ends.push(() => network.proxy.close());
      const starting = ready ?? shape.start({ box, launcher, pipes }, workspace);
      // While it starts: it was written down before, but not whose it is.
      await box.update({ id, incarnation });
      const supervisor = await starting;
      if (ready === undefined) ends.push(() => supervisor.end("it was destroyed"));
      const commands = new Commands({
        ...{ id, pipes, limits, used, countsProcesses: findings.countsProcesses, network: network?.proxy },
        disk: new DiskWatch(workspace.written, limits.disk, () => heldBy(supervisor.process)),
        outOfMemory: () => group?.outOfMemory() ?? 0,
      });
      const sandbox = new LocalSandbox({
        ...{ identity: identityOf(this.name, spec, options), options, capabilities },
        ...{ workspace, commands, group, clean: end },
        create: (next, others) => this.create(next, others),
      });
      supervisor.serve({
        environment: { ...baseEnvironment(), ...network?.environment, ...spec.env, ...secrets },
        report: commands.take,
        gone: sandbox.lose,
      });
      if (network !== undefined) await startForwarder(supervisor);
      sandbox.attach(supervisor);
      signal?.throwIfAborted();
      // Anyone who opens a sandbox uses it first: what others may want to know of it is written down a little later.
      const processes = [launcher.process ?? 0, supervisor.process];
      setTimeout(() => void box.update({ processes, ref: sandbox.ref }), LATER_MILLISECONDS).unref();
      return sandbox;
    } catch (error) {
      await end();
      throw error;
    }
  }

  /** Layers where many files are shared with others, a copy where there are few or nobody to share them with. */
  async #isLayered({ parent, tree, trees }: CreateOptions): Promise<boolean> {
    const { fork } = await this.capabilities();
    if (fork !== "cow" || tree === null || parent?.by !== "fork") return false;
    return (await totalsOf(trees, tree)).files >= FEW_FILES;
  }
}

const LATER_MILLISECONDS = 20;
/** So many are copied in less time than layers are mounted. */
const FEW_FILES = 200;

type LocalSandboxOptions = OpenSandboxOptions & {
  readonly workspace: Workspace;
  readonly commands: Commands;
  readonly group: Cgroup | undefined;
  /** Gives back everything that it has on the host when its processes are gone: directories, control groups. */
  readonly clean: () => Promise<void>;
};

/** How long it may take until everything stands still; a process in the kernel cannot be stopped. */
const STOP_MILLISECONDS = 2_000;

/** A sandbox that bubblewrap holds. */
class LocalSandbox extends WorkspaceSandbox {
  readonly #options: LocalSandboxOptions;
  #supervisor: Supervisor | undefined;
  /** Until everything stands still. */
  #stopping: Promise<void> = Promise.resolve();

  constructor(options: LocalSandboxOptions) {
    super(options);
    this.#options = options;
  }

  /** Says who supervises it; it is running from here on. */
  attach(supervisor: Supervisor): void {
    this.#supervisor = supervisor;
    this.#options.commands.attach(supervisor);
    this.#options.workspace.attach(supervisor.process);
    this.life.begin(this.identity.spec.ttl, [
      { type: "Isolated", status: true, reason: "Namespaces", message: "it has namespaces of its own" },
      { type: "Ready", status: true, reason: "Started" },
    ]);
  }

  exec(command: string | readonly string[], options: ExecOptions = {}): Execution {
    return this.#options.commands.exec(command, options, this.obstacle);
  }

  async suspend(): Promise<void> {
    if (this.life.phase !== "running") return;
    const { group, commands } = this.#options;
    this.life.suspend();
    commands.suspend();
    const supervisor = this.#supervisor;
    if (group !== undefined) this.#stopping = group.freeze();
    else if (supervisor !== undefined) this.#stopping = this.#stop(supervisor);
    await this.#stopping;
  }

  async resume(): Promise<void> {
    if (this.life.phase !== "suspended") return;
    const { group, commands } = this.#options;
    await this.#stopping;
    if (group !== undefined) await group.thaw();
    else this.#supervisor?.tell("kill -CONT -1 2>/dev/null");
    // It may have ended meanwhile.
    if (this.life.phase !== "suspended") return;
    this.life.resume();
    commands.resume();
  }

  /**
   * Stops everything but process 1, which cannot be stopped. SIGCONT is not kept for a process that is being
   * forked, so this ends only when all have stopped.
   */
  async #stop(supervisor: Supervisor): Promise<void> {
    const until = performance.now() + STOP_MILLISECONDS;
    do {
      supervisor.tell("kill -STOP -1 2>/dev/null");
      await wait(1);
    } while (!areStopped(supervisor.process) && performance.now() < until);
  }

  /** Takes notice that the supervisor is gone. */
  readonly lose = (why: string): void => {
    if (this.isDestroyed) return;
    this.life.lose(why);
    this.#options.commands.lose("lost", why);
  };

  protected override get native(): SandboxRef["native"] {
    const { process, namespaces } = this.#supervisor ?? { process: 0, namespaces: {} };
    return { process, namespaces };
  }

  protected async remove(): Promise<void> {
    const { group, commands, clean } = this.#options;
    const suspended = this.life.phase === "suspended";
    this.life.finish();
    // Frozen processes do not die.
    const ending = this.#supervisor?.end("it was destroyed");
    if (suspended) await group?.thaw().catch(() => {});
    await ending;
    commands.lose("killed", "the sandbox was destroyed");
    await clean();
  }
}
