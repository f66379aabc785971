import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Digest } from "../../session/index.js";
import { SandboxSpecError, SandboxUnavailableError } from "../error.js";
import type { CreateOptions } from "../sandbox.js";
import type { SandboxSpec } from "../spec.js";
import type { Trees } from "../trees.js";
import { Archive } from "./archive.js";
import { bodyOf, type DockerOptions, LABELS, nameOf, stageOf } from "./body.js";
import type { Engine } from "./engine.js";
import { EngineError } from "./error.js";
import { runHelper } from "./helper.js";
import { removeContainer } from "./retry.js";
import { WORKSPACE } from "./script.js";
import type { Inspected } from "./status.js";
import { leadsOut, writeTree } from "./tree-write.js";
import { type Owner, ownerOf } from "./user.js";

/** A container whose workspace is filled, and who its commands run as. */
export type Launched = { readonly inspected: Inspected; readonly owner: Owner; readonly fresh: boolean };

/** How long a container that another process is making may take to be ready. */
const MAKING_MILLISECONDS = 60_000;
const LOOK_MILLISECONDS = 100;
const USER_HINT = 'give a number instead: dockerSandbox({ user: "1000:1000" })';

/**
 * Makes the container of a sandbox, fills its workspace and starts it, in this order: one that was started is complete.
 * The engine gives a name once, so anyone who comes second finds what the first one made.
 */
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

/** What is needed to fill a workspace. */
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

/** Who the commands of a container run as, in numbers. */
export async function owned(engine: Engine, inspected: Inspected): Promise<Owner> {
  const archive = new Archive(engine, inspected.Id);
  const user = inspected.Config.User ?? "";
  const owner = await ownerOf(user, (path) => archive.text(path));
  if (owner !== undefined) return owner;
  throw new SandboxSpecError("user", `the image has no user ${JSON.stringify(user)}`, USER_HINT);
}

/** The container of a name; undefined when there is none. */
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

/** What the engine's refusals mean, where the next thing to do is known. */
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
