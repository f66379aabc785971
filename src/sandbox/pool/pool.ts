import { setTimeout as wait } from "node:timers/promises";
import type { Digest, FactInput, Json, Placement, SandboxState, Session } from "../../session/index.js";
import { RathError, sandboxView } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import type { CreateOptions, MergedTree, Sandbox, SandboxSpec, Trees } from "../index.js";
import { type ProviderSource, Providers } from "./providers.js";

export type SandboxPoolOptions = {
  readonly store: () => Promise<Store>;
  readonly sandboxes: { readonly [name: string]: ProviderSource };
  /** The value of a secret that a placement names; throws when it is unknown. */
  readonly secret: (name: string) => string;
};

type SandboxFact = Extract<FactInput, { readonly type: `${"sandbox" | "workspace"}-${string}` }>;

type MergeFact = Extract<FactInput, { readonly type: "workspace-merge" }>;

/** A call that needs the sandbox of a session. */
type Call = {
  readonly tip: Session;
  readonly run: string;
  /** Gets the evidence. */
  readonly record: (fact: SandboxFact) => void;
  readonly signal: AbortSignal;
};

type OpenSandbox = {
  readonly id: string;
  readonly incarnation: number;
  readonly sandbox: Sandbox;
  run: string;
  tree: Digest | null;
  /** The session that used it last: a session from elsewhere must not see what it left outside of its files. */
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

/** The sandboxes of a runtime by branch. Each opens at first use, from the session's files as recorded. */
export class SandboxPool {
  readonly #options: SandboxPoolOptions;
  readonly #providers: Providers;
  readonly #live = new Set<OpenSandbox>();
  #sweep: Promise<unknown> | undefined;
  /** Runs that are over: a sandbox that opens late is not for them. */
  readonly #over = new Set<string>();
  /** The newest incarnation of each sandbox that this process opened. */
  readonly #counted = new Map<string, number>();
  #trees: Promise<Trees> | undefined;

  constructor(options: SandboxPoolOptions) {
    this.#options = options;
    this.#providers = new Providers(options.sandboxes);
  }

  /** Begins to remove leftovers of ended processes. Errors are reported when a sandbox is used. */
  begin(): void {
    this.#sweep ??= this.#providers.sweep();
  }

  /** Where sessions are kept. */
  store(): Promise<Store> {
    return this.#options.store();
  }

  /** Where the files of sessions are kept. */
  trees(): Promise<Trees> {
    this.#trees ??= (async () => {
      const { Trees } = await import("../index.js");
      return new Trees(await this.#options.store());
    })();
    return this.#trees;
  }

  /** Refuses an unknown kind of sandbox. */
  require(kind: string | undefined): void {
    if (kind !== undefined) this.#providers.source(kind);
  }

  /** The sandbox of a session, for one call alone. */
  async acquire(call: Call): Promise<SandboxLease> {
    const { tip, run, record, signal } = call;
    const { placement } = tip;
    if (placement === undefined) throw new NotPlacedError();
    const provider = await this.#providers.get(placement.sandbox);
    const trees = await this.trees();
    const state = tip.view(sandboxView);
    const { checkSpec } = await import("../index.js");
    const spec = checkSpec(placement.spec ?? {}, provider.name, await provider.capabilities());
    const tree = await filesOf(call, spec, trees);
    const id = `box-${(state.place ?? tip.id).slice(0, 16)}`;
    const named = spec.secrets ?? [];
    const secrets = Object.fromEntries(named.map((name) => [name, this.#options.secret(name)]));
    const found = await this.#reuse(id, call, tree, state);
    if (found !== undefined) return { live: found, trees, secrets };
    const parent = this.#parent(id, call, state);
    // Counted before anything is awaited: two runs from one session must not open the same.
    const incarnation = Math.max(state.incarnation, this.#counted.get(id) ?? 0) + 1;
    this.#counted.set(id, incarnation);
    const options = { id, incarnation, tree, trees, secrets, ...defined({ parent }), signal };
    const sandbox = await provider.create(spec, options);
    const live: OpenSandbox = { id, incarnation, sandbox, run, tree, last: tip, busy: true, drifting: false };
    // The run may have been cancelled while it opened: then nobody else would close it.
    if (this.#over.has(run)) {
      await this.#destroy([live]);
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
      ...defined({ native: ref.native }),
      tree,
      ...defined({ parent }),
    });
    return { live, trees, secrets };
  }

  /** A call is over: its sandbox goes on with these files. */
  release({ live }: SandboxLease, tip: Session, tree: Digest | null): void {
    if (this.#over.has(live.run)) void this.#destroy([live]);
    live.tree = tree;
    live.last = tip;
    live.busy = false;
  }

  drop({ live }: SandboxLease): Promise<void> {
    return this.#destroy([live]);
  }

  /** A run goes on that was over for some time: it may have waited for somebody. */
  beginRun(run: string): void {
    this.#over.delete(run);
  }

  /** A run is over: its sandboxes are closed, unless they are meant to stay. */
  async endRun(run: string): Promise<void> {
    this.#over.add(run);
    const [oldest] = this.#over;
    if (this.#over.size > REMEMBERED) this.#over.delete(oldest as string);
    await this.#destroy([...this.#live].filter((live) => live.run === run && !isKept(live)));
  }

  /** Merges the files of a module that ran inside a call into the chain of the call. Conflicts are marked. */
  async join(base: Digest | null, ours: Digest | null, theirs: Digest): Promise<readonly MergeFact[]> {
    return ours === theirs ? [] : [(await joinFiles(await this.trees(), { base, ours, theirs })).fact];
  }

  async close(): Promise<void> {
    await this.#destroy([...this.#live]);
    // An engine that does not answer must not keep a program that never used it.
    await Promise.race([this.#sweep, wait(SWEEP_MILLISECONDS, undefined, { ref: false })]);
    await this.#providers.close();
  }

  async #destroy(gone: readonly OpenSandbox[]): Promise<void> {
    for (const live of gone) this.#live.delete(live);
    // The clean-up of the next start removes what is left after an error.
    await Promise.all(gone.map(({ sandbox }) => sandbox.destroy().catch(() => {})));
  }

  #of(id: string): readonly OpenSandbox[] {
    return [...this.#live].filter((live) => live.id === id);
  }

  /** An open sandbox with just these files, which was only used by sessions that this one comes from. */
  async #reuse(
    id: string,
    { tip, run, record }: Call,
    tree: Digest | null,
    { open }: SandboxState,
  ): Promise<OpenSandbox | undefined> {
    for (const live of this.#of(id)) {
      if (live.busy || !tip.descendsFrom(live.last)) continue;
      // If it went another way than the record: an attempt that is repeated begins with the files from before.
      let isFit = live.tree === tree && live.incarnation === open?.incarnation;
      if (isFit) {
        live.busy = true;
        live.run = run;
        isFit = await isUsable(live, record);
      }
      if (isFit) {
        if (live.drifting) await this.#recordDrift(live, record);
        return live;
      }
      await this.#destroy([live]);
    }
    return undefined;
  }

  /** A background command may have changed files since the last call. */
  async #recordDrift(live: OpenSandbox, record: Call["record"]): Promise<void> {
    const { tree, skipped } = await live.sandbox.snapshot();
    if (tree === live.tree) return;
    const { diffTrees } = await import("../index.js");
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

  /** The sandbox that a new one follows. The recorded one cannot be used: it is gone, or another branch has it. */
  #parent(id: string, { record }: Call, { open, parent }: SandboxState): CreateOptions["parent"] {
    if (open === null) return parent;
    const { incarnation } = open;
    const isHere = this.#of(id).some((live) => live.incarnation === incarnation);
    if (isHere || open.id !== id) return { id, incarnation, by: "restore" };
    const why = "it was open in a process that has ended, or let it go";
    record({ type: "sandbox-lose", sandbox: id, incarnation, why });
    return { id, incarnation, by: "retry" };
  }
}

/** How long a runtime that closes waits for a clean-up that it has begun. */
const SWEEP_MILLISECONDS = 2_000;
/** Far more runs than can be over while something still opens for them. */
const REMEMBERED = 10_000;

/** The files of a session: those of its tree, of a merge without conflicts, or of the folder it begins with. */
async function filesOf({ tip, record }: Call, spec: SandboxSpec, trees: Trees): Promise<Digest | null> {
  const { tree, unmerged = [] } = tip.files;
  const { UnmergedFilesError, importFolder } = await import("../index.js");
  let now = tree;
  for (const { base, theirs } of unmerged) {
    const { fact, merged } = await joinFiles(trees, { base, ours: now, theirs });
    if (merged.conflicts.length > 0) throw new UnmergedFilesError(tip.id, merged.conflicts);
    record(fact);
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

/** A three-way merge of files, with its fact. */
export async function joinFiles(
  trees: Trees,
  sides: { readonly base: Digest | null; readonly ours: Digest | null; readonly theirs: Digest },
): Promise<{ readonly fact: MergeFact; readonly merged: MergedTree }> {
  const { mergeTrees } = await import("../index.js");
  const merged = await mergeTrees(trees, sides);
  const { tree: after, paths, conflicts } = merged;
  return {
    merged,
    fact: {
      type: "workspace-merge",
      ...sides,
      after,
      paths,
      conflicts: conflicts as readonly object[] as Json,
    },
  };
}

/** Whether a sandbox answers; one that was suspended goes on. */
async function isUsable({ id, incarnation, sandbox }: OpenSandbox, record: Call["record"]): Promise<boolean> {
  try {
    const { phase } = await sandbox.status();
    if (phase !== "suspended") return phase === "running";
    await sandbox.resume();
    record({ type: "sandbox-resume", sandbox: id, incarnation });
    return true;
  } catch {
    return false;
  }
}

/** A sandbox that is meant to stay: suspended, or with a time of its own. */
function isKept({ sandbox }: OpenSandbox): boolean {
  return sandbox.ref.spec.ttl !== undefined || sandbox.ref.status.phase === "suspended";
}

/** Whether a placement asks for its sandbox to stay when a run is over. */
export function staysOpen(placement: Placement | undefined): boolean {
  return (placement?.spec as SandboxSpec | undefined)?.ttl !== undefined;
}

/** Something wants a sandbox on a session that is nowhere. */
class NotPlacedError extends RathError {
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
