// @ts-check
// Restate servers for tests, crash campaigns and benches: real ones, on loopback, in folders that are removed at the end.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * At its start the server asks api.github.com for a newer version, whatever its settings are. In a namespace of its own,
 * that name is this machine, where nobody answers.
 */
const ALONE = ["unshare", "--user", "--map-root-user", "--mount"];
/** The server ends when its pipe does: also when the process that started it is killed. */
const RUN =
  'mount --bind "$1" /etc/hosts || exit 1; shift; "$@" & server=$!; exec 3<&0; (cat <&3 >/dev/null; kill -KILL $server) & wait $server';

/** Says why no server can be started here, if so. */
export function whyNoRestate() {
  if (binary() === undefined) return "the Restate server is not installed for this platform";
  const { status } = spawnSync(ALONE[0] ?? "", [
    ...ALONE.slice(1),
    "mount",
    "--bind",
    "/etc/hosts",
    "/etc/hosts",
  ]);
  return status === 0
    ? undefined
    : "Restate cannot be kept from asking other machines: unshare does not work";
}

function binary() {
  const { platform, arch } = process;
  try {
    const resolve = createRequire(import.meta.url).resolve;
    return resolve(`@restatedev/restate-server-${platform}-${arch}/bin/restate-server`);
  } catch {
    return undefined;
  }
}

/** One server, or a cluster that keeps everything twice. */
export class RestateServers {
  folder = mkdtempSync(join(tmpdir(), "openrath-restate-"));
  /** @type {{ name: string, fabric: number, ingress: number, admin: number }[]} */
  #nodes = [];
  /** @type {Map<string, import("node:child_process").ChildProcess>} */
  #running = new Map();

  #trace = false;

  /** @param {{ trace?: boolean }} settings `trace` writes down where it connects to, in NODE.trace of its folder */
  static async start(nodes = 1, settings = {}) {
    const servers = new RestateServers();
    servers.#trace = settings.trace === true;
    const ports = await freePorts(nodes * 3);
    for (let n = 0; n < nodes; n++) {
      const [fabric = 0, ingress = 0, admin = 0] = ports.slice(n * 3);
      servers.#nodes.push({ name: `n${n + 1}`, fabric, ingress, admin });
    }
    writeFileSync(join(servers.folder, "hosts"), "127.0.0.1 localhost api.github.com\n");
    process.once("exit", servers.#end);
    await servers.restart();
    return servers;
  }

  /** For the workers. */
  get environment() {
    const urls = (/** @type {"ingress" | "admin"} */ port) =>
      this.#nodes.map((node) => `http://127.0.0.1:${node[port]}`).join(",");
    return { RESTATE_INGRESS_URL: urls("ingress"), RESTATE_ADMIN_URL: urls("admin") };
  }

  get names() {
    return this.#nodes.map(({ name }) => name);
  }

  /** Starts every node that does not run, and waits until all of them answer. */
  async restart() {
    const gone = this.#nodes.filter(({ name }) => !this.#running.has(name));
    for (const node of gone) this.#begin(node);
    for (const { name, admin, ingress } of gone)
      for (let attempt = 0; !(await isReady(admin, ingress)); attempt++) {
        if (attempt > 1_200) throw new Error(`Restate ${name} did not start:\n${this.#log(name)}`);
        await new Promise((done) => setTimeout(done, 25));
      }
  }

  /** Ends a node as a crash does; all of them by default. */
  async kill(names = this.names) {
    for (const name of names) {
      const child = this.#running.get(name);
      if (child === undefined) continue;
      const over = child.exitCode === null && new Promise((done) => child.once("exit", done));
      child.stdin?.end();
      await over;
      this.#running.delete(name);
    }
  }

  async stop() {
    await this.kill();
    process.removeListener("exit", this.#end);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20 });
  }

  /** Invocations, and the entries of their journals. */
  async stored() {
    const admin = this.#nodes[0]?.admin ?? 0;
    const invocations = await ask(admin, "select * from sys_invocation");
    const { rows } = JSON.parse(await ask(admin, "select raw from sys_journal"));
    const raw = rows.map((/** @type {{ raw: string }} */ one) =>
      Buffer.from(one.raw, "hex").toString("latin1"),
    );
    return [invocations, ...raw].join("\n");
  }

  /** @param {{ name: string, fabric: number, ingress: number, admin: number }} node */
  #begin({ name, fabric, ingress, admin }) {
    const cluster = this.#nodes.length > 1;
    const addresses = this.#nodes.map((node) => `"http://127.0.0.1:${node.fabric}"`).join(", ");
    const config = join(this.folder, `${name}.toml`);
    writeFileSync(
      config,
      `disable-telemetry = true
node-name = "${name}"
cluster-name = "openrath"
base-dir = "${join(this.folder, "data")}"
roles = ["http-ingress", "admin", "worker", "log-server", "metadata-server"]
auto-provision = ${name === "n1"}
bind-address = "127.0.0.1:${fabric}"
advertised-address = "http://127.0.0.1:${fabric}"
default-num-partitions = 4
default-replication = ${cluster ? 2 : 1}
rocksdb-total-memory-size = "64 MB"
[metadata-client]
addresses = [${addresses}]
[admin]
bind-address = "127.0.0.1:${admin}"
[ingress]
bind-address = "127.0.0.1:${ingress}"
`,
    );
    const traced = [
      "strace",
      "-D",
      "-f",
      "-e",
      "trace=connect,sendto",
      "-o",
      join(this.folder, `${name}.trace`),
    ];
    const program = [...(this.#trace ? traced : []), binary() ?? "", "--config-file", config];
    const child = spawn(
      ALONE[0] ?? "",
      [...ALONE.slice(1), "sh", "-c", RUN, "sh", join(this.folder, "hosts"), ...program],
      { stdio: ["pipe", "ignore", "ignore"], cwd: this.folder },
    );
    this.#running.set(name, child);
  }

  #log(/** @type {string} */ name) {
    return readFileSync(join(this.folder, `${name}.toml`), "utf8");
  }

  #end = () => {
    rmSync(this.folder, { recursive: true, force: true });
  };
}

/** It answers, and reaches every partition. */
async function isReady(/** @type {number} */ admin, /** @type {number} */ ingress) {
  try {
    await ask(admin, "select count(*) from sys_invocation_status");
    const signal = AbortSignal.timeout(1_000);
    return (await fetch(`http://127.0.0.1:${ingress}/restate/health`, { signal })).ok;
  } catch {
    return false;
  }
}

async function ask(/** @type {number} */ admin, /** @type {string} */ query) {
  const response = await fetch(`http://127.0.0.1:${admin}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query }),
    signal: AbortSignal.timeout(1_000),
  });
  if (!response.ok) throw new Error(`Restate cannot answer ${query}: ${await response.text()}`);
  return response.text();
}

/** @returns {Promise<number[]>} */
async function freePorts(/** @type {number} */ count) {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) => new Promise((done) => server.listen(0, "127.0.0.1", () => done(server.address()))),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports.map((address) => /** @type {import("node:net").AddressInfo} */ (address).port);
}
