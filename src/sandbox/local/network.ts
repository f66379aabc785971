import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { quoteShell } from "../../util/index.js";
import { textIn } from "../proc.js";
import type { Network } from "../spec.js";
import { nodeInside, PIPES } from "./arguments.js";
import { LOCALHOST, targetOf } from "./hosts.js";
import { NetworkProxy } from "./proxy.js";
import type { Supervisor } from "./supervisor.js";

const SOCKET = "proxy";

/** The way out of a sandbox that may speak with some hosts: our proxy, and the variables that lead to it inside. */
export type NetworkAccess = {
  readonly proxy: NetworkProxy;
  readonly environment: { readonly [name: string]: string };
};

/**
 * @param folder the folder that is seen inside as that of the pipes
 * @param isPrivate whether names may lead to private addresses
 */
export async function openNetwork(
  network: Network | undefined,
  folder: string,
  isPrivate: boolean,
): Promise<NetworkAccess | undefined> {
  if (network?.mode !== "allow") return undefined;
  const { hosts } = network;
  const proxy = await NetworkProxy.start({ socket: join(folder, SOCKET), hosts, private: isPrivate });
  return { proxy, environment: proxyEnvironment(hosts) };
}

/** Starts what listens inside, and waits until it does. */
export async function startForwarder(supervisor: Supervisor): Promise<void> {
  const words = forwarderCommand({ socket: `${PIPES}/${SOCKET}`, node: nodeInside() });
  supervisor.tell(`{ environment; exec ${words.map(quoteShell).join(" ")} </dev/null >/dev/null 2>&1; } &`);
  if (!(await awaitForwarder(supervisor.process)))
    throw new Error("nothing inside listens where programs look for a proxy");
}

/** Where programs inside find the proxy. */
const PORT = 3128;

/**
 * The program inside a sandbox that may speak with some hosts: listens where programs look for a proxy, and passes bytes to
 * the unix socket that leads to ours. `socat` does it with a tenth of the memory and of the time to start; where the host
 * does not have it, Node does. Both decide nothing: anyone who ends them or takes their place gains nothing.
 *
 * @param socket the proxy's socket, as it is called inside
 * @param node where Node is inside
 */
export function forwarderCommand(options: {
  readonly socket: string;
  readonly node: string;
  readonly socat?: boolean;
}): readonly string[] {
  const { socket, node, socat = existsSync(SOCAT) } = options;
  if (!socat) return [node, "-e", SCRIPT, socket, String(PORT)];
  // A colon or a comma in a path would be socat's; ours have none.
  const listen = `TCP4-LISTEN:${PORT},bind=127.0.0.1,reuseaddr,fork,backlog=64,max-children=64`;
  // Half a second is its usual patience for the rest of an answer when a question has ended.
  return [SOCAT, "-t", "120", listen, `UNIX-CONNECT:${socket}`];
}

const SOCAT = "/usr/bin/socat";

const SCRIPT = `
const net = require("net");
const [socket, port] = process.argv.slice(1);
process.on("uncaughtException", () => {});
net.createServer({ allowHalfOpen: true }, (client) => {
  const proxy = net.connect({ path: socket, allowHalfOpen: true });
  const end = () => { client.destroy(); proxy.destroy(); };
  for (const one of [client, proxy]) one.on("error", end).setTimeout(130000, end);
  client.on("close", () => proxy.destroy());
  proxy.on("close", () => client.destroy());
  client.pipe(proxy).pipe(client);
}).listen(Number(port), "127.0.0.1");
`;

/** The variables that tell programs the proxy. Loopback bypasses it unless it is an allowed host. */
export function proxyEnvironment(hosts: readonly string[]): { readonly [name: string]: string } {
  const proxy = `http://127.0.0.1:${PORT}`;
  const outside = hosts.some((pattern) => {
    const host = targetOf(pattern, 80)?.host;
    return host === LOCALHOST || host === "::1" || host?.startsWith("127.");
  });
  const none = outside ? "" : "localhost,127.0.0.1,::1";
  return {
    ...{ HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy, NO_PROXY: none },
    ...{ http_proxy: proxy, https_proxy: proxy, all_proxy: proxy, no_proxy: none },
    // Node's own fetch asks for it from version 24 on.
    NODE_USE_ENV_PROXY: "1",
  };
}

/**
 * Waits until the forwarder listens.
 *
 * @param pid any process of the sandbox, by its number on the host
 */
export async function awaitForwarder(pid: number, milliseconds = 10_000): Promise<boolean> {
  const end = Date.now() + milliseconds;
  for (;;) {
    if (listens(pid)) return true;
    if (Date.now() >= end) return false;
    await sleep(2);
  }
}

/** The kernel lists the sockets of a process's network: address and port in hexadecimal, 0A for one that listens. */
function listens(pid: number): boolean {
  const wanted = `0100007F:${PORT.toString(16).toUpperCase().padStart(4, "0")} 00000000:0000 0A `;
  return textIn(`/proc/${pid}/net/tcp`).includes(wanted);
}
