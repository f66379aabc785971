import type { Digest } from "../session/index.js";
import type { Capabilities, SandboxRef, SandboxSpec, SandboxStatus } from "./spec.js";
import type { Trees } from "./trees.js";

/** Makes sandboxes of one kind. */
export interface SandboxProvider {
  readonly name: string;
  /** The capabilities here, found out by trying; asked often, so they are remembered. */
  capabilities(): Promise<Capabilities>;
  /** Opens a sandbox; the same id and incarnation give the same one. May throw `SandboxUnavailableError`. */
  create(spec: SandboxSpec, options: CreateOptions): Promise<Sandbox>;
  /** The sandbox of a ref, resumed if it was suspended; a `SandboxLostError` when it is not there. */
  connect(ref: SandboxRef, options: ConnectOptions): Promise<Sandbox>;
  /** The sandboxes that are there, also those of other processes. */
  list(): AsyncIterable<SandboxRef>;
  /** Removes what dead processes left. Runs before the first sandbox opens, and when a runtime begins. */
  sweep?(): Promise<void>;
  /** Ends every sandbox of this process, and gives back what it holds. */
  close(): Promise<void>;
}

export type CreateOptions = ConnectOptions & {
  readonly id: string;
  /** Counts from 1. */
  readonly incarnation: number;
  /** The first files of the workspace; null for an empty one. */
  readonly tree: Digest | null;
  readonly parent?: NonNullable<SandboxRef["parent"]>;
};

export type ConnectOptions = {
  /** Where the files of trees are read and kept. */
  readonly trees: Trees;
  /** The values of `spec.secrets`. */
  readonly secrets?: { readonly [name: string]: string };
  readonly signal?: AbortSignal;
};

/** A place for side effects (commands and files), isolated from the host. Its workspace is `/workspace` inside. */
export interface Sandbox extends AsyncDisposable {
  readonly ref: SandboxRef;
  readonly capabilities: Capabilities;
  /** Starts a command: a text for the shell, or a program and its arguments. Never throws: what goes wrong is its result. */
  exec(command: string | readonly string[], options?: ExecOptions): Execution;
  readonly files: SandboxFiles;
  /** The tree that the workspace is now, kept in the blob space. */
  snapshot(): Promise<Snapshot>;
  /** Makes the workspace what a tree says. Nothing planted in it is followed. Processes go on. */
  restore(tree: Digest | null): Promise<void>;
  /** Another sandbox with the same files: they never see each other's changes. */
  fork(options: ForkOptions): Promise<Sandbox>;
  suspend(): Promise<void>;
  resume(): Promise<void>;
  /** Sets how long it may exist from now on. */
  renew(milliseconds: number): Promise<void>;
  status(): Promise<SandboxStatus>;
  /** Ends everything in it and removes it. Nothing happens the second time. */
  destroy(): Promise<void>;
}

/** The id of the new sandbox, and its incarnation; 1 unless given. */
export type ForkOptions = { readonly id: string; readonly incarnation?: number };

export type ExecOptions = {
  /** Inside the workspace, `/`-separated; default its root. An absolute path is one of the sandbox. */
  readonly directory?: string;
  readonly env?: { readonly [name: string]: string };
  /** The input of the command; "open" keeps it open for `write` and `end`. Default: nothing. */
  readonly stdin?: string | Uint8Array | "open";
  /** Milliseconds, instead of the limit of the sandbox. */
  readonly wall?: number;
  /** Bytes of output that are kept, instead of the limit of the sandbox. */
  readonly output?: number;
  /** A terminal instead of pipes: then all output is stdout. */
  readonly pty?: { readonly columns?: number; readonly rows?: number };
  /** Not ended by the wall time: it goes on until it is killed or the sandbox ends. */
  readonly background?: boolean;
  readonly signal?: AbortSignal;
};

/** A command under way. Iterate it to see output as it comes; each iteration begins with what was kept so far. */
export interface Execution extends AsyncIterable<ExecEvent> {
  readonly id: string;
  readonly result: Promise<ExecResult>;
  /** Resolves when the bytes are taken. */
  write(bytes: Uint8Array | string): Promise<void>;
  /** No more input. */
  end(): void;
  /** Default SIGKILL. Reaches all processes of the command that did not make themselves independent. */
  kill(signal?: "SIGTERM" | "SIGINT" | "SIGKILL" | "SIGHUP" | "SIGUSR1" | "SIGUSR2"): Promise<void>;
}

export type ExecEvent =
  | { readonly type: "start" }
  | { readonly type: "output"; readonly from: "stdout" | "stderr"; readonly bytes: Uint8Array }
  | { readonly type: "exit"; readonly result: ExecResult };

export type ExecResult = {
  /** null when it did not end by itself, or nobody knows how. */
  readonly code: number | null;
  readonly signal?: string;
  /**
   * "ok" is code 0, "error" another. "timeout", "oom" (out of memory), "disk" and "killed" (by `kill` or an abort) say why
   * it was ended. "lost": the sandbox went away, and nobody knows how it ended. "unstarted": it never began.
   */
  readonly outcome: "ok" | "error" | "timeout" | "oom" | "disk" | "killed" | "lost" | "unstarted";
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Bytes of output beyond the limit, which were dropped. */
  readonly cut: number;
  readonly milliseconds: number;
  /** Why it was ended, or did not begin. */
  readonly why?: string;
  /** The hosts that it asked for, where the network goes through a proxy. */
  readonly network?: readonly { readonly host: string; readonly port: number; readonly allowed: boolean }[];
};

/**
 * The files of a workspace, seen from the host. Paths are relative to it and `/`-separated; one that leads
 * out, by `..` or through a link, is a `PathRefusedError`.
 */
export interface SandboxFiles {
  read(path: string): Promise<Uint8Array>;
  /** Creates directories on the way. Keeps the mode of a file that is there; a link at the end is replaced, not followed. */
  write(path: string, bytes: Uint8Array | string, options?: { readonly mode?: number }): Promise<void>;
  /** The entries of a directory, sorted by name; "" or "." is the workspace. */
  list(path?: string): Promise<readonly FileEntry[]>;
  /** undefined when there is nothing. */
  stat(path: string): Promise<FileEntry | undefined>;
  /** The target of a link. */
  link(path: string): Promise<string>;
  /** Creates a directory and those on the way; nothing happens if it is there. */
  make(path: string): Promise<void>;
  /** Removes a file, a link, or a directory with all that is in it; nothing happens if it is not there. */
  remove(path: string): Promise<void>;
  /** Renames; replaces anything at the other end that is not a directory. */
  move(from: string, to: string): Promise<void>;
}

export type FileEntry = {
  readonly name: string;
  readonly kind: "file" | "directory" | "link" | "other";
  readonly size: number;
  readonly mode: number;
};

export type Snapshot = {
  readonly tree: Digest;
  readonly files: number;
  readonly bytes: number;
  /** Paths that a tree cannot hold (sockets, pipes, devices) or that could not be read, and why. */
  readonly skipped: readonly { readonly path: string; readonly why: string }[];
};
