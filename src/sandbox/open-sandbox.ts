import type { Digest } from "../session/index.js";
import { defined } from "../util/index.js";
import { requireTime } from "./check-spec.js";
import { SandboxLostError } from "./error.js";
import type {
  ConnectOptions,
  CreateOptions,
  ExecOptions,
  Execution,
  ForkOptions,
  Sandbox,
  SandboxFiles,
  Snapshot,
} from "./sandbox.js";
import type { Capabilities, SandboxRef, SandboxSpec, SandboxStatus } from "./spec.js";

/** What stays the same of a sandbox as long as it exists. */
export type SandboxIdentity = Omit<SandboxRef, "status" | "native">;

export type OpenSandboxOptions = {
  readonly identity: SandboxIdentity;
  readonly options: ConnectOptions;
  readonly capabilities: Capabilities;
  /** Opens another sandbox of the same kind. */
  readonly create: (spec: SandboxSpec, options: CreateOptions) => Promise<Sandbox>;
};

/** The parts of a sandbox that are the same in every kind. */
export abstract class OpenSandbox implements Sandbox {
  abstract readonly files: SandboxFiles;
  readonly capabilities: Capabilities;
  protected readonly identity: SandboxIdentity;
  readonly #options: OpenSandboxOptions;
  #destroyed: Promise<void> | undefined;

  constructor(options: OpenSandboxOptions) {
    this.#options = options;
    this.identity = options.identity;
    this.capabilities = options.capabilities;
  }

  get ref(): SandboxRef {
    const { native, currentStatus: status } = this;
    return Object.freeze({ ...this.identity, ...defined({ native }), status });
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
    this.expireAfter(milliseconds);
  }

  async status(): Promise<SandboxStatus> {
    return this.currentStatus;
  }

  destroy(): Promise<void> {
    this.#destroyed ??= this.remove();
    return this.#destroyed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }

  /** What the provider knows it by. */
  protected get native(): SandboxRef["native"] {
    return undefined;
  }

  protected abstract get currentStatus(): SandboxStatus;
  protected abstract expireAfter(milliseconds: number): void;
  /** Ends everything in it and removes it. Called once. */
  protected abstract remove(): Promise<void>;

  protected get isDestroyed(): boolean {
    return this.#destroyed !== undefined;
  }

  protected requireThere(): void {
    if (this.isDestroyed) throw new SandboxLostError(this.identity.id, "it was destroyed");
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

/** The identity of a sandbox that a provider opens. */
export function identityOf(
  provider: string,
  spec: SandboxSpec,
  { id, incarnation, tree, parent }: CreateOptions,
): SandboxIdentity {
  return { provider, id, incarnation, spec, tree, ...defined({ parent }) };
}
