import { statSync } from "node:fs";
import { join } from "node:path";
import { SandboxUnavailableError } from "../error.js";

/** Where Docker and Podman listen when nobody says otherwise, the most likely place first. */
export function usualSockets(env: NodeJS.ProcessEnv = process.env): readonly string[] {
  const own = env.XDG_RUNTIME_DIR;
  return [
    "/var/run/docker.sock",
    ...(own === undefined || own === "" ? [] : [join(own, "docker.sock"), join(own, "podman/podman.sock")]),
    "/run/podman/podman.sock",
  ];
}

/** The socket of the engine: the one that was asked for, that of DOCKER_HOST, or the first usual one that is there. */
export function findSocket(asked: string | undefined, env: NodeJS.ProcessEnv = process.env): string {
  if (asked !== undefined) return pathOf(asked, "the option socket");
  if (env.DOCKER_HOST !== undefined && env.DOCKER_HOST !== "") return pathOf(env.DOCKER_HOST, "DOCKER_HOST");
  const usual = usualSockets(env);
  const found = usual.find(isSocket);
  if (found !== undefined) return found;
  throw new SandboxUnavailableError(
    "docker",
    `no container engine listens at ${usual.join(", ")}`,
    "install one and start it: sudo apt-get install docker.io && sudo systemctl start docker " +
      "(or: sudo apt-get install podman && systemctl --user start podman.socket)",
  );
}

function pathOf(address: string, source: string): string {
  if (address.startsWith("unix://")) return address.slice("unix://".length);
  if (address.startsWith("/")) return address;
  throw new SandboxUnavailableError(
    "docker",
    `${source} is ${JSON.stringify(address)}, and only sockets of this machine are spoken to`,
    'give a path: dockerSandbox({ socket: "/var/run/docker.sock" }), or DOCKER_HOST=unix:///var/run/docker.sock',
  );
}

function isSocket(path: string): boolean {
  try {
    return statSync(path).isSocket();
  } catch {
    return false;
  }
}
