import { existsSync, lstatSync, mkdirSync } from "node:fs";
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createTcp, type Socket } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { campaign } from "../../session/testing/campaign.js";
import { awaitForwarder, forwarderCommand, proxyEnvironment } from "./network.js";
import { NetworkProxy, type ProxyOptions } from "./proxy.js";
import { seccompFilter } from "./seccomp.js";
import { ended, missing, program, start } from "./testing/bwrap.js";
import { folder } from "./testing/folder.js";

const ending: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
});

type Seen = {
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly raw: readonly string[];
  readonly body: string;
};

/** A server of the host that tells what it was asked. */
async function server(
  address = "127.0.0.1",
): Promise<{ port: number; seen: Seen[]; connections: () => number; server: Server }> {
  const seen: Seen[] = [];
  let connections = 0;
  const one = createServer((incoming, outgoing) => {
    let body = "";
    incoming.setEncoding("utf8").on("data", (part: string) => {
      body += part;
    });
    incoming.on("end", () => {
      seen.push({ url: incoming.url ?? "", headers: incoming.headers, raw: incoming.rawHeaders, body });
      if (incoming.url?.startsWith("/to/"))
        outgoing.writeHead(302, { Location: decodeURIComponent(incoming.url.slice(4)) }).end();
      else if (incoming.url === "/break") incoming.socket.destroy();
      else
        outgoing
          .writeHead(200, ["X-Twice", "1", "X-Twice", "2", "Content-Type", "text/plain"])
          .end(`${incoming.method} ${incoming.url} ${body}`);
    });
  });
  one.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => one.listen(0, address, resolve));
  ending.push(async () => {
    one.closeAllConnections();
    await new Promise((resolve) => one.close(resolve));
  });
  return { port: (one.address() as AddressInfo).port, seen, connections: () => connections, server: one };
}

async function proxy(
  options: Omit<ProxyOptions, "socket"> & { socket?: string },
): Promise<{ proxy: NetworkProxy; socket: string }> {
  const socket = options.socket ?? join(folder(), "proxy.sock");
  const one = await NetworkProxy.start({ ...options, socket });
  ending.push(() => one.close());
  return { proxy: one, socket };
}

type Answer = { readonly status: number; readonly text: string; readonly raw: readonly string[] };

async function ask(
  socketPath: string,
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { socketPath, path, method: options.method ?? "GET", headers: options.headers ?? {} },
      (answered) => {
        let text = "";
        answered.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        answered.on("end", () =>
          resolve({ status: answered.statusCode ?? 0, text, raw: answered.rawHeaders }),
        );
        answered.on("error", reject);
      },
    );
    asked.on("error", reject);
    asked.end(options.body);
  });
}

/** Sends bytes as they are and returns all that comes back until it is closed. */
async function raw(path: string, bytes: string | Uint8Array, close = true): Promise<string> {
  return new Promise((resolve) => {
    const socket: Socket = connect({ path, allowHalfOpen: true });
    let text = "";
    socket.setEncoding("latin1").on("data", (part: string) => {
      text += part;
    });
    socket.on("error", () => {});
    socket.once("close", () => resolve(text));
    socket.on("end", () => socket.end());
    if (close) socket.end(bytes);
    else socket.write(bytes);
  });
}

