import type { Digest } from "../session/index.js";
import { defined } from "../util/index.js";
import { requireTime } from "./check-spec.js";
import { SandboxLostError } from "./error.js";
import { gated } from "./gated-files.js";
import type { Workspace } from "./local/workspace.js";
import type {
  ConnectOptions,
  CreateOptions,
  ExecOptions,
  Execution,
  ForkOptions,
  Sandbox,
  SandboxFiles,
  SandboxProvider,
  Snapshot,
} from "./sandbox.js";
import type { Capabilities, Condition, SandboxRef, SandboxSpec, SandboxStatus } from "./spec.js";
import { LongTimer } from "./timer.js";

/** The properties of a sandbox that never change. */
export type SandboxIdentity = Omit<SandboxRef, "status" | "native">;

export type OpenSandboxOptions = {
  readonly identity: SandboxIdentity;
  readonly options: ConnectOptions;
  readonly capabilities: Capabilities;
  /** Opens another sandbox of the same kind. */
  readonly create: (spec: SandboxSpec, options: CreateOptions) => Promise<Sandbox>;
  /** The clock of its status; default `Date.now`. */
  readonly now?: () => number;
};

/** The parts of a sandbox that are the same in every kind. */
export abstract class OpenSandbox implements Sandbox {
  abstract readonly files: SandboxFiles;
  readonly capabilities: Capabilities;
  protected readonly identity: SandboxIdentity;
  protected readonly life: Life;
  readonly #options: OpenSandboxOptions;
  #destroyed: Promise<void> | undefined;

  constructor(options: OpenSandboxOptions) {
    this.#options = options;
    this.identity = options.identity;
    this.capabilities = options.capabilities;
    this.life = new Life(() => this.expire(), options.now);
  }

  get ref(): SandboxRef {
    const { native } = this;
    return Object.freeze({ ...this.identity, ...defined({ native }), status: this.life.status });
  }

  abstract exec(command: string | readonly string[], options?: ExecOptions): Execution;
  abstract snapshot(): Promise<Snapshot>;
  abstract restore(tree: Digest | null): Promise<void>;
  abstract suspend(): Promise<void>;
  abstract resume(): Promise<void>;

  async fork(options: ForkOptions): Promise<Sandbox> {
    const { tree } = await this.snapshot();
    return this.#options.create(this.identity.spec, { ...this.forkOptions(options), tree });
  }

  async renew(milliseconds: number): Promise<void> {
    this.requireThere();
    requireTime(milliseconds);
    this.life.renew(milliseconds);
  }

  async status(): Promise<SandboxStatus> {
    return this.life.status;
  }

  destroy(): Promise<void> {
    this.#destroyed ??= this.remove();
    return this.#destroyed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }

  /** The provider's own name of it. */
  protected get native(): SandboxRef["native"] {
    return undefined;
  }

  /** Ends everything in it and removes it. Called once. */
  protected abstract remove(): Promise<void>;

  protected get isDestroyed(): boolean {
    return this.#destroyed !== undefined;
  }

  protected requireThere(): void {
    if (this.isDestroyed) throw new SandboxLostError(this.identity.id, "it was destroyed");
  }

  /** Why no command can begin. */
  protected get obstacle(): string | undefined {
    if (this.isDestroyed || this.life.phase === "finished") return "the sandbox was destroyed";
    if (this.life.phase === "lost") return "the sandbox is lost";
    return this.life.phase === "suspended" ? "the sandbox is suspended: resume it first" : undefined;
  }

  /** Does what the spec says should happen when its time is over. */
  protected async expire(): Promise<void> {
    const { onExpire = "delete" } = this.identity.spec;
    if (onExpire === "suspend") await this.suspend();
    else if (onExpire === "delete") await this.destroy();
  }

  protected forkOptions({ id, incarnation = 1 }: ForkOptions): Omit<CreateOptions, "tree"> {
    const { signal: _signal, ...options } = this.#options.options;
    const { id: parent, incarnation: by } = this.identity;
    return { ...options, id, incarnation, parent: { id: parent, incarnation: by, by: "fork" } };
  }
}

/** A sandbox whose workspace is a directory of the host. */
export abstract class WorkspaceSandbox extends OpenSandbox {
  readonly files: SandboxFiles;
  readonly #workspace: Workspace;

  constructor(options: OpenSandboxOptions & { readonly workspace: Workspace }) {
    super(options);
    this.#workspace = options.workspace;
    this.files = gated(options.workspace, () => this.requireThere());
  }

  async snapshot(): Promise<Snapshot> {
    this.requireThere();
    return this.#workspace.snapshot();
  }

  async restore(tree: Digest | null): Promise<void> {
    this.requireThere();
    await this.#workspace.restore(tree);
  }
}

export function identityOf(
  provider: string,
  spec: SandboxSpec,
  { id, incarnation, tree, parent }: CreateOptions,
): SandboxIdentity {
  return { provider, id, incarnation, spec, tree, ...defined({ parent }) };
}

type Phase = SandboxStatus["phase"];

/** The phase of a sandbox, when its conditions last changed and why, and when its time is over. */
export class Life {
  readonly #expire: () => Promise<void>;
  readonly #now: () => number;
  readonly #conditions = new Map<Condition["type"], Condition>();
  #phase: Phase = "pending";
  #timer: LongTimer | undefined;

