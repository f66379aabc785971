import { join } from "node:path";
import { quoteShell } from "../../util/index.js";
import type { ExecResult } from "../sandbox.js";
import type { Network } from "../spec.js";
import { nodeInside, PIPES } from "./arguments.js";
import { awaitForwarder, forwarderCommand, proxyEnvironment } from "./forwarder.js";
import { NetworkProxy } from "./proxy.js";
import type { Supervisor } from "./supervisor.js";

const SOCKET = "proxy";

/** The way out of a sandbox that may speak with some hosts: our proxy, and what leads to it inside. */
export class NetworkAccess {
  readonly environment: { readonly [name: string]: string };
  readonly #proxy: NetworkProxy;

  private constructor(proxy: NetworkProxy, hosts: readonly string[]) {
    this.#proxy = proxy;
    this.environment = proxyEnvironment(hosts);
  }

  /**
   * @param folder the folder that is seen inside as that of the pipes
   * @param isPrivate whether names may lead to private addresses
   */
  static async open(
    network: Network | undefined,
    folder: string,
    isPrivate: boolean,
  ): Promise<NetworkAccess | undefined> {
    if (network?.mode !== "allow") return undefined;
    const { hosts } = network;
    const proxy = await NetworkProxy.start({ socket: join(folder, SOCKET), hosts, private: isPrivate });
    return new NetworkAccess(proxy, hosts);
  }

  /** Starts what listens inside, and waits until it does. */
  async connect(supervisor: Supervisor): Promise<void> {
    const words = forwarderCommand({ socket: `${PIPES}/${SOCKET}`, node: nodeInside() });
    supervisor.tell(`{ environment; exec ${words.map(quoteShell).join(" ")} </dev/null >/dev/null 2>&1; } &`);
    if (!(await awaitForwarder(supervisor.process)))
      throw new Error("nothing inside listens where programs look for a proxy");
  }

  get mark(): number {
    return this.#proxy.mark;
  }

  since(mark: number): ExecResult["network"] {
    return this.#proxy.attempts(mark);
  }

  async close(): Promise<void> {
    await this.#proxy.close();
  }
}
