import { setTimeout as wait } from "node:timers/promises";
import type { Sandbox, SandboxProvider, SandboxSpec, Trees } from "../../sandbox/index.js";
import {
  type Digest,
  type Placement,
  RathError,
  type SandboxState,
  type Session,
  sandboxView,
} from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { nearestOf } from "../../util/index.js";
import type { Evidence } from "../request/evidence.js";
import { MissingSecretError } from "../secrets.js";

/** Where a provider of sandboxes comes from: itself, or a way to make it when it is first needed. */
export type ProviderSource = SandboxProvider | (() => SandboxProvider | Promise<SandboxProvider>);

export type SandboxPoolOptions = {
  readonly store: () => Promise<Store>;
  readonly sandboxes: { readonly [name: string]: ProviderSource };
  /** The value of a secret that a placement names. */
  readonly secret: (name: string) => string | undefined;
};

/** A sandbox that is open in this process. */
type OpenSandbox = {
  readonly id: string;
  readonly incarnation: number;
  readonly sandbox: Sandbox;
  /** The run that uses it. */
  run: string;
  tree: Digest | null;
  /** The session that used it last: who comes from elsewhere must not see what it left outside of its files. */
  last: Session;
  busy: boolean;
  /** Something goes on in it between calls, and may change its files. */
  drifting: boolean;
};

/** A sandbox in the hands of one call. */
export type SandboxLease = {
  readonly live: OpenSandbox;
  readonly trees: Trees;
  /** The values that must not be told. */
  readonly secrets: { readonly [name: string]: string };
};

/**
 * The sandboxes of a runtime: which of them belongs to which branch. A sandbox is opened when it is first used, from the
 * files that the session has; the record decides what those are, and a sandbox that has others is not used.
 */
export class SandboxPool {
  readonly #options: SandboxPoolOptions;
  readonly #providers = new Map<string, Promise<SandboxProvider>>();
  readonly #live = new Set<OpenSandbox>();
  #begun: Promise<unknown> | undefined;
  /** Runs that are over: a sandbox that opens late is not for them. */
  readonly #left = new Set<string>();
  /** The newest incarnation of each sandbox that this process opened. */
  readonly #counted = new Map<string, number>();
  #trees: Promise<Trees> | undefined;

  constructor(options: SandboxPoolOptions) {
    this.#options = options;
  }