describe("the proxy", () => {
  it("[N7] passes a request on as it was made, to the host that was checked, and the answer back", async () => {
    const { port, seen } = await server();
    const { proxy: one, socket } = await proxy({ hosts: [`127.0.0.1:${port}`] });
    const answer = await ask(socket, `http://127.0.0.1:${port}/a?b=c`, {
      method: "POST",
      body: "hello",
      headers: {
        Host: "other.example",
        "X-Odd": "1",
        "Proxy-Authorization": "Basic eA==",
        Connection: "x-hop",
        "X-Hop": "1",
      },
    });
    expect([answer.status, answer.text]).toEqual([200, "POST /a?b=c hello"]);
    expect(answer.raw.join(" ")).toContain("X-Twice 1 X-Twice 2");
    expect(seen[0]?.headers).toMatchObject({ host: `127.0.0.1:${port}`, "x-odd": "1" });
    expect(Object.keys(seen[0]?.headers ?? {})).not.toEqual(expect.arrayContaining(["proxy-authorization"]));
    expect(seen[0]?.headers["x-hop"]).toBeUndefined();
    // Bodies in pieces stay in pieces, also where Node expects none.
    const pieces = await raw(
      socket,
      `GET http://127.0.0.1:${port}/p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nGET /\r\n0\r\n\r\n`,
      false,
    );
    expect(pieces).toContain("GET /p GET /");
    expect(seen.length).toBe(2);
    expect(one.attempts.since()).toEqual([{ host: "127.0.0.1", port, allowed: true }]);
  });

  it("[N8] opens a tunnel to an allowed place and passes bytes both ways, also those sent too early", async () => {
    const echo = createTcp({ allowHalfOpen: true }, (socket) => {
      socket.on("error", () => {});
      socket.pipe(socket);
    });
    await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
    ending.push(() => new Promise((resolve) => echo.close(() => resolve())));
    const { port } = echo.address() as AddressInfo;
    const { socket } = await proxy({ hosts: [`127.0.0.1:${port}`] });
    const long = "x".repeat(300_000);
    const text = await raw(
      socket,
      `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\n\r\n\x16\x03\x01\0${long}`,
    );
    expect(text.startsWith("HTTP/1.1 200 ")).toBe(true);
    expect(text.endsWith(`\r\n\r\n\x16\x03\x01\0${long}`)).toBe(true);
  });

  it("[N9] hosts that are not in the list are refused in both ways, not looked up, and recorded", async () => {
    const { port, connections } = await server();
    const asked: string[] = [];
    const { proxy: one, socket } = await proxy({
      hosts: ["example.com", "127.0.0.1:1"],
      resolve: async (host) => {
        asked.push(host);
        return ["127.0.0.1"];
      },
    });
    const mark = one.attempts.mark;
    for (const place of [
      `127.0.0.1:${port}`,
      `localhost:${port}`,
      `0x7f.1:${port}`,
      `[::ffff:7f00:1]:${port}`,
      `evil.example:${port}`,
    ]) {
      const answer = await ask(socket, `http://${place}/`);
      expect([place, answer.status]).toEqual([place, 403]);
      expect(answer.text).toContain("is not among the hosts");
      expect((await raw(socket, `CONNECT ${place} HTTP/1.1\r\nHost: x\r\n\r\n`)).slice(0, 12)).toBe(
        "HTTP/1.1 403",
      );
    }
    expect(asked).toEqual([]);
    expect(connections()).toBe(0);
    expect(one.attempts.since(mark)).toEqual([
      { host: "127.0.0.1", port, allowed: false },
      { host: "localhost", port, allowed: false },
      { host: "::ffff:7f00:1", port, allowed: false },
      { host: "evil.example", port, allowed: false },
    ]);
    expect(one.attempts.since(one.attempts.mark)).toEqual([]);
  });

  it("[N3] localhost is the host's own, where it is listed by that name", async () => {
    const { port, seen } = await server();
    const { socket } = await proxy({ hosts: [`localhost:${port}`] });
    expect((await ask(socket, `http://localhost:${port}/`)).status).toBe(200);
    expect((await ask(socket, `http://127.0.0.1:${port}/`)).status).toBe(403);
    expect(seen.map(({ headers }) => headers.host)).toEqual([`localhost:${port}`]);
  });

  it("[N10] a name is looked up once, and the connection goes to the address that was checked", async () => {
    const checked = await server("127.0.0.1");
    const other = await server("127.0.0.2");
    let asked = 0;
    const { socket } = await proxy({
      hosts: [`rebind.example:${checked.port}`, `rebind.example:${other.port}`],
      private: true,
      // Another answer each time, as a name server does that wants to lead elsewhere after the check.
      resolve: async () => (asked++ % 2 === 0 ? ["127.0.0.1"] : ["127.0.0.2"]),
    });
    expect((await ask(socket, `http://rebind.example:${checked.port}/`)).status).toBe(200);
    expect(asked).toBe(1);
    expect((await ask(socket, `http://rebind.example:${other.port}/`)).status).toBe(200);
    expect([asked, checked.seen.length, other.seen.length]).toEqual([2, 1, 1]);
    expect(checked.seen[0]?.headers.host).toBe(`rebind.example:${checked.port}`);
  });

  it("[N3] an allowed name that leads to a private address is refused without a connection; among its addresses the public are used", async () => {
    const { port, connections } = await server();
    const { proxy: one, socket } = await proxy({
      hosts: [`name.example:${port}`, `none.example:${port}`],
      resolve: async (host) => {
        if (host === "none.example") throw new Error("ENOTFOUND");
        return ["127.0.0.1", "::1", "169.254.169.254", "::ffff:127.0.0.1"];
      },
    });
    const answer = await ask(socket, `http://name.example:${port}/`);
    expect([answer.status, answer.text]).toEqual([
      403,
      `name.example:${port} leads to an address that is not public\n`,
    ]);
    expect((await ask(socket, `http://none.example:${port}/`)).status).toBe(502);
    expect(connections()).toBe(0);
    expect(one.attempts.since()).toEqual([
      { host: "name.example", port, allowed: false },
      { host: "none.example", port, allowed: true },
    ]);
  });

  it("[N11] a redirect is a new request, which is checked like any other", async () => {
    const inside = await server();
    const outside = await server();
    const { socket } = await proxy({ hosts: [`127.0.0.1:${inside.port}`] });
    const target = `http://127.0.0.1:${outside.port}/secret`;
    const first = await ask(socket, `http://127.0.0.1:${inside.port}/to/${encodeURIComponent(target)}`);
    expect(first.status).toBe(302);
    expect(first.raw).toContain(target);
    expect((await ask(socket, target)).status).toBe(403);
    expect(outside.connections()).toBe(0);
  });

  it("[N12] an invalid or broken request, or one to an unreachable host, is answered or closed, and the next one is served", async () => {
    const { port } = await server();
    const closed = await server();
    const { socket } = await proxy({ hosts: [`127.0.0.1:${port}`, `127.0.0.1:${closed.port}`] });
    closed.server.close();
    expect((await ask(socket, `http://127.0.0.1:${closed.port}/`)).status).toBe(502);
    expect((await ask(socket, `http://127.0.0.1:${port}/break`)).status).toBe(502);
    for (const [bytes, status] of [
      ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "400"],
      [`GET https://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, "400"],
      [`GET ftp://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, "400"],
      [`GET http://user@127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, "400"],
      [`GET http://127.0.0.1:${port}\\@x/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, "400"],
      ["CONNECT nowhere HTTP/1.1\r\nHost: x\r\n\r\n", "400"],
      ["CONNECT a:b:c HTTP/1.1\r\nHost: x\r\n\r\n", "400"],
      ["\x16\x03\x01\x02\0\x01", "400"],
      [`GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(20_000)}\r\n\r\n`, "400"],
    ] as const)
      expect([bytes.slice(0, 40), (await raw(socket, bytes)).slice(9, 12)]).toEqual([
        bytes.slice(0, 40),
        status,
      ]);
    expect((await ask(socket, `http://127.0.0.1:${port}/`)).status).toBe(200);
  });

  it("[N13] random bytes, cut anywhere, end nothing but themselves", async () => {
    const { port } = await server();
    const { proxy: one, socket } = await proxy({ hosts: [`127.0.0.1:${port}`], idle: 2000 });
    const part = fc.constantFrom(
      "CONNECT ",
      "GET ",
      "POST ",
      "http://",
      `127.0.0.1:${port}`,
      "evil.example:80",
      "/",
      " HTTP/1.1",
      "\r\n",
      "\r\n\r\n",
      "Host: x",
      "Content-Length: 5",
      "Content-Length: -1",
      "Transfer-Encoding: chunked",
      "Expect: 100-continue",
      "Upgrade: websocket\r\nConnection: upgrade",
      "0\r\n\r\n",
      "\0",
      "\xff",
      ":",
      "ffffffffffffffff\r\n",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 14 }), fc.nat(200), async (parts, cut) => {
        const bytes = Buffer.from(parts.join(""), "latin1");
        await raw(socket, bytes.subarray(0, Math.max(0, bytes.length - cut)));
      }),
      { numRuns: campaign(600) },
    );
    expect((await ask(socket, `http://127.0.0.1:${port}/`)).status).toBe(200);
    expect(one.attempts.since().filter(({ allowed, host }) => allowed && host !== "127.0.0.1")).toEqual([]);
  });

  it("[N14] closing it ends what is open and removes the socket, and what says nothing for long is closed", async () => {
    const quiet = createTcp((socket) => {
      socket.on("error", () => {});
    });
    await new Promise<void>((resolve) => quiet.listen(0, "127.0.0.1", resolve));
    ending.push(() => new Promise((resolve) => quiet.close(() => resolve())));
    const { port } = quiet.address() as AddressInfo;
    const patient = await proxy({ hosts: [`127.0.0.1:${port}`] });
    const open = raw(patient.socket, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\n\r\n`, false);
    while (patient.proxy.attempts.mark === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(lstatSync(patient.socket).mode & 0o777).toBe(0o600);
    await patient.proxy.close();
    await open;
    expect(existsSync(patient.socket)).toBe(false);
    const hasty = await proxy({ hosts: [`127.0.0.1:${port}`], idle: 100 });
    expect(await raw(hasty.socket, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\n\r\n`, false)).toContain(
      "200",
    );
  });

  it("[N15] a folder with a long name is not an obstacle, nor a socket that was left there", async () => {
    const { port } = await server();
    const deep = join(folder(), "d".repeat(120));
    mkdirSync(deep);
    const socket = join(deep, "proxy.sock");
    const first = await proxy({ hosts: [`127.0.0.1:${port}`], socket });
    await first.proxy.close();
    expect(existsSync(socket)).toBe(false);
    await proxy({ hosts: [`127.0.0.1:${port}`], socket });
    const second = await proxy({ hosts: [`127.0.0.1:${port}`], socket });
    expect(second.socket).toBe(socket);
    expect(existsSync(socket)).toBe(true);
  });

  it("[N16] of many places each is told once, the last thousand of them", async () => {
    const { proxy: one, socket } = await proxy({ hosts: [] });
    const agent = Array.from(
      { length: 1100 },
      (_, number) => `CONNECT h${number}.example:443 HTTP/1.1\r\nHost: x\r\n\r\n`,
    );
    for (let from = 0; from < agent.length; from += 50)
      await Promise.all(agent.slice(from, from + 50).map((line) => raw(socket, line)));
    for (let turn = 0; turn < 3; turn++) await raw(socket, agent[1099] as string);
    expect(one.attempts.since().length).toBe(1000);
    expect(one.attempts.mark).toBe(1103);
    expect(one.attempts.since(1100)).toEqual([{ host: "h1099.example", port: 443, allowed: false }]);
  });
});

