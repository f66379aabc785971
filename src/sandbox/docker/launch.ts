import { createHash, randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Digest } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { limitsOf } from "../check-spec.js";
import { EngineError, SandboxSpecError, SandboxUnavailableError } from "../error.js";
import type { CreateOptions } from "../sandbox.js";
import type { SandboxRef, SandboxSpec } from "../spec.js";
import type { Trees } from "../trees.js";
import type { Engine } from "./engine.js";
import { Archive } from "./files.js";
import { removeContainer, runHelper } from "./helper.js";
import { KEEPER, WORKSPACE } from "./script.js";
import type { Inspected } from "./status.js";
import { leadsOut, writeTree } from "./tree-read.js";

/** A container whose workspace is filled, and who its commands run as. */
export type Launched = { readonly inspected: Inspected; readonly owner: Owner; readonly fresh: boolean };

/** How long a container that another process is making may take to be ready. */
const MAKING_MILLISECONDS = 60_000;
const LOOK_MILLISECONDS = 100;
const USER_HINT = 'give a number instead: dockerSandbox({ user: "1000:1000" })';

/** Creates a container, fills its workspace, then starts it: a started one is complete. */
export async function launch(
  engine: Engine,
  spec: SandboxSpec,
  create: CreateOptions,
  options: DockerOptions,
  process: string,
): Promise<Launched> {
  const name = nameOf(create.id, create.incarnation);
  const image = spec.image ?? options.image;
  if (image === undefined)
    throw new SandboxSpecError(
      "image",
      "none is given, and a container needs one",
      'name one that has /bin/sh: session.to("docker", { image: "debian:12" })',
    );
  const until = Date.now() + MAKING_MILLISECONDS;
  for (;;) {
    create.signal?.throwIfAborted();
    try {
      await engine.json("POST", "/containers/create", {
        query: { name },
        body: bodyOf(spec, create, options, process, engine.about.name),
      });
      break;
    } catch (error) {
      if (!isTaken(error)) throw explained(error, image);
    }
    const there = await made(engine, name);
    if (there !== undefined) checkSame(there, create, name);
    if (there?.State.Status === "running" || there?.State.Status === "paused") {
      return { inspected: there, owner: await owned(engine, there), fresh: false };
    }
    // Either somebody is at it, or was when they ended; the name is free again once it is gone.
    if (there !== undefined && (there.State.Status !== "created" || Date.now() > until))
      await removeContainer(engine, there.Id);
    else await sleep(LOOK_MILLISECONDS);
  }
  try {
    const inspected = await engine.json<Inspected>("GET", `/containers/${name}/json`);
    const owner = await owned(engine, inspected);
    const archive = new Archive(engine, inspected.Id);
    const isRoot = owner.uid === 0 && owner.gid === 0;
    if (create.tree !== null || !isRoot)
      await fill(engine, { inspected, owner, archive, whole: !isRoot }, create.tree, create.trees, process);
    create.signal?.throwIfAborted();
    await engine.json("POST", `/containers/${inspected.Id}/start`);
    // Podman does not give the workspace itself away; nothing has run yet that could be in the way.
    if (!isRoot && engine.about.name === "podman")
      await runHelper(engine, inspected.Id, ["chmod", "777", WORKSPACE], "0");
    return { inspected: await engine.json<Inspected>("GET", `/containers/${name}/json`), owner, fresh: true };
  } catch (error) {
    await removeContainer(engine, name).catch(() => {});
    throw explained(error, image);
  }
}

/** The parts needed to fill a workspace. */
export type Filling = {
  readonly inspected: Inspected;
  readonly owner: Owner;
  readonly archive: Archive;
  /** Whether the workspace itself should belong to the owner, which it does not at first. */
  readonly whole?: boolean;
};

/** Puts the files of a tree into an empty workspace that nothing runs in. */
export async function fill(
  engine: Engine,
  { inspected, owner, archive, whole = false }: Filling,
  tree: Digest | null,
  trees: Trees,
  process: string,
): Promise<void> {
  const isPodman = engine.about.name === "podman";
  if (isPodman || (!whole && !(await leadsOut(tree, trees)))) {
    await archive.write(Buffer.from(WORKSPACE), writeTree({ tree, trees, owner, under: "" }));
    return;
  }
  // Docker unpacks such links only into the root, and that of the container itself may be read-only.
  const volume = inspected.Mounts?.find(({ Destination }) => Destination === WORKSPACE)?.Name;
  if (volume === undefined)
    throw new EngineError("to say where a workspace is", 200, "the container has no volume there");
  const name = `openrath-stage-${randomBytes(8).toString("hex")}`;
  await engine.json("POST", "/containers/create", {
    query: { name },
    body: stageOf(inspected.Image ?? "", volume, process),
  });
  try {
    const stage = new Archive(engine, name);
    await stage.write(Buffer.from("/"), writeTree({ tree, trees, owner, under: WORKSPACE.slice(1) }));
  } finally {
    // Without its volumes: the one it has belongs to the other.
    await engine.json("DELETE", `/containers/${name}`, { query: { force: "true" } });
  }
}

