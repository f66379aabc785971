import { createHash } from "node:crypto";
import { limitsOf } from "../check-spec.js";
import type { CreateOptions } from "../sandbox.js";
import type { SandboxRef, SandboxSpec } from "../spec.js";
import { KEEPER, WORKSPACE } from "./script.js";

export type DockerOptions = {
  /** The engine's socket: a path, or unix:// and a path. Default: DOCKER_HOST, or where Docker and Podman usually listen. */
  readonly socket?: string;
  /** The image of sandboxes whose spec names none. */
  readonly image?: string;
  /** Who commands run as, instead of the image's user: "1000", "node", "1000:1000". */
  readonly user?: string;
  /** Whether commands may write outside the workspace and scratch space. What they write there is part of no tree. */
  readonly root?: "read-only" | "writable";
  /** How many processors all commands of a sandbox may keep busy at once. */
  readonly processors?: number;
  /** The engine's network that the mode "full" means; default "bridge". */
  readonly network?: string;
  /** Another runtime of the engine, such as "runsc" for a kernel apart. */
  readonly runtime?: string;
  /** Milliseconds that the engine may take to answer; default one minute. */
  readonly timeout?: number;
};

export const LABELS = {
  id: "openrath.id",
  incarnation: "openrath.incarnation",
  owner: "openrath.owner",
  ref: "openrath.ref",
  stage: "openrath.stage",
} as const;

/** The engine's processes on the way into a container count as processes of it, for a moment. */
const STARTING_PROCESSES = 12;
const OPEN_FILES = 1024;
const PROCESSES = 4096;
const HOME = "/home/agent";

/** The name of a container. Names are given once, which is what makes creating the same sandbox twice find the first. */
export function nameOf(id: string, incarnation: number): string {
  return `openrath-${createHash("sha256").update(id).digest("hex").slice(0, 20)}-${incarnation}`;
}

/** What the engine is asked for: nothing of the host, no powers, no network, and a limit to everything it can limit. */
export function bodyOf(
  spec: SandboxSpec,
  create: CreateOptions,
  options: DockerOptions,
  owner: string,
  engine: "docker" | "podman",
): object {
  const limits = limitsOf(spec);
  const home = Math.floor(limits.scratch / 4);
  const shared = Math.min(64 * 1024 ** 2, Math.floor(limits.scratch / 8));
  return {
    Image: spec.image ?? options.image,
    Entrypoint: ["/bin/sh"],
    Cmd: ["-c", KEEPER],
    WorkingDir: WORKSPACE,
    Hostname: "sandbox",
    Env: environment({ HOME, LANG: "C.UTF-8", TMPDIR: "/tmp", ...spec.env }),
    ...(options.user !== undefined && { User: options.user }),
    Healthcheck: { Test: ["NONE"] },
    Labels: {
      [LABELS.id]: create.id,
      [LABELS.incarnation]: String(create.incarnation),
      [LABELS.owner]: owner,
      [LABELS.ref]: JSON.stringify({ spec, tree: create.tree, parent: create.parent }),
    },
    HostConfig: {
      NetworkMode: spec.network?.mode === "full" ? (options.network ?? "bridge") : "none",
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      Privileged: false,
      ReadonlyRootfs: options.root !== "writable",
      Memory: limits.memory,
      // Together with swap: none beyond the memory.
      MemorySwap: limits.memory,
      PidsLimit: limits.pids + STARTING_PROCESSES,
      ...(options.processors !== undefined && { NanoCpus: Math.round(options.processors * 1e9) }),
      Ulimits: [
        { Name: "nofile", Soft: OPEN_FILES, Hard: OPEN_FILES },
        { Name: "fsize", Soft: limits.file, Hard: limits.file },
        { Name: "cpu", Soft: Math.ceil(limits.cpu / 1000), Hard: Math.ceil(limits.cpu / 1000) },
        { Name: "core", Soft: 0, Hard: 0 },
        // Not asked, Podman wants as many as the kernel can count, which not every host may give.
        ...(engine === "podman" ? [{ Name: "nproc", Soft: PROCESSES, Hard: PROCESSES }] : []),
      ],
      Tmpfs: { "/tmp": scratch(limits.scratch - home - shared), [HOME]: scratch(home) },
      ShmSize: Math.max(4096, shared),
      Mounts: [
        { Type: "volume", Target: WORKSPACE, VolumeOptions: { NoCopy: true } },
        ...(spec.readable ?? []).map((path) => ({
          Type: "bind",
          Source: path,
          Target: path,
          ReadOnly: true,
        })),
      ],
      ...(options.runtime !== undefined && { Runtime: options.runtime }),
    },
  };
}

/** A container that is never started: a way for the engine to unpack into the volume of another one, from its root. */
export function stageOf(image: string, volume: string, owner: string): object {
  return {
    Image: image,
    Entrypoint: ["/bin/sh"],
    Labels: { [LABELS.stage]: volume, [LABELS.owner]: owner },
    HostConfig: {
      NetworkMode: "none",
      Mounts: [{ Type: "volume", Source: volume, Target: WORKSPACE, VolumeOptions: { NoCopy: true } }],
    },
  };
}

/** What the labels of a container say of the sandbox it is; undefined when it is none of ours. */
export function labelled(labels: {
  readonly [name: string]: string;
}): Omit<SandboxRef, "status"> | undefined {
  const [id, incarnation, about] = [labels[LABELS.id], labels[LABELS.incarnation], labels[LABELS.ref]];
  if (id === undefined || about === undefined) return undefined;
  try {
    const { spec, tree, parent } = JSON.parse(about) as Pick<SandboxRef, "spec" | "tree" | "parent">;
    return {
      provider: "docker",
      id,
      incarnation: Number(incarnation),
      spec,
      tree,
      ...(parent !== undefined && { parent }),
    };
  } catch {
    return undefined;
  }
}

export function environment(variables: { readonly [name: string]: string }): readonly string[] {
  return Object.entries(variables).map(([name, value]) => `${name}=${value}`);
}

function scratch(bytes: number): string {
  return `rw,exec,nosuid,nodev,mode=1777,size=${Math.max(4096, bytes)}`;
}
