import { deepStrictEqual, equal, ok } from "node:assert";
import { createServer, type Socket } from "node:net";
import type { Limits, Sandbox } from "../../sandbox/index.js";
import { skip, until } from "../runner.js";
import { type Bench, done, promise, run, type SandboxCase } from "./case.js";

const MEGA = 1024 ** 2;

export const limitCases: readonly SandboxCase[] = [
  limited("file", "[M1] no file becomes longer than its limit", async ({ open }) => {
    const sandbox = await open({ limits: { file: MEGA } });
    await sandbox.files.write("half", Buffer.alloc(MEGA / 2, "x"));
    const { outcome } = await run(sandbox, "cat half half half > whole");
    ok(outcome !== "ok", "it succeeded");
    ok(((await sandbox.files.stat("whole"))?.size ?? 0) <= MEGA, "the file is too long");
    equal(await done(sandbox, "cat half > copy; ls"), "copy\nhalf\nwhole\n");
  }),

  limited("disk", "[M2] a command that fills the workspace is ended", async ({ open }) => {
    const sandbox = await open({ limits: { disk: 4 * MEGA } });
    await sandbox.files.write("mega", Buffer.alloc(MEGA, "x"));
    const { outcome, code, why } = await run(
      sandbox,
      "i=0; while [ $i -lt 400 ]; do i=$((i+1)); cat mega > copy$i; sleep 0.02; done",
    );
    deepStrictEqual([outcome, code, typeof why], ["disk", null, "string"]);
    const copies = (await sandbox.files.list()).length - 1;
    ok(copies >= 3 && copies < 300, `${copies} megabytes were written`);
    equal(await done(sandbox, "rm copy*; echo small > small; ls"), "mega\nsmall\n");
  }),

  limited("scratch", "[M3] outside of the workspace there is only so much room", async ({ open }) => {
    const sandbox = await open({ limits: { scratch: 4 * MEGA } });
    await sandbox.files.write("mega", Buffer.alloc(MEGA, "x"));
    const { outcome } = await run(
      sandbox,
      "for i in 1 2 3 4 5 6 7 8; do cat mega > /tmp/copy$i || exit 1; done",
    );
    ok(outcome !== "ok", "it succeeded");
    equal(
      await done(sandbox, "rm -f /tmp/copy*; cat mega > /tmp/again; wc -c < /tmp/again").then(Number),
      MEGA,
    );
  }),

  limited("memory", "[M4] a process does not get more memory than its limit", async ({ open }) => {
    const want = "x=$(head -c 80000000 /dev/zero | tr '\\0' x); printf '%s' \"$x\" | wc -c";
    const sandbox = await open({ limits: { memory: 40 * MEGA } });
    const { outcome, out } = await run(sandbox, want);
    ok(outcome !== "ok" && !out.includes("80000000"), "it got 80 megabytes");
    equal(await done(sandbox, "echo on"), "on\n");
    const other = await open({ limits: { memory: 2048 * MEGA } });
    equal(await done(other, want).then(Number), 80_000_000);
  }),

  limited("pids", "[M5] there are only so many processes at a time", async ({ open }) => {
    const want = "for i in $(seq 60); do (: > made$i; exec sleep 60) & done; wait";
    const made = async (sandbox: Sandbox) => (await sandbox.files.list()).length;
    const sandbox = await open({ limits: { pids: 20 } });
    // A shell that gets no more processes tries again for some time; none of those it got ends meanwhile.
    await run(sandbox, want, { wall: 4000 });
    const count = await made(sandbox);
    // Those that the sandbox itself needs may be on top.
    ok(count > 0 && count <= 40, `${count} processes were there at a time`);
    equal(await done(sandbox, "echo on"), "on\n");
    const other = await open({ limits: { pids: 200 } });
    const execution = other.exec(want);
    await until("the making of 60 processes", async () => (await made(other)) === 60);
    await execution.kill();
  }),

  limited("cpu", "[M6] a process that uses more processor time than its limit is ended", async ({ open }) => {
    const sandbox = await open({ limits: { cpu: 1000 } });
    const { outcome, code, milliseconds } = await run(sandbox, "while :; do :; done", { wall: 50_000 });
    ok(
      outcome !== "ok" && outcome !== "timeout",
      `it ended as ${outcome} after ${milliseconds} ms with ${code}`,
    );
    equal(await done(sandbox, "echo on"), "on\n");
  }),

  promise("[N1] without a network not even the host itself is reached", async ({ capabilities, open }) => {
    if (!capabilities.network.includes("none")) skip("the network cannot be kept away here");
    await listening(async (port, connections) => {
      const attempt = attempts(port);
      for (const spec of [{}, { network: { mode: "none" as const } }]) await run(await open(spec), attempt);
      equal(connections(), 0, "a server of the host was reached");
      if (!capabilities.network.includes("full")) return;
      await run(await open({ network: { mode: "full" } }), attempt);
      if (connections() === 0) skip("no program that could connect was found inside");
    });
  }),

  promise("[N2] with all of it, the host is reached", async ({ capabilities, open }) => {
    if (!capabilities.network.includes("full")) skip("the network of the host is not to be had here");
    await listening(async (port, connections) => {
      const { out } = await run(await open({ network: { mode: "full" } }), attempts(port));
      if (out.includes("nothing to connect with")) skip("no program that could connect was found inside");
      ok(connections() > 0, "a server of the host was not reached");
    });
  }),

  promise("[N3] allowed hosts are reached, and no others", async ({ capabilities, open }) => {
    if (!capabilities.network.includes("allow")) skip("single hosts cannot be allowed here");
    await listening((port, connections) =>
      listening(async (other, others) => {
        const sandbox = await open({ network: { mode: "allow", hosts: [`127.0.0.1:${port}`] } });
        if ((await run(sandbox, "command -v curl")).code !== 0)
          skip("no program that could connect was found inside");
        const { out } = await run(sandbox, `curl -sS -m 10 http://127.0.0.1:${port}/`);
        deepStrictEqual([out, connections()], ["reached\n", 1]);
        const refusal = await run(
          sandbox,
          `curl -sS -f -m 10 http://127.0.0.1:${other}/; ${attempts(other)}`,
        );
        deepStrictEqual([refusal.out.includes("reached"), others()], [false, 0]);
        const asked = (refusal.network ?? []).find((one) => one.port === other);
        deepStrictEqual(asked, { host: "127.0.0.1", port: other, allowed: false });
        const again = await run(sandbox, `curl -sS -m 10 http://127.0.0.1:${port}/`);
        deepStrictEqual(again.network, [{ host: "127.0.0.1", port, allowed: true }]);
      }),
    );
  }),
];

