// @ts-check
// What there is to be had on the host: secrets, sockets, processes. Whether something got out is looked up here, on the
// host, and never asked of the sandbox.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";

/** A text that is nowhere but in the host's secrets: seeing it inside is an escape. */
export const CANARY = `canary-${process.pid}-5d41402abc4b2a76`;

export class Host {
  folder = mkdtempSync(join(tmpdir(), "openrath-escape-"));
  secret = join(this.folder, "secret.txt");
  target = join(this.folder, "target");
  victims = /** @type {import("node:child_process").ChildProcess[]} */ ([]);
  servers = /** @type {import("node:net").Server[]} */ ([]);
  socket = join(this.folder, "host.sock");
  abstract = `openrath-escape-${process.pid}`;
  /** How many times somebody reached a server of the host. */
  reached = 0;
  port = 0;
  port6 = 0;
  /** Left open on purpose: it must not be there inside. */
  leaked = -1;

  async open() {
    writeFileSync(this.secret, `${CANARY}\n`);
    // Readable for everybody: what keeps it secret must be the sandbox, not the mode.
    chmodSync(this.secret, 0o644);
    chmodSync(this.folder, 0o755);
    mkdirSync(this.target);
    chmodSync(this.target, 0o777);
    writeFileSync(join(this.target, "kept.txt"), "kept");
    chmodSync(join(this.target, "kept.txt"), 0o666);
    process.env.OPENRATH_ESCAPE_CANARY = CANARY;
    this.leaked = openSync(this.secret, "r");
    this.port = await this.#listen({ host: "127.0.0.1", port: 0 });
    this.port6 = await this.#listen({ host: "::1", port: 0 }).catch(() => 0);
    await this.#listen({ path: this.socket });
    chmodSync(this.socket, 0o777);
    await this.#listen({ path: `\0${this.abstract}` });
    const victim = spawn("sleep", ["3600"], { stdio: "ignore", env: { CANARY } });
    await once(victim, "spawn");
    this.victims.push(victim);
    return this;
  }

  async #listen(/** @type {import("node:net").ListenOptions} */ where) {
    const server = createServer((connection) => {
      this.reached += 1;
      connection.on("error", () => {});
      connection.end(`${CANARY}\n`);
    });
    server.on("error", () => {});
    server.listen(where);
    await once(server, "listening");
    this.servers.push(server);
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  get addresses() {
    return Object.values(networkInterfaces()).flatMap((list) =>
      (list ?? []).filter(({ internal }) => !internal).map(({ address }) => address.split("%")[0] ?? ""),
    );
  }

  get pid() {
    return /** @type {number} */ (this.victims[0]?.pid);
  }

  /** What is not as it was, if anything: somebody has been here. */
  harm() {
    if (this.reached > 0) {
      this.reached = 0;
      return "a server of the host was reached";
    }
    if (readFileSync(this.secret, "utf8") !== `${CANARY}\n`) return "the secret was changed";
    if (!existsSync(join(this.target, "kept.txt"))) return "a file of the host was removed";
    if (readFileSync(join(this.target, "kept.txt"), "utf8") !== "kept")
      return "a file of the host was changed";
    if ((statSync(this.secret).mode & 0o777) !== 0o644) return "the mode of a file of the host was changed";
    const listed = /** @type {string[]} */ (readdirSafe(this.target));
    if (listed.length !== 1) return `there are new files on the host: ${listed.join(", ")}`;
    for (const victim of this.victims)
      if (victim.exitCode !== null || victim.signalCode !== null) return "a process of the host was ended";
    return undefined;
  }

  async close() {
    for (const victim of this.victims) victim.kill("SIGKILL");
    for (const server of this.servers) server.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

import { readdirSync } from "node:fs";

function readdirSafe(/** @type {string} */ path) {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
