import { SandboxUnavailableError } from "../error.js";
import type { Capabilities, Network } from "../spec.js";
import type { DockerOptions } from "./body.js";
import type { Engine } from "./engine.js";

type Info = {
  readonly OSType?: string;
  readonly MemoryLimit?: boolean;
  readonly PidsLimit?: boolean;
  readonly CgroupVersion?: string;
  readonly SecurityOptions?: readonly string[] | null;
};

/** What sandboxes of this engine can do. */
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
  // What Docker calls "bridge" is "podman" there, and both take the word; "host" need not be listed.
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