/** A case about a limit, for providers that hold it. */
function limited(limit: keyof Limits, quoted: string, hold: (bench: Bench) => Promise<void>): SandboxCase {
  return promise(quoted, async (bench) => {
    if (!bench.capabilities.limits.includes(limit)) skip(`${limit} is not limited here`);
    await hold(bench);
  });
}

/** A server of the host, and how many have come. */
async function listening(use: (port: number, connections: () => number) => Promise<void>): Promise<void> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.end("HTTP/1.0 200 OK\r\n\r\nreached\n");
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  try {
    const address = server.address();
    await use(typeof address === "object" && address !== null ? address.port : 0, () => sockets.length);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Every way to connect that a system may have. */
function attempts(port: number): string {
  const url = `http://127.0.0.1:${port}/`;
  return [
    "found=no",
    `command -v bash > /dev/null && found=yes && bash -c 'cat < /dev/tcp/127.0.0.1/${port}' 2>&1`,
    `command -v curl > /dev/null && found=yes && curl -s -m 3 ${url} 2>&1`,
    `command -v python3 > /dev/null && found=yes && python3 -c 'import socket; print(socket.create_connection(("127.0.0.1", ${port}), 3).recv(9))' 2>&1`,
    `command -v nc > /dev/null && found=yes && nc -w 3 127.0.0.1 ${port} < /dev/null 2>&1`,
    "[ $found = yes ] || echo nothing to connect with",
    "true",
  ].join("\n");
}