/** The user and group of a container's commands, in numbers. */
export async function owned(engine: Engine, inspected: Inspected): Promise<Owner> {
  const archive = new Archive(engine, inspected.Id);
  const user = inspected.Config.User ?? "";
  const owner = await ownerOf(user, (path) => archive.text(path));
  if (owner !== undefined) return owner;
  throw new SandboxSpecError("user", `the image has no user ${JSON.stringify(user)}`, USER_HINT);
}

/** The container of a name; undefined when it does not exist. */
export async function made(engine: Engine, name: string): Promise<Inspected | undefined> {
  try {
    return await engine.json<Inspected>("GET", `/containers/${name}/json`);
  } catch (error) {
    if (error instanceof EngineError && error.status === 404) return undefined;
    throw error;
  }
}

/** Whether a name is in use. Podman has no status of its own for that. */
function isTaken(error: unknown): boolean {
  if (!(error instanceof EngineError)) return false;
  return error.status === 409 || (error.status === 500 && /already in use/.test(String(error.data.reason)));
}

/** A name stands for the digest of an id; anyone who gives that name to something else must not be taken for it. */
function checkSame({ Config }: Inspected, { id, incarnation }: CreateOptions, name: string): void {
  const labels = Config.Labels ?? {};
  if (labels[LABELS.id] === id && labels[LABELS.incarnation] === String(incarnation)) return;
  throw new SandboxSpecError(
    "id",
    `the engine has a container ${name} already that is not this sandbox`,
    `remove it: docker rm --force ${name}`,
  );
}

/** An engine's refusal as an error that names the next step, where that is known. */
function explained(error: unknown, image: string): unknown {
  if (!(error instanceof EngineError)) return error;
  const reason = String(error.data.reason);
  if (error.status === 404 && /no such image|image not known|unable to find/i.test(reason))
    return new SandboxUnavailableError(
      "docker",
      `the engine has no image ${image}`,
      `get it: docker pull ${image}`,
      error,
    );
  if (/"?\/bin\/sh"?.*(no such file|not found)|executable file.*not found/is.test(reason))
    return new SandboxSpecError(
      "image",
      `${JSON.stringify(image)} has no /bin/sh`,
      'name an image that has one: session.to("docker", { image: "debian:12" })',
      { engine: reason },
    );
  if (/unknown user|no matching entries in passwd|unable to find user/i.test(reason))
    return new SandboxSpecError("user", `the image has no such user: ${reason}`, USER_HINT);
  return error;
}

export type DockerOptions = {
  /** The engine's socket: a path, or unix:// and a path. Default: DOCKER_HOST, or where Docker and Podman usually listen. */
  readonly socket?: string;
  /** The image of sandboxes whose spec names none. */
  readonly image?: string;
  /** The user of commands, instead of the image's: "1000", "node", "1000:1000". */
  readonly user?: string;
  /** Whether commands may write outside the workspace and scratch space. Files written there are not part of any tree. */
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

/** The request to the engine: nothing of the host, no powers, no network, and a limit to everything it can limit. */
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

/** The sandbox that the labels of a container describe; undefined when we did not make it. */
export function labelled(labels: {
  readonly [name: string]: string;
}): Omit<SandboxRef, "status"> | undefined {
  const [id, incarnation, about] = [labels[LABELS.id], labels[LABELS.incarnation], labels[LABELS.ref]];
  if (id === undefined || about === undefined) return undefined;
  try {
    const { spec, tree, parent } = JSON.parse(about) as Pick<SandboxRef, "spec" | "tree" | "parent">;
    return { provider: "docker", id, incarnation: Number(incarnation), spec, tree, ...defined({ parent }) };
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

/** The user and group of commands, in numbers: files belong to them. */
export type Owner = { readonly uid: number; readonly gid: number };

const ROOT: Owner = Object.freeze({ uid: 0, gid: 0 });

/** The owner in an image's setting ("", "node", "1000:1000"), by the image's files; undefined if unknown. */
export async function ownerOf(
  setting: string,
  read: (path: string) => Promise<string | undefined>,
): Promise<Owner | undefined> {
  if (setting === "") return ROOT;
  const [user = "", group] = setting.split(":");
  const needsNames = !isNumber(user) || (group !== undefined && group !== "" && !isNumber(group));
  const users = rows(needsNames || group === undefined ? await read("/etc/passwd") : undefined);
  const entry = users.find((row) => (isNumber(user) ? row[2] === user : row[0] === user));
  const uid = isNumber(user) ? Number(user) : Number(entry?.[2] ?? Number.NaN);
  let gid = Number(entry?.[3] ?? 0);
  if (group !== undefined && group !== "") {
    const groups = isNumber(group) ? [] : rows(await read("/etc/group"));
    gid = isNumber(group) ? Number(group) : Number(groups.find((row) => row[0] === group)?.[2] ?? Number.NaN);
  }
  return Number.isSafeInteger(uid) && Number.isSafeInteger(gid) ? { uid, gid } : undefined;
}

function isNumber(text: string): boolean {
  return /^\d{1,10}$/.test(text);
}

function rows(text: string | undefined): readonly (readonly string[])[] {
  return (text ?? "").split("\n").map((line) => line.split(":"));
}