  constructor(expire: () => Promise<void>, now: () => number = Date.now) {
    this.#expire = expire;
    this.#now = now;
  }

  get phase(): Phase {
    return this.#phase;
  }

  get status(): SandboxStatus {
    return Object.freeze({ phase: this.#phase, conditions: Object.freeze([...this.#conditions.values()]) });
  }

  begin(ttl: number | undefined, conditions: readonly Omit<Condition, "at">[]): void {
    this.#phase = "running";
    for (const { type, status, reason, message } of conditions) this.#set(type, status, reason, message);
    if (ttl !== undefined) this.renew(ttl);
  }

  /** Adopts a status that was observed from outside. A condition that still holds keeps its time. */
  observe({ phase, conditions }: SandboxStatus): void {
    this.#phase = phase;
    for (const condition of conditions) {
      const { status, reason } = this.#conditions.get(condition.type) ?? {};
      if (status !== condition.status || reason !== condition.reason)
        this.#conditions.set(condition.type, condition);
    }
  }

  suspend(): void {
    this.#phase = "suspended";
    this.#set("Ready", false, "Suspended");
    this.#set("Suspended", true, "Asked");
  }

  resume(): void {
    this.#phase = "running";
    this.#set("Suspended", false, "Asked");
    this.#set("Ready", true, "Resumed");
  }

  lose(why: string): void {
    this.#end("lost");
    this.#set("Ready", false, "Lost", why);
    this.#set("Isolated", "unknown", "Lost");
  }

  finish(): void {
    this.#end("finished");
    this.#set("Ready", false, "Destroyed");
    this.#set("Finished", true, "Destroyed");
  }

  /** Sets how long it may exist from now on. */
  renew(milliseconds: number): void {
    this.#timer?.clear();
    if (this.#conditions.has("Expired")) this.#set("Expired", false, "Renewed");
    // Nothing waits for it: a program that is done must be able to end.
    this.#timer = new LongTimer(milliseconds, () => {
      this.#set("Expired", true, "TimeOver", `it was given ${milliseconds} ms`);
      void this.#expire().catch(() => {});
    }).unref();
  }

  #end(phase: "lost" | "finished"): void {
    this.#phase = phase;
    this.#timer?.clear();
  }

  #set(type: Condition["type"], status: Condition["status"], reason: string, message?: string): void {
    const at = new Date(this.#now()).toISOString();
    this.#conditions.set(type, Object.freeze({ type, status, reason, ...defined({ message }), at }));
  }
}

type Key = Pick<SandboxRef, "id" | "incarnation">;

/** The parts of a provider that are the same in every kind: one sandbox for each id and incarnation, however often it is asked for. */
export abstract class OpeningProvider<Kind extends Sandbox> implements SandboxProvider {
  abstract readonly name: string;
  /** Why a sandbox may be missing that this process does not hold. */
  protected readonly missing: string = "no process of this host holds it";
  readonly #opened = new Map<string, Promise<Kind>>();

  abstract capabilities(): Promise<Capabilities>;
  abstract create(spec: SandboxSpec, options: CreateOptions): Promise<Sandbox>;

  async connect(ref: SandboxRef, _options: ConnectOptions): Promise<Sandbox> {
    const sandbox = await this.opened(ref);
    if (sandbox === undefined) throw new SandboxLostError(ref.id, this.missing);
    await sandbox.resume();
    return sandbox;
  }

  /** Those of this process. */
  async *list(): AsyncIterable<SandboxRef> {
    for (const [name, opening] of [...this.#opened]) {
      const sandbox = await opening.catch(() => undefined);
      if (sandbox !== undefined && this.#opened.has(name)) yield sandbox.ref;
    }
  }

  /** Destroys all of them. A failure is thrown when all others are gone. */
  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#opened.values());
    const ended = opened.map((one) => (one.status === "fulfilled" ? one.value.destroy() : undefined));
    const failed = (await Promise.allSettled(ended)).find((one) => one.status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }

  /** The sandbox of a key, opened only if it is not there. `forget` is for when it is gone. */
  protected open(key: Key, open: (forget: () => void) => Promise<Kind>): Promise<Kind> {
    const name = keyOf(key);
    const known = this.#opened.get(name);
    if (known !== undefined) return known;
    const forget = (): void => {
      if (this.#opened.get(name) === opening) this.#opened.delete(name);
    };
    const opening = open(forget);
    this.#opened.set(name, opening);
    opening.catch(forget);
    return opening;
  }

  protected opened(key: Key): Promise<Kind> | undefined {
    return this.#opened.get(keyOf(key));
  }
}

function keyOf({ id, incarnation }: Key): string {
  return `${incarnation} ${id}`;
}