  /**
   * Has the providers that were given clean up what processes that are gone have left. Not those that are made when they
   * are needed: they do it then. What goes wrong is told by whoever uses them.
   */
  begin(): void {
    this.#begun ??= Promise.allSettled(
      Object.values(this.#options.sandboxes).map(async (given) =>
        typeof given === "function" ? undefined : given?.sweep?.(),
      ),
    );
  }

  /** Where sessions are kept. */
  store(): Promise<Store> {
    return this.#options.store();
  }

  /** Where the files of sessions are kept. */
  async trees(): Promise<Trees> {
    this.#trees ??= (async () => {
      const { Trees } = await import("../../sandbox/index.js");
      return new Trees(await this.#options.store());
    })();
    return this.#trees;
  }

  /** The sandbox of a session, for one call alone. `record` gets the evidence. */
  async acquire(
    tip: Session,
    run: string,
    record: (fact: Evidence) => void,
    signal: AbortSignal,
  ): Promise<SandboxLease> {
    const { placement } = tip;
    if (placement === undefined) throw new NotPlacedError();
    const provider = await this.#provider(placement.sandbox);
    const trees = await this.trees();
    const state = tip.view(sandboxView);
    const { checkSpec } = await import("../../sandbox/index.js");
    const spec = checkSpec(placement.spec ?? {}, provider.name, await provider.capabilities());
    const tree = await this.#files(tip, spec, trees, record);
    const id = `box-${(state.place ?? tip.id).slice(0, 16)}`;
    const secrets = this.#secrets(spec);
    const found = await this.#again(id, tip, run, tree, state, record);
    if (found !== undefined) return { live: found, trees, secrets };
    const reason = state.open === null ? undefined : await this.#missing(id, state, record);
    // Counted before anything is awaited: two runs from one session must not open the same.
    const incarnation = Math.max(state.incarnation, this.#counted.get(id) ?? 0) + 1;
    this.#counted.set(id, incarnation);
    const parent = parentOf(id, state, reason);
    const sandbox = await provider.create(spec, {
      id,
      incarnation,
      tree,
      trees,
      secrets,
      ...(parent !== undefined && { parent }),
      signal,
    });
    const live: OpenSandbox = { id, incarnation, sandbox, run, tree, last: tip, busy: true, drifting: false };
    // The run may have been cancelled while it opened: then nobody else would close it.
    if (this.#left.has(run)) {
      await this.drop({ live });
      throw new SandboxLeftError();
    }
    this.#live.add(live);
    const { ref, capabilities } = sandbox;
    record({
      type: "sandbox-open",
      sandbox: id,
      incarnation,
      provider: provider.name,
      isolation: capabilities.isolation,
      spec: ref.spec,
      status: ref.status,
      capabilities,
      ...(ref.native !== undefined && { native: ref.native }),
      tree,
      ...(parent !== undefined && { parent }),
    });
    return { live, trees, secrets };
  }

  /** A call is over: its sandbox goes on with these files. */
  release(lease: SandboxLease, tip: Session, tree: Digest | null): void {
    if (this.#left.has(lease.live.run)) void this.drop(lease);
    lease.live.tree = tree;
    lease.live.last = tip;
    lease.live.busy = false;
  }

  /** Destroys a sandbox. */
  async drop({ live }: Pick<SandboxLease, "live">): Promise<void> {
    this.#live.delete(live);
    await live.sandbox.destroy().catch(ignore);
  }

  /** A run goes on that was over for some time: it may have waited for somebody. */
  beginRun(run: string): void {
    this.#left.delete(run);
  }

  /** A run is over: its sandboxes are closed, unless they are meant to stay. */
  async endRun(run: string): Promise<void> {
    this.#left.add(run);
    if (this.#left.size > REMEMBERED)
      for (const oldest of [...this.#left].slice(0, 1)) this.#left.delete(oldest);
    const gone = [...this.#live].filter((live) => live.run === run && !isKept(live));
    for (const live of gone) this.#live.delete(live);
    await Promise.all(gone.map((live) => live.sandbox.destroy().catch(ignore)));
  }

  /**
   * What brings the files of a module that ran inside a call back to the chain of the call. Conflicts are marked in the
   * files, for whoever goes on to decide.
   */
  async join(base: Digest | null, ours: Digest | null, theirs: Digest): Promise<readonly Evidence[]> {
    if (ours === theirs) return [];
    const { mergeTrees } = await import("../../sandbox/index.js");
    return [mergeFact(base, ours, theirs, await mergeTrees(await this.trees(), { base, ours, theirs }))];
  }

  async close(): Promise<void> {
    const gone = [...this.#live];
    this.#live.clear();
    await Promise.all(gone.map((live) => live.sandbox.destroy().catch(ignore)));
    // An engine that does not answer must not keep a program that never used it.
    await Promise.race([this.#begun, wait(SWEEP_MILLISECONDS, undefined, { ref: false })]);
    const providers = await Promise.allSettled(this.#providers.values());
    this.#providers.clear();
    for (const one of providers) if (one.status === "fulfilled") await one.value.close().catch(ignore);
  }

  #of(id: string): readonly OpenSandbox[] {
    return [...this.#live].filter((live) => live.id === id);
  }

  /** One that is open already, has just these files, and was used by nobody that this session does not come from. */
  async #again(
    id: string,
    tip: Session,
    run: string,
    tree: Digest | null,
    { open }: SandboxState,
    record: (fact: Evidence) => void,
  ): Promise<OpenSandbox | undefined> {
    for (const live of this.#of(id)) {
      if (live.busy || !tip.descendsFrom(live.last)) continue;
      if (live.tree !== tree || live.incarnation !== open?.incarnation) {
        // It went another way than the record: an attempt that is repeated begins with the files from before.
        await this.drop({ live });
        continue;
      }
      live.busy = true;
      live.run = run;
      if (!(await isUsable(live, record))) {
        await this.drop({ live });
        continue;
      }
      if (live.drifting) await this.#drift(live, record);
      return live;
    }
    return undefined;
  }

  /** A background command may have changed files since the last call. */
  async #drift(live: OpenSandbox, record: (fact: Evidence) => void): Promise<void> {
    const { tree, skipped } = await live.sandbox.snapshot();
    if (tree === live.tree) return;
    const { diffTrees } = await import("../../sandbox/index.js");
    record({
      type: "workspace-change",
      by: "runtime",
      before: live.tree,
      after: tree,
      paths: await diffTrees(await this.trees(), live.tree, tree),
      sandbox: live.id,
      ...(skipped.length > 0 && { skipped }),
    });
    live.tree = tree;
  }

  /** The recorded sandbox cannot be used: it is gone, or another branch has it. */
  async #missing(
    id: string,
    { open }: SandboxState,
    record: (fact: Evidence) => void,
  ): Promise<"retry" | "restore"> {
    const here = this.#of(id).some((live) => live.incarnation === open?.incarnation);
    if (here || open === null || open.id !== id) return "restore";
    record({
      type: "sandbox-lose",
      sandbox: id,
      incarnation: open.incarnation,
      why: "it was open in a process that has ended, or let it go",
    });
    return "retry";
  }

  /** The files a session has: those of its tree, of a merge that goes by itself, or of the folder it begins with. */
  async #files(
    tip: Session,
    spec: SandboxSpec,
    trees: Trees,
    record: (fact: Evidence) => void,
  ): Promise<Digest | null> {
    const { tree, unmerged = [] } = tip.files;
    const { mergeTrees, UnmergedFilesError, importFolder } = await import("../../sandbox/index.js");
    let now = tree;
    for (const { base, theirs } of unmerged) {
      const merged = await mergeTrees(trees, { base, ours: now, theirs });
      if (merged.conflicts.length > 0) throw new UnmergedFilesError(tip.id, merged.conflicts);
      record(mergeFact(base, now, theirs, merged));
      now = merged.tree;
    }
    if (now !== null || spec.workspace === undefined) return now;
    const taken = await importFolder(spec.workspace, trees, spec.exclude);
    record({
      type: "workspace-import",
      source: spec.workspace,
      after: taken.tree,
      files: taken.files,
      bytes: taken.bytes,
      ...(taken.skipped.length > 0 && { skipped: taken.skipped }),
    });
    return taken.tree;
  }

  #secrets({ secrets = [] }: SandboxSpec): { readonly [name: string]: string } {
    return Object.fromEntries(
      secrets.map((name) => {
        const value = this.#options.secret(name);
        if (value === undefined) throw new MissingSecretError(name);
        return [name, value];
      }),
    );
  }

  /** Refuses a kind of sandbox that there is not, before anything is paid for. */
  require(kind: string | undefined): void {
    if (kind !== undefined) this.#source(kind);
  }

  #source(name: string): ProviderSource {
    const given = [this.#options.sandboxes, BUILT_IN].find((table) => Object.hasOwn(table, name))?.[name];
    if (given === undefined) throw unknownPlace(name, Object.keys(this.#options.sandboxes));
    return given;
  }

  async #provider(name: string): Promise<SandboxProvider> {
    let provider = this.#providers.get(name);
    if (provider === undefined) {
      const given = this.#source(name);
      provider = Promise.resolve(typeof given === "function" ? given() : given).then((one) =>
        checked(name, one),
      );
      this.#providers.set(name, provider);
      provider.catch(() => this.#providers.delete(name));
    }
    return provider;
  }
}

/** How long a runtime that closes waits for a clean-up that it has begun. */
const SWEEP_MILLISECONDS = 2_000;
/** Far more than can be over while something still opens for them. */
const REMEMBERED = 10_000;

const METHODS = [
  "capabilities",
  "create",
  "connect",
  "list",
  "close",
] as const satisfies (keyof SandboxProvider)[];

/** The provider, if it is one; for callers the compiler did not check. */
function checked(name: string, provider: SandboxProvider): SandboxProvider {
  const missing = METHODS.filter((method) => typeof provider?.[method] !== "function");
  if (missing.length === 0) return provider;
  throw new RathError(
    "place-unfit",
    `\`sandboxes\` must map ${JSON.stringify(name)} to a sandbox provider; it lacks ${missing.join(", ")}.`,
    {
      hint: "give what localSandbox(), virtualSandbox() or the like made, or an object with all of SandboxProvider",
      data: { name, missing },
    },
  );
}

/** The kinds that need nothing to be said. Loaded when they are first used: most programs use one, or none. */
const BUILT_IN: { readonly [name: string]: () => Promise<SandboxProvider> } = {
  local: async () => (await import("../../sandbox/index.js")).localSandbox(),
  virtual: async () => (await import("../../sandbox/index.js")).virtualSandbox(),
  docker: async () => (await import("../../sandbox/index.js")).dockerSandbox(),
  host: async () => (await import("../../sandbox/index.js")).hostSandbox(),
};

/** Whether a sandbox answers; one that was suspended goes on. */
async function isUsable(live: OpenSandbox, record: (fact: Evidence) => void): Promise<boolean> {
  try {
    const { phase } = await live.sandbox.status();
    if (phase !== "suspended") return phase === "running";
    await live.sandbox.resume();
    record({ type: "sandbox-resume", sandbox: live.id, incarnation: live.incarnation });
    return true;
  } catch {
    return false;
  }
}

/** A sandbox that somebody wants to stay: suspended, or with a time of its own. */
function isKept({ sandbox }: OpenSandbox): boolean {
  return sandbox.ref.spec.ttl !== undefined || sandbox.ref.status.phase === "suspended";
}

/** The record of a merge of files. */
export function mergeFact(
  base: Digest | null,
  ours: Digest | null,
  theirs: Digest,
  merged: {
    readonly tree: Digest;
    readonly paths: Extract<Evidence, { type: "workspace-merge" }>["paths"];
    readonly conflicts: readonly object[];
  },
): Evidence {
  return {
    type: "workspace-merge",
    base,
    ours,
    theirs,
    after: merged.tree,
    paths: merged.paths,
    conflicts: merged.conflicts as never,
  };
}

function parentOf(
  id: string,
  { open, parent }: SandboxState,
  reason: "retry" | "restore" | undefined,
):
  | {
      readonly id: string;
      readonly incarnation: number;
      readonly by: "fork" | "migrate" | "retry" | "restore";
    }
  | undefined {
  if (open !== null && reason !== undefined) return { id, incarnation: open.incarnation, by: reason };
  return parent;
}

function unknownPlace(name: string, given: readonly string[]): RathError {
  const known = [...new Set([...Object.keys(BUILT_IN), ...given])];
  const meant = nearestOf(name, known);
  return new RathError("place-unknown", `There is no kind of sandbox called ${JSON.stringify(name)} here.`, {
    hint: `${meant === undefined ? "" : `did you mean ${JSON.stringify(meant)}? `}the kinds are ${known.join(", ")}; pass another one to the runtime: openRath({ sandboxes: { ${JSON.stringify(name)}: provider } })`,
    data: { name, known },
  });
}

/** Something wants a sandbox on a session that is nowhere. */
export class NotPlacedError extends RathError {
  constructor() {
    super("not-placed", "Cannot open a sandbox: the session is not placed anywhere.", {
      hint: 'say where side effects happen: session.to("local"), or session.to("local", { workspace: "./repo" })',
    });
  }
}

class SandboxLeftError extends RathError {
  constructor() {
    super("sandbox-left", "The run was over before its sandbox was open.", {
      hint: "nothing is left to be done: the sandbox is closed again",
    });
  }
}

function ignore(): void {
  // It is being thrown away: what goes wrong with it is for the clean-up of the next start.
}

/** Whether a placement asks for its sandbox to stay when a run is over. */
export function staysOpen(placement: Placement | undefined): boolean {
  return (placement?.spec as SandboxSpec | undefined)?.ttl !== undefined;
}
