import { checkSpec, limitsOf, secretsOf } from "../check-spec.js";
import { SandboxLostError } from "../error.js";
import type { ConnectOptions, CreateOptions, Sandbox, SandboxProvider } from "../sandbox.js";
import type { Capabilities, SandboxRef, SandboxSpec } from "../spec.js";
import { totalsOf } from "../workspace/entries.js";
import { baseEnvironment } from "./arguments.js";
import { Commands } from "./commands.js";
import { DiskWatch, heldBy } from "./disk-watch.js";
import { shapeOf, start } from "./opening.js";
import { Outside } from "./outside.js";
import { overlaidWorkspace, overlayObstacle } from "./overlay.js";
import { openPlace, type Place } from "./place.js";
import { type Findings, probe } from "./probe.js";
import { Registry, stateDirectory } from "./registry.js";
import { LocalSandbox } from "./sandbox.js";
import { Stock } from "./stock.js";
import { type SweepReport, sweep } from "./sweep.js";
import { copiedWorkspace } from "./workspace.js";

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

/**
 * Sandboxes of this machine, made with bubblewrap: namespaces of their own, no network, nothing of the host but its
 * programs, limits on everything. Where that cannot be had, nothing is run.
 */
export function localSandbox(options: LocalOptions = {}): SandboxProvider {
  return new LocalProvider(options);
}

type Ground = {
  readonly place: Place;
  readonly registry: Registry;
  readonly stock: Stock;
  readonly findings: Findings;
  /** Why workspaces cannot be layers over a shared checkout. */
  readonly obstacle: string | undefined;
};

class LocalProvider implements SandboxProvider {
  readonly name = "local";
  readonly #options: LocalOptions;
  readonly #open = new Map<string, Promise<LocalSandbox>>();
  #ground: Promise<Ground> | undefined;
  #swept: Promise<void> | undefined;

  constructor(options: LocalOptions) {
    this.#options = options;
  }

  async capabilities(): Promise<Capabilities> {
    const { obstacle, findings } = await this.#prepared();
    const { capabilities } = findings;
    const { detail } = capabilities;
    return {
      ...capabilities,
      fork: obstacle === undefined ? "cow" : "copy",
      detail: { ...detail, overlay: obstacle ?? true },
    };
  }

  async create(spec: SandboxSpec, options: CreateOptions): Promise<Sandbox> {
    const key = keyOf(options);
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    const opening = this.#make(spec, options, () => {
      if (this.#open.get(key) === opening) this.#open.delete(key);
    });
    this.#open.set(key, opening);
    opening.catch(() => this.#open.delete(key));
    return opening;
  }

  async connect(ref: SandboxRef, _options: ConnectOptions): Promise<Sandbox> {
    const sandbox = await this.#open.get(keyOf(ref));
    if (sandbox === undefined)
      throw new SandboxLostError(ref.id, "no process of this host holds it any more");
    const { phase, conditions } = await sandbox.status();
    if (phase === "lost")
      throw new SandboxLostError(
        ref.id,
        conditions.find(({ reason }) => reason === "Lost")?.message ?? "it ended",
      );
    await sandbox.resume();
    return sandbox;
  }

  async *list(): AsyncIterable<SandboxRef> {
    const { registry } = await this.#prepared();
    const ours = new Set<string>();
    for (const [key, opening] of [...this.#open]) {
      const sandbox = await opening.catch(() => undefined);
      ours.add(key);
      if (sandbox !== undefined && this.#open.has(key)) yield sandbox.ref;
    }
    for (const { ref, provider } of await registry.list())
      if (provider === this.name && ref !== undefined && !ours.has(keyOf(ref))) yield ref;
  }

  sweep(): Promise<void> {
    this.#swept ??= this.#sweep().catch((error: unknown) => {
      this.#swept = undefined;
      throw error;
    });
    return this.#swept;
  }

