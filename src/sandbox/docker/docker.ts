import { isDead, newOwner } from "../../store/index.js";
import { checkSpec, secretsOf } from "../check-spec.js";
import { SandboxLostError, SandboxUnavailableError } from "../error.js";
import { Lazy } from "../lazy.js";
import { identityOf, OpeningProvider, type SandboxIdentity } from "../open-sandbox.js";
import type { ConnectOptions, CreateOptions, Sandbox, SandboxProvider } from "../sandbox.js";
import type { Capabilities, Network, SandboxRef, SandboxSpec } from "../spec.js";
import { ContainerSandbox } from "./container.js";
import { Engine, findSocket } from "./engine.js";
import { removeContainer, runHelper } from "./helper.js";
import type { DockerOptions, Launched } from "./launch.js";
import { fill, LABELS, labelled, launch, made, nameOf, owned } from "./launch.js";
import { everybody } from "./script.js";
import { endOf, statusOf } from "./status.js";

export type { DockerOptions } from "./launch.js";

const TIMEOUT = 60_000;

/** Sandboxes in containers of Docker or Podman on this machine. The image needs `/bin/sh` and coreutils. */
export function dockerSandbox(options: DockerOptions = {}): SandboxProvider {
  return new DockerProvider(options);
}

class DockerProvider extends OpeningProvider<ContainerSandbox> {
  readonly name = "docker";
  readonly #options: DockerOptions;
  readonly #owner = newOwner();
  readonly #engine = new Lazy(() => this.#connect());
  readonly #probed = new Lazy(async () => probe(await this.#engine.get(), this.#options));
  /** Removes, once, what processes that are gone have left. */
  readonly #swept = new Lazy(async () => void (await sweep(await this.#engine.get())));

  constructor(options: DockerOptions) {
    super();
    this.#options = options;
  }

  capabilities(): Promise<Capabilities> {
    return this.#probed.get();
  }

