import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach } from "vitest";

/** Skips the tests around it where a server cannot run. */
export function needsPostgres(): void {
  const programs = postgresPrograms();
  beforeEach((context) =>
    context.skip(programs === undefined, "PostgreSQL 15 or newer, and a user for it, are not here"),
  );
}

/** The folder of the programs of PostgreSQL 15 or newer, or undefined where it cannot run. */
export function postgresPrograms(): string | undefined {
  if (serverUser() === undefined) return undefined;
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian)
    ? readdirSync(debian)
        .map(Number)
        .filter((one) => one >= 15)
    : [];
  const newest = versions.sort((one, other) => one - other).at(-1);
  if (newest !== undefined) return join(debian, String(newest), "bin");
  const { stdout, status } = spawnSync("pg_config", ["--bindir"], { encoding: "utf8" });
  return status === 0 && existsSync(join(stdout.trim(), "initdb")) ? stdout.trim() : undefined;
}

/** The user that the server runs as: PostgreSQL refuses root. Undefined where there is none. */
export function serverUser(): { readonly uid?: number; readonly gid?: number } | undefined {
  if (process.getuid?.() !== 0) return {};
  const [, , uid, gid] = /^postgres:.*$/m.exec(readFileSync("/etc/passwd", "utf8"))?.[0].split(":") ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

/** Runs a server, and ends it when the test process is gone, however that ended: the pipe between them is closed then. */
const GUARDED = '"$@" & server=$!; exec 3<&0; (cat <&3 >/dev/null; kill -QUIT $server) & wait $server';
/**
 * The same, and starts a server that was killed again. A process of its own does it, because a store that reads
 * while its server is away holds up the process of the test.
 */
const SUPERVISED =
  'exec 3<&0; (cat <&3 >/dev/null; kill -KILL $$; kill -QUIT $(head -n 1 data/postmaster.pid)) & until "$@" 3<&-; do sleep 0.1; done';

type ServerOptions = {
  readonly settings?: readonly string[];
  /** A running server: its cluster is copied and followed, as a standby. */
  readonly from?: PostgresServer;
  /** Starts it again each time it is killed. */
  readonly supervised?: boolean;
};

/** A real server with a cluster of its own, on loopback. Its settings are those of production: fsync stays on. */
export class PostgresServer {
  readonly port: number;
  readonly folder: string;
  readonly #programs: string;
  readonly #options: ServerOptions;
  #process: ChildProcess | undefined;

  private constructor(programs: string, folder: string, port: number, options: ServerOptions) {
    this.#programs = programs;
    this.folder = folder;
    this.port = port;
    this.#options = options;
  }

  /** Makes a cluster and starts it. */
  static async start(options: ServerOptions = {}): Promise<PostgresServer> {
    const programs = postgresPrograms();
    if (programs === undefined) throw new Error("PostgreSQL 15 or newer is not installed");
    const folder = mkdtempSync(join(tmpdir(), "openrath-pg-"));
    const { uid, gid } = serverUser() ?? {};
    if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
    const server = new PostgresServer(programs, folder, await freePort(), options);
    const data = join(folder, "data");
    if (options.from === undefined)
      server.#run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N");
    else
      server.#run(
        "pg_basebackup",
        "-D",
        data,
        "-R",
        "-d",
        `${options.from.url("postgres")}?application_name=standby`,
      );
    await server.#begin();
    return server;
  }

  url(database = "postgres", user = "postgres"): string {
    return `postgres://${user}@127.0.0.1:${this.port}/${database}`;
  }

  /** Starts it, and waits until it takes connections. */
  async #begin(): Promise<void> {
    const data = join(this.folder, "data");
    const settings = [
      `port=${this.port}`,
      "listen_addresses=127.0.0.1",
      `unix_socket_directories=${this.folder}`,
      "shared_buffers=16MB",
      "max_connections=60",
      ...(this.#options.settings ?? []),
    ];
    this.#process = spawn(
      "sh",
      [
        "-c",
        this.#options.supervised === true ? SUPERVISED : GUARDED,
        "sh",
        join(this.#programs, "postgres"),
        "-D",
        data,
        ...settings.flatMap((setting) => ["-c", setting]),
      ],
      { stdio: ["pipe", "ignore", "ignore"], cwd: this.folder, ...serverUser() },
    );
    this.#process.stdin?.on("error", () => {});
    for (let attempt = 0; ; attempt++) {
      const { status } = spawnSync(join(this.#programs, "pg_isready"), [
        "-q",
        "-h",
        "127.0.0.1",
        "-p",
        String(this.port),
      ]);
      if (status === 0) return;
      if (attempt > 1200) throw new Error("the server did not start");
      await new Promise((done) => setTimeout(done, 25));
    }
  }

  /** Runs statements as the owner of the server. */
  sql(text: string, database = "postgres"): string {
    return this.#run("psql", "-qAt", "-v", "ON_ERROR_STOP=1", "-d", this.url(database), "-c", text);
  }

  /**
   * Ends the server as a power cut of its machine would, but for the disk: at once, and without a word. Its own processes end
   * by themselves when it is gone. A supervised server comes back.
   */
  kill(): void {
    this.#signal("SIGKILL");
  }

  /** Keeps a supervised server away until `letBack`. */
  keepAway(): void {
    this.#process?.kill("SIGSTOP");
    this.kill();
  }

  letBack(): void {
    this.#process?.kill("SIGCONT");
  }

  promote(): void {
    this.#run("pg_ctl", "promote", "-w", "-D", join(this.folder, "data"));
  }

  async stop(): Promise<void> {
    const child = this.#process;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((done) => child.once("exit", done));
      // A supervisor ends with its pipe, and takes its server with it.
      if (this.#options.supervised === true) child.stdin?.end();
      else this.#signal("SIGINT");
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20 });
  }

  #signal(signal: "SIGKILL" | "SIGINT"): void {
    const [pid] = readFileSync(join(this.folder, "data", "postmaster.pid"), "utf8").split("\n");
    process.kill(Number(pid), signal);
  }

  #run(program: string, ...parameters: readonly string[]): string {
    const { status, stdout, stderr } = spawnSync(join(this.#programs, program), parameters, {
      encoding: "utf8",
      cwd: this.folder,
      ...serverUser(),
    });
    if (status !== 0) throw new Error(`${program} failed: ${stderr || stdout}`);
    return stdout.trim();
  }
}

export function freePort(): Promise<number> {
  return new Promise((done, failed) => {
    const server = createServer();
    server.once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => done(port));
    });
  });
}