  async close(): Promise<void> {
    await this.#swept?.catch(() => {});
    this.#swept = undefined;
    const all = await Promise.allSettled([...this.#open.values()]);
    await Promise.all(all.map((one) => (one.status === "fulfilled" ? one.value.destroy() : undefined)));
    if (this.#ground === undefined) return;
    const { registry, stock } = await this.#ground;
    await stock.close();
    await registry.close();
    this.#ground = undefined;
  }

  async #sweep(): Promise<void> {
    const { directory, onSweep } = this.#options;
    await sweep(stateDirectory(this.name, directory), onSweep === undefined ? {} : { onSweep });
  }

  #prepared(): Promise<Ground> {
    this.#ground ??= this.#prepare().catch((error: unknown) => {
      this.#ground = undefined;
      throw error;
    });
    return this.#ground;
  }

  async #prepare(): Promise<Ground> {
    const { directory, bwrap } = this.#options;
    // What could not be cleaned up is no reason to open nothing.
    await this.sweep().catch(() => {});
    const findings = await probe(bwrap);
    const place = await openPlace(directory);
    const registry = new Registry(place.root);
    const obstacle = await overlayObstacle(place.root);
    return { place, registry, stock: new Stock(registry, findings.groups), findings, obstacle };
  }

  async #make(given: SandboxSpec, options: CreateOptions, over: () => void): Promise<LocalSandbox> {
    const capabilities = await this.capabilities();
    const spec = checkSpec(given, this.name, capabilities);
    const secrets = secretsOf(spec, options.secrets);
    const { place, stock, findings } = await this.#prepared();
    const { id, incarnation, signal, trees, tree } = options;
    signal?.throwIfAborted();
    const limits = limitsOf(spec);
    const layers = await this.#isLayered(options);
    const shape = shapeOf(place, findings.bwrap, spec, limits);
    const spare = await stock.take(layers ? undefined : shape);
    const { box, group, launcher, pipes, clean, used, supervisor: ready } = spare;
    // What must be undone, the last first.
    const ends: (() => Promise<void>)[] = [clean, () => launcher.stop()];
    const end = async () => {
      over();
      for (const each of ends.splice(0).reverse()) await each();
    };
    if (ready !== undefined) ends.push(() => ready.end("it was destroyed"));
    try {
      group?.limit(limits);
      const files = { folder: box.directory, trees, exclude: spec.exclude, limit: limits.disk, signal };
      const workspace =
        layers && tree !== null
          ? await overlaidWorkspace({ ...files, tree, shelf: place.frozen })
          : await copiedWorkspace({ ...files, tree });
      ends.push(() => workspace.release());
      const outside = await Outside.open(spec.network, pipes.folder, this.#options.private === true);
      if (outside !== undefined) ends.push(() => outside.close());
      const starting =
        ready ?? start(place, findings.bwrap, spec, limits, { box, launcher, pipes, workspace });
      // While it starts: it was written down before, but not whose it is.
      await box.update({ id, incarnation });
      const supervisor = await starting;
      if (ready === undefined) ends.push(() => supervisor.end("it was destroyed"));
      const commands = new Commands({
        ...{ id, pipes, limits, outside, used, countsProcesses: findings.countsProcesses },
        disk: new DiskWatch(workspace.written, limits.disk, () => heldBy(supervisor.process)),
        outOfMemory: () => group?.outOfMemory() ?? 0,
      });
      const sandbox = new LocalSandbox({
        ...{ spec, options, capabilities, workspace, commands, group, clean: end },
        create: (next, others) => this.create(next, others),
      });
      supervisor.serve({
        environment: { ...baseEnvironment(), ...outside?.environment, ...spec.env, ...secrets },
        report: commands.take,
        gone: sandbox.lose,
      });
      await outside?.connect(supervisor);
      sandbox.attach(supervisor);
      signal?.throwIfAborted();
      // Whoever opens a sandbox uses it first: what others may want to know of it is written down a little later.
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

function keyOf({ id, incarnation }: { readonly id: string; readonly incarnation: number }): string {
  return `${incarnation} ${id}`;
}