  async create(spec: SandboxSpec, options: CreateOptions): Promise<Sandbox> {
    const checked = checkSpec(spec, this.name, await this.capabilities());
    const engine = await this.#engine.get();
    // A failed clean-up must not keep sandboxes from opening.
    await this.sweep().catch(() => {});
    return this.open(options, async (gone) => {
      const secrets = secretsOf(checked, options.secrets);
      const launched = await launch(engine, checked, options, this.#options, this.#owner);
      const identity = identityOf(this.name, checked, options);
      return this.#sandbox(engine, launched, { ...options, secrets }, identity, gone);
    });
  }

  override async connect(ref: SandboxRef, options: ConnectOptions): Promise<Sandbox> {
    const engine = await this.#engine.get();
    if (this.opened(ref) !== undefined) return super.connect(ref, options);
    return this.open(ref, async (gone) => {
      const found = await made(engine, nameOf(ref.id, ref.incarnation));
      if (found === undefined || found.Config.Labels?.[LABELS.id] !== ref.id)
        throw new SandboxLostError(ref.id, "its container is gone");
      const { Status } = found.State;
      if (Status !== "running" && Status !== "paused") throw new SandboxLostError(ref.id, endOf(found.State));
      if (Status === "paused") await engine.json("POST", `/containers/${found.Id}/unpause`);
      else if (engine.about.name === "podman") await runHelper(engine, found.Id, everybody("CONT"));
      const inspected = await engine.json<Launched["inspected"]>("GET", `/containers/${found.Id}/json`);
      const launched = { inspected, owner: await owned(engine, inspected), fresh: false };
      const { status: _status, native: _native, ...identity } = ref;
      const secrets = secretsOf(ref.spec, options.secrets);
      return this.#sandbox(engine, launched, { ...options, secrets }, identity, gone);
    });
  }

  override async *list(): AsyncIterable<SandboxRef> {
    yield* inventory(await this.#engine.get());
  }

  sweep(): Promise<void> {
    return this.#swept.get();
  }

  override async close(): Promise<void> {
    await this.#swept.known?.catch(() => {});
    this.#swept.forget();
    try {
      await super.close();
    } finally {
      this.#engine.forget();
      this.#probed.forget();
    }
  }

  async #connect(): Promise<Engine> {
    const { socket, timeout = TIMEOUT } = this.#options;
    return Engine.open(findSocket(socket), timeout);
  }

  async #sandbox(
    engine: Engine,
    launched: Launched,
    options: ConnectOptions,
    identity: SandboxIdentity,
    gone: () => void,
  ): Promise<ContainerSandbox> {
    return new ContainerSandbox({
      ...{ engine, ...launched, identity, options, gone },
      capabilities: await this.capabilities(),
      fill: (filling, tree) => fill(engine, filling, tree, options.trees, this.#owner),
      create: (spec, more) => this.create(spec, more),
    });
  }
}

type Listed = {
  readonly Id: string;
  /** Seconds since 1970. */
  readonly Created: number;
  readonly State?: string;
  readonly Labels?: { readonly [name: string]: string } | null;
};

/** The sandboxes of an engine, of any process. */
export async function* inventory(engine: Engine): AsyncGenerator<SandboxRef, void, void> {
  for (const { Id, Labels } of await listed(engine, LABELS.id)) {
    const about = labelled(Labels ?? {});
    // Removed since the list was made.
    const inspected = about === undefined ? undefined : await made(engine, Id);
    if (about === undefined || inspected === undefined) continue;
    const native = { container: Id, engine: engine.about.name, version: engine.about.version };
    yield Object.freeze({ ...about, native, status: statusOf(inspected.State) });
  }
}

/** Removes sandboxes whose process has certainly ended and whose own time is over. Returns their number. */
export async function sweep(engine: Engine): Promise<number> {
  let removed = 0;
  for (const { Id, Labels, Created, State } of await listed(engine, LABELS.owner)) {
    if (!isDead(Labels?.[LABELS.owner] ?? "")) continue;
    const { ttl, onExpire = "delete" } = labelled(Labels ?? {})?.spec ?? {};
    if (ttl !== undefined && Date.now() < Created * 1000 + ttl) continue;
    if (ttl !== undefined && onExpire === "retain") continue;
    if (ttl !== undefined && onExpire === "suspend") {
      if (State === "running") await engine.json("POST", `/containers/${Id}/pause`).catch(() => {});
      continue;
    }
    // Another process may be sweeping too.
    await removeContainer(engine, Id).then(
      () => {
        removed += 1;
      },
      () => {},
    );
  }
  return removed;
}

async function listed(engine: Engine, label: string): Promise<readonly Listed[]> {
  const filters = encodeURIComponent(JSON.stringify({ label: [label] }));
  return engine.json<readonly Listed[]>("GET", "/containers/json", { query: { all: "true", filters } });
}

type Info = {
  readonly OSType?: string;
  readonly MemoryLimit?: boolean;
  readonly PidsLimit?: boolean;
  readonly CgroupVersion?: string;
  readonly SecurityOptions?: readonly string[] | null;
};

/** The capabilities of this engine's sandboxes. */
export async function probe(engine: Engine, options: DockerOptions): Promise<Capabilities> {
  const info = await engine.json<Info>("GET", "/info");
  if (info.OSType !== undefined && info.OSType.toLowerCase() !== "linux")
    throw new SandboxUnavailableError(
      "docker",
      `the engine runs containers of ${info.OSType}, and those of Linux are needed`,
      "switch it to Linux containers",
    );
  const wanted = options.network ?? "bridge";
  const networks = await engine.json<readonly { readonly Name: string }[]>("GET", "/networks");
  // Docker's "bridge" is Podman's "podman", and both take the word; "host" need not be listed.
  const hasNetwork =
    wanted === "host" ||
    networks.some(
      ({ Name }) =>
        Name === wanted || (engine.about.name === "podman" && wanted === "bridge" && Name === "podman"),
    );
  const network: readonly Network["mode"][] = hasNetwork ? ["none", "full"] : ["none"];
  return Object.freeze({
    isolation: "container",
    limits: Object.freeze([
      "wall",
      ...(info.MemoryLimit === false ? [] : (["memory"] as const)),
      ...(info.PidsLimit === false ? [] : (["pids"] as const)),
      ...(["cpu", "file", "output", "scratch"] as const),
    ] as const),
    network: Object.freeze(network),
    fork: "copy",
    suspend: "freeze",
    exact: true,
    stdin: true,
    background: true,
    pty: true,
    names: "bytes",
    detail: Object.freeze({
      engine: engine.about.name,
      version: engine.about.version,
      api: engine.about.api,
      cgroups: info.CgroupVersion ?? "unknown",
      security: [...(info.SecurityOptions ?? [])],
      ...(hasNetwork ? {} : { missing: `the engine has no network ${wanted}` }),
    }),
  });
}
