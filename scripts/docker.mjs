// @ts-check
// `npm run docker [-- vitest arguments]`: the tests of container sandboxes against a real engine. One that is there is
// used (OPENRATH_DOCKER_SOCKET, or where Docker and Podman usually listen). Where there is none and this is root on
// Linux, one is started in a temporary folder with a network of its own kind (none) and no registry; the tests make
// their image of this machine's programs. Everything that was started here is stopped and removed at the end.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { run, say } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";

const START_MILLISECONDS = 60_000;
const STOP_MILLISECONDS = 30_000;

/** @typedef {{ socket: string, stop: () => Promise<void> }} Engine */

const args = process.argv.slice(2);
if (!ensureInstalled()) process.exitCode = 1;
else {
  const engine = (await reachable()) ?? (await started());
  if (engine === undefined) process.exitCode = 1;
  else {
    let interrupted = false;
    const interrupt = () => {
      interrupted = true;
    };
    // The tests get the signal too and end; what was started here must be stopped after them.
    process.on("SIGINT", interrupt);
    process.on("SIGTERM", interrupt);
    try {
      const vitest = [
        "run",
        "src/sandbox/docker",
        "--typecheck.enabled=false",
        "--testTimeout=300000",
        ...args,
      ];
      process.exitCode = run("vitest", vitest, { env: { OPENRATH_DOCKER_SOCKET: engine.socket } });
    } finally {
      await engine.stop();
      if (interrupted) process.exitCode = 130;
    }
  }
}

/** @returns {Promise<Engine | undefined>} */
async function reachable() {
  const own = process.env.XDG_RUNTIME_DIR;
  const asked = process.env.OPENRATH_DOCKER_SOCKET;
  const usual = [
    ...(asked === undefined ? [] : [asked]),
    "/var/run/docker.sock",
    ...(own === undefined ? [] : [join(own, "docker.sock"), join(own, "podman/podman.sock")]),
    "/run/podman/podman.sock",
  ];
  for (const socket of usual) {
    const version = await versionAt(socket);
    if (version === undefined) continue;
    say(`using the engine at ${socket} (${version})`);
    return { socket, stop: async () => {} };
  }
  if (asked !== undefined) say(`no engine answers at ${asked} (OPENRATH_DOCKER_SOCKET)`);
  return undefined;
}

/** @returns {Promise<Engine | undefined>} */
async function started() {
  if (process.platform !== "linux" || process.getuid?.() !== 0) {
    say("no container engine answers here, and only root on Linux can start one.");
    say("start it yourself: sudo systemctl start docker, or podman system service --time=0");
    return undefined;
  }
  if (spawnSync("dockerd", ["--version"]).status !== 0) {
    say("dockerd is missing; trying apt-get ...");
    const env = { DEBIAN_FRONTEND: "noninteractive" };
    const options = { output: /** @type {const} */ ("ignore"), env, timeout: 300_000 };
    run("apt-get", ["update"], options);
    run("apt-get", ["install", "--yes", "--no-install-recommends", "docker.io"], options);
    if (spawnSync("dockerd", ["--version"]).status !== 0) {
      say("dockerd could not be installed. Try: apt-get install docker.io");
      return undefined;
    }
  }
  // Short, because the path of a socket has room for a hundred characters only.
  const folder = mkdtempSync(join(tmpdir(), "rath-"));
  const [socket, log] = [join(folder, "d.sock"), join(folder, "log")];
  for (const driver of ["overlay2", "vfs"]) {
    const stop = await start(folder, socket, log, driver);
    if (stop !== undefined) return { socket, stop };
  }
  say("dockerd did not start here; the end of what it said:");
  process.stderr.write(`${readFileSync(log, "utf8").split("\n").slice(-15).join("\n")}\n`);
  rmSync(folder, { recursive: true, force: true });
  return undefined;
}

/**
 * @param {string} folder
 * @param {string} socket
 * @param {string} log
 * @param {string} driver
 */
async function start(folder, socket, log, driver) {
  const output = openSync(log, "a");
  const engine = spawn(
    "dockerd",
    [
      ...["--bridge=none", "--iptables=false", `--storage-driver=${driver}`],
      ...["--data-root", join(folder, "data"), "--exec-root", join(folder, "run")],
      ...["--pidfile", join(folder, "pid"), "--host", `unix://${socket}`],
    ],
    // In a group of its own: an interrupt of this script must not end it before its containers are gone.
    { stdio: ["ignore", output, output], detached: true },
  );
  const ended = new Promise((resolve) => {
    engine.once("exit", resolve);
    engine.once("error", resolve);
  });
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  for (const until = Date.now() + START_MILLISECONDS; Date.now() < until && !isOver; await sleep(100)) {
    const version = await versionAt(socket);
    if (version === undefined) continue;
    say(`started an engine (${version}, ${driver}) in ${folder}`);
    return async () => {
      await stop(engine, ended);
      unmount(folder);
      rmSync(folder, { recursive: true, force: true });
      say("stopped the engine and removed its folder");
    };
  }
  await stop(engine, ended);
  return undefined;
}

/**
 * Asks it to end, which ends its containers too, and then ends it.
 *
 * @param {import("node:child_process").ChildProcess} engine
 * @param {Promise<unknown>} ended
 */
async function stop(engine, ended) {
  engine.kill("SIGTERM");
  const isOver = await Promise.race([
    ended.then(() => true),
    sleep(STOP_MILLISECONDS, false, { ref: false }),
  ]);
  if (isOver) return;
  engine.kill("SIGKILL");
  await ended;
}

/** What an engine that was killed leaves mounted. */
function unmount(/** @type {string} */ folder) {
  const mounts = readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "")
    .filter((path) => path.startsWith(`${folder}/`))
    .sort()
    .reverse();
  for (const path of mounts) spawnSync("umount", ["--lazy", path]);
}

/** @returns {Promise<string | undefined>} */
function versionAt(/** @type {string} */ socket) {
  if (!existsSync(socket)) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const asked = request({ socketPath: socket, path: "/version", timeout: 5_000 }, (response) => {
      /** @type {Buffer[]} */
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("error", () => resolve(undefined));
      response.on("end", () => {
        try {
          const { Version, Platform } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
          resolve(`${Platform?.Name || "Docker"} ${Version}`);
        } catch {
          resolve(undefined);
        }
      });
    });
    asked.on("timeout", () => asked.destroy());
    asked.on("error", () => resolve(undefined));
    asked.end();
  });
}