const without = missing() ?? (program("curl") === undefined ? "there is no curl" : undefined);

describe.skipIf(without !== undefined)(
  `out of a real sandbox${without === undefined ? "" : ` (skipped: ${without})`}`,
  () => {
    /** Runs a script in a sandbox without a network, but with the forwarder. */
    async function run(
      script: string,
      at: { socket: string; hosts: readonly string[]; socat: boolean },
    ): Promise<{ stdout: string; stderr: string }> {
      const filter = seccompFilter();
      const forward = forwarderCommand({
        socket: "/run/net/proxy.sock",
        node: process.execPath,
        socat: at.socat,
      });
      const quoted = (words: readonly string[]): string =>
        words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
      const child = start(
        [
          "sh",
          "-c",
          `${quoted(forward)} & until [ -e /tmp/go ] || grep -q ':0C38 00000000:0000 0A' /proc/net/tcp; do sleep 0.02; done; ${script}`,
        ],
        {
          ...(filter !== undefined && { filter }),
          more: ["--ro-bind", join(at.socket, ".."), "/run/net"],
          env: proxyEnvironment(at.hosts),
        },
      );
      const { stdout, stderr } = await ended(child);
      return { stdout, stderr };
    }

    const forwarders = [...(program("socat") === undefined ? [] : [true]), false];

    it.each(forwarders)(
      "[N17] through the forwarder (socat: %s) curl, python3 and node reach an allowed host by a name that only the host knows",
      async (socat) => {
        const { port, seen } = await server();
        const hosts = [`allowed.example:${port}`];
        const { proxy: one, socket } = await proxy({
          hosts,
          private: true,
          resolve: async () => ["127.0.0.1"],
        });
        const url = `http://allowed.example:${port}`;
        const tools: readonly (readonly [tool: string, script: string])[] = [
          ["curl", `curl -s ${url}/curl; curl -s -p -x $HTTP_PROXY ${url}/tunnel`],
          [
            "python3",
            `python3 -c 'import urllib.request as u; print(u.urlopen("${url}/python").read().decode())'`,
          ],
          [
            "node",
            `node -e 'require("http").get({host:"127.0.0.1",port:new URL(process.env.HTTP_PROXY).port,path:"${url}/node"},(a)=>a.pipe(process.stdout))'`,
          ],
        ];
        for (const [tool, script] of tools) {
          if (program(tool) === undefined) continue;
          const { stdout, stderr } = await run(script, { socket, hosts, socat });
          expect([tool, stdout.includes(`GET /${tool.replace(/\d/, "")}`), stderr]).toEqual([tool, true, ""]);
        }
        expect(seen.map(({ url }) => url)).toEqual(expect.arrayContaining(["/curl", "/tunnel"]));
        expect(one.attempts.since()).toEqual([{ host: "allowed.example", port, allowed: true }]);
      },
    );

    it("[N18] past the proxy there is no way: no direct connection, no name, no other host, no redirect, no address", async () => {
      const { port, seen } = await server();
      const secret = await server();
      const hosts = [`127.0.0.1:${port}`];
      const { proxy: one, socket } = await proxy({ hosts });
      const away = encodeURIComponent(`http://127.0.0.1:${secret.port}/secret`);
      const script = [
        `echo direct: $(curl -s -m 5 --noproxy '*' -o /dev/null -w '%{http_code}' http://127.0.0.1:${port}/)`,
        `echo direct6: $(curl -s -m 5 --noproxy '*' -o /dev/null -w '%{http_code}' http://[::1]:${port}/)`,
        "echo internet: $(curl -s -m 5 --noproxy '*' -o /dev/null -w '%{http_code}' http://1.1.1.1/)",
        "echo name: $(getent hosts example.com)",
        `echo allowed: $(curl -s -m 5 -o /dev/null -w '%{http_code}' http://127.0.0.1:${port}/)`,
        `echo other: $(curl -s -m 5 -o /dev/null -w '%{http_code}' http://127.0.0.1:${secret.port}/)`,
        `echo tunnel: $(curl -s -m 5 -p -o /dev/null -w '%{http_connect}' http://127.0.0.1:${secret.port}/)`,
        `echo redirect: $(curl -s -L -m 5 -o /dev/null -w '%{http_code}' http://127.0.0.1:${port}/to/${away})`,
        `echo header: $(curl -s -m 5 -o /dev/null -w '%{http_code}' -H 'Host: 127.0.0.1:${secret.port}' http://127.0.0.1:${port}/)`,
        "echo metadata: $(curl -s -m 5 -o /dev/null -w '%{http_code}' http://169.254.169.254/latest/)",
        `echo remove: $(rm -f /run/net/proxy.sock 2>&1; ls /run/net)`,
      ].join("\n");
      const { stdout } = await run(script, { socket, hosts, socat: forwarders[0] as boolean });
      expect(
        stdout
          .trim()
          .split("\n")
          .map((line) => line.trim()),
      ).toEqual([
        ...[
          "direct: 000",
          "direct6: 000",
          "internet: 000",
          "name:",
          "allowed: 200",
          "other: 403",
          "tunnel: 403",
          "redirect: 403",
          "header: 200",
        ],
        ...[
          "metadata: 403",
          "remove: rm: cannot remove '/run/net/proxy.sock': Read-only file system proxy.sock",
        ],
      ]);
      expect(secret.connections()).toBe(0);
      expect(seen.map(({ headers }) => headers.host)).toEqual(seen.map(() => `127.0.0.1:${port}`));
      expect(one.attempts.since()).toEqual([
        { host: "127.0.0.1", port, allowed: true },
        { host: "127.0.0.1", port: secret.port, allowed: false },
        { host: "169.254.169.254", port: 80, allowed: false },
      ]);
    });

    it("[N19] servers inside are reached inside; the host sees when the forwarder is ready", async () => {
      const { socket } = await proxy({ hosts: ["example.com"] });
      expect(proxyEnvironment(["example.com"]).NO_PROXY).toBe("localhost,127.0.0.1,::1");
      expect(proxyEnvironment(["localhost:80"]).NO_PROXY).toBe("");
      expect(proxyEnvironment(["[::1]:80"]).no_proxy).toBe("");
      const node = `node -e 'require("http").createServer((q,a)=>a.end("inside")).listen(8000,"127.0.0.1")' & until grep -q ':1F40 00000000:0000 0A' /proc/net/tcp; do sleep 0.02; done; curl -s http://localhost:8000/`;
      expect(
        (await run(node, { socket, hosts: ["example.com"], socat: forwarders[0] as boolean })).stdout,
      ).toBe("inside");
      for (const socat of forwarders) {
        const forward = forwarderCommand({ socket: "/run/net/proxy.sock", node: process.execPath, socat });
        const child = start(forward, { more: ["--ro-bind", join(socket, ".."), "/run/net"] });
        const over = ended(child);
        // Bubblewrap itself stays in the network of the host; its child is in the sandbox's.
        expect(await awaitForwarder(child.pid as number, 100)).toBe(false);
        const { readFileSync } = await import("node:fs");
        const inner = Number(
          readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ")[0],
        );
        expect(await awaitForwarder(inner)).toBe(true);
        child.kill("SIGKILL");
        await over;
        expect(await awaitForwarder(inner, 0)).toBe(false);
      }
    });
  },
);
