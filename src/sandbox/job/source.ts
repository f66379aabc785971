import { randomBytes } from "node:crypto";
import type { Digest } from "../../session/index.js";
import type { ConnectOptions, Sandbox, SandboxProvider } from "../sandbox.js";
import type { SandboxSpec } from "../spec.js";

/** Where the sandboxes of a job come from: forks of one that is open, or new ones with the files of a tree. */
export type JobSource =
  | Sandbox
  | ({
      readonly provider: SandboxProvider;
      readonly spec?: SandboxSpec;
      readonly tree: Digest | null;
      /** The beginning of the ids of its sandboxes. */
      readonly id: string;
    } & Pick<ConnectOptions, "trees" | "secrets">);

/** A source once the job has begun: what every attempt starts with is settled then, whatever becomes of the source. */
export type Origin = {
  readonly id: string;
  readonly before: Digest | null;
  /** Whether a command that is running can be made to stand still. */
  readonly freezes: boolean;
  /** A sandbox with the files from before, for one attempt. */
  make(index: number, attempt: number, signal: AbortSignal): Promise<Sandbox>;
};

export async function originOf(source: JobSource): Promise<Origin> {
  const nonce = randomBytes(4).toString("hex");
  if ("provider" in source) {
    const { provider, spec = {}, tree, id, trees, secrets } = source;
    const base = `${id}-job-${nonce}`;
    return {
      id: base,
      before: tree,
      freezes: (await provider.capabilities()).suspend === "freeze",
      make: (index, attempt, signal) =>
        provider.create(spec, {
          id: `${base}-${index}`,
          incarnation: attempt,
          tree,
          trees,
          ...(secrets !== undefined && { secrets }),
          // A retry begins with what was there before, never with what the last attempt left.
          ...(attempt > 1 && {
            parent: { id: `${base}-${index}`, incarnation: attempt - 1, by: "retry" as const },
          }),
          signal,
        }),
    };
  }
  const { tree } = await source.snapshot();
  const base = `${source.ref.id}-job-${nonce}`;
  return {
    id: base,
    before: tree,
    freezes: source.capabilities.suspend === "freeze",
    make: async (index, attempt) => {
      const fork = await source.fork({ id: `${base}-${index}`, incarnation: attempt });
      if (fork.ref.tree === tree) return fork;
      // The source has changed since the job began.
      try {
        await fork.restore(tree);
      } catch (error) {
        await fork.destroy().catch(() => {});
        throw error;
      }
      return fork;
    },
  };
}
