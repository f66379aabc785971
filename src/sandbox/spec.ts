import type { Json } from "../session/index.js";

/** The desired state of a sandbox, recorded with the placement. JSON, with names of secrets only. */
export type SandboxSpec = {
  /** A folder of the host whose files the workspace begins with, taken in at first use. */
  readonly workspace?: string;
  /** Globs of paths that are not part of the workspace's trees. None unless given; the patterns are part of the tree's id. */
  readonly exclude?: readonly string[];
  readonly env?: { readonly [name: string]: string };
  /** Names of secrets that the host puts into the environment when the sandbox opens. */
  readonly secrets?: readonly string[];
  readonly limits?: Limits;
  readonly network?: Network;
  /** Folders of the host that can be read inside, at the same path. */
  readonly readable?: readonly string[];
  /** The image of a container. */
  readonly image?: string;
  /** Milliseconds that it may exist without being renewed; then `onExpire` happens. */
  readonly ttl?: number;
  readonly onExpire?: "suspend" | "delete" | "retain";
};

export type Limits = {
  /** Milliseconds that one command may take. */
  readonly wall?: number;
  /** Bytes of memory of each process (RLIMIT_DATA), and of all of them where there are control groups. */
  readonly memory?: number;
  /** Processes at a time. */
  readonly pids?: number;
  /** Milliseconds of processor time of each process. */
  readonly cpu?: number;
  /** Bytes of a single file. */
  readonly file?: number;
  /** Bytes by which one command may make the workspace grow. */
  readonly disk?: number;
  /** Bytes of output of a command, of both kinds together, that are kept; the rest is counted and dropped. */
  readonly output?: number;
  /** Bytes of scratch space (/tmp and the like). */
  readonly scratch?: number;
};

/** No network, some hosts through a proxy ("example.com", "*.example.com", "example.com:8443"), or all of it. */
export type Network =
  | { readonly mode: "none" }
  | { readonly mode: "allow"; readonly hosts: readonly string[] }
  | { readonly mode: "full" };

export const DEFAULT_LIMITS: Required<Limits> = Object.freeze({
  wall: 120_000,
  memory: 2 * 1024 ** 3,
  pids: 256,
  cpu: 600_000,
  file: 1024 ** 3,
  disk: 4 * 1024 ** 3,
  output: 16 * 1024 ** 2,
  scratch: 512 * 1024 ** 2,
});

/** The capabilities of a provider here, found out by trying, and recorded when a sandbox opens. */
export type Capabilities = {
  readonly isolation: Isolation;
  /** Which limits hold. */
  readonly limits: readonly ("wall" | "memory" | "pids" | "cpu" | "file" | "disk" | "output" | "scratch")[];
  readonly network: readonly Network["mode"][];
  /** How a fork gets its files: shared until written to, or copied. */
  readonly fork: "copy" | "cow";
  readonly suspend: "none" | "freeze" | "stop";
  /** Whether output comes byte for byte. */
  readonly exact: boolean;
  readonly stdin: boolean;
  readonly background: boolean;
  readonly pty: boolean;
  /** Whether a name keeps bytes that are not UTF-8, and modes and links are kept. */
  readonly names: "bytes" | "text";
  /** Details about the provider: versions, missing parts. */
  readonly detail?: { readonly [name: string]: Json };
};

export type Isolation = "none" | "virtual" | "namespace" | "container" | "vm";

/** The observed state of a sandbox; never the same field as the desired one. */
export type SandboxStatus = {
  readonly phase: "pending" | "running" | "suspended" | "finished" | "failed" | "lost";
  readonly conditions: readonly Condition[];
};

export type Condition = {
  readonly type: "Ready" | "Suspended" | "Finished" | "Expired" | "Isolated";
  readonly status: boolean | "unknown";
  readonly reason: string;
  readonly message?: string;
  readonly at: string;
};

/** A sandbox as recorded data, by which it is found again. Each new making raises the incarnation. */
export type SandboxRef = {
  readonly provider: string;
  readonly id: string;
  readonly incarnation: number;
  /** The provider's own name of it, such as namespaces or a container id. */
  readonly native?: { readonly [name: string]: Json };
  readonly spec: SandboxSpec;
  readonly status: SandboxStatus;
  /** The tree it was opened with, null for an empty workspace. */
  readonly tree: string | null;
  readonly parent?: {
    readonly id: string;
    readonly incarnation: number;
    readonly by: "fork" | "restore" | "migrate" | "retry";
  };
};
