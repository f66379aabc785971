import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openStore } from "../../store/index.js";
import { ownerOf, thisProcess } from "../../store/name/owner.js";
import { EngineError, SandboxLostError, SandboxSpecError, SandboxUnavailableError } from "../error.js";
import type { Sandbox } from "../sandbox.js";
import { Trees } from "../trees.js";
import { type DockerOptions, dockerSandbox } from "./docker.js";
import { Engine, findSocket } from "./engine.js";
import { FakeEngine, frame, UPGRADED } from "./testing/fake-engine.js";

let fake: FakeEngine;
let trees: Trees;

beforeEach(async () => {
  fake = await FakeEngine.start();
  trees = new Trees(await openStore("memory:"));
});
afterEach(() => fake.stop());

async function opened(options: DockerOptions = {}, spec = {}): Promise<Sandbox> {
  const provider = dockerSandbox({ socket: fake.socket, image: "img", timeout: 2_000, ...options });
  return provider.create(spec, { id: "box", incarnation: 1, tree: null, trees });
}

describe("finding the engine", () => {
  it("[D6] takes the socket that was asked for, then DOCKER_HOST, then the first usual one that is there", () => {
    expect(findSocket("/a.sock", { DOCKER_HOST: "unix:///b.sock" })).toBe("/a.sock");
    expect(findSocket("unix:///a.sock", {})).toBe("/a.sock");
    expect(findSocket(undefined, { DOCKER_HOST: "unix:///b.sock" })).toBe("/b.sock");
    for (const host of ["tcp://127.0.0.1:2375", "ssh://somewhere"])
      expect(() => findSocket(undefined, { DOCKER_HOST: host })).toThrow("only sockets of this machine");
  });

  it("[D7] says what is missing and what to type: no socket, nobody listening, nobody answering, another program", async () => {
    const missing = await refusal(Engine.open("/nowhere/engine.sock", 1_000));
    expect(missing.message).toContain("there is no socket at /nowhere/engine.sock");
    expect(missing.hint).toContain("systemctl start docker");
    const { socket } = fake;
    fake.on("GET /version", () => ({ status: 500, json: { message: "not today" } }));
    expect((await refusal(Engine.open(socket, 1_000))).message).toContain("not today");
    fake.on("GET /version", () => ({ bytes: Buffer.from("<html>hello</html>") }));
    expect((await refusal(Engine.open(socket, 1_000))).message).toContain("not JSON");
    fake.on("GET /version", () => undefined);
    expect((await refusal(Engine.open(socket, 100))).message).toContain("it took too long");
    const provider = dockerSandbox({ socket: "/nowhere/engine.sock", image: "img" });
    for (let attempt = 0; attempt < 2; attempt++) {
      await refusal(provider.capabilities());
      await refusal(provider.create({}, { id: "a", incarnation: 1, tree: null, trees }));
    }
    await provider.close();
  });

  it.each([
    ["1.41", "1.12", "1.41"],
    ["1.55", "1.44", "1.44"],
    ["1.55", "1.24", "1.41"],
    ["1.40", "1.12", "1.40"],
  ])("[D8] speaks a version that both sides know: of %s to %s it is %s", async (newest, oldest, wanted) => {
    fake.on("GET /version", () => ({ json: { Version: "x", ApiVersion: newest, MinAPIVersion: oldest } }));
    const engine = await Engine.open(fake.socket, 1_000);
    expect(engine.about).toEqual({ name: "docker", version: "x", api: wanted });
  });

  it("[D8] an engine that is too old is unavailable, and Podman is known by its own name", async () => {
    fake.on("GET /version", () => ({ json: { ApiVersion: "1.39" } }));
    expect((await refusal(Engine.open(fake.socket, 1_000))).message).toContain("1.39");
    fake.on("GET /version", () => ({
      json: { Version: "4.3.1", ApiVersion: "1.41", Components: [{ Name: "Podman Engine" }] },
    }));
    expect((await Engine.open(fake.socket, 1_000)).about.name).toBe("podman");
  });

  it("[D8] limits and networks that the engine lacks are not claimed, and refused on request", async () => {
    fake.on("GET /info", () => ({ json: { OSType: "linux", MemoryLimit: false, PidsLimit: false } }));
    fake.on("GET /networks", () => ({ json: [] }));
    const provider = dockerSandbox({ socket: fake.socket, image: "img" });
    const { limits, network, isolation } = await provider.capabilities();
    expect([limits.includes("memory"), limits.includes("pids"), limits.includes("disk")]).toEqual([
      false,
      false,
      false,
    ]);
    expect([network, isolation]).toEqual([["none"], "container"]);
    const options = { id: "a", incarnation: 1, tree: null, trees };
    for (const spec of [
      { limits: { memory: 1024 ** 3 } },
      { limits: { disk: 1024 ** 3 } },
      { network: { mode: "full" as const } },
      { network: { mode: "allow" as const, hosts: ["example.com"] } },
    ])
      await expect(provider.create(spec, options)).rejects.toThrow(SandboxSpecError);
    fake.on("GET /info", () => ({ json: { OSType: "windows" } }));
    await refusal(dockerSandbox({ socket: fake.socket }).capabilities());
  });
});

describe("the engine's answers", () => {
  it.each([404, 409, 500])(
    "[D9] a refusal with %i is an error with the engine's own words",
    async (status) => {
      fake.on("(GET|HEAD) /thing", () => ({ status, json: { message: "because of this" } }));
      const engine = await Engine.open(fake.socket, 1_000);
      const error = await engine.json("GET", "/thing").catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(EngineError);
      expect(error).toMatchObject({ status, code: "engine-refused", data: { reason: "because of this" } });
      expect(await engine.head("/thing", {}, "x").catch((thrown: EngineError) => thrown.status)).toBe(
        status === 404 ? undefined : status,
      );
    },
  );

  it("[D9] every kind of request ends: without an answer, with half of one, with a connection that is cut", async () => {
    const engine = await Engine.open(fake.socket, 150);
    const asks: { readonly [name: string]: () => Promise<unknown> } = {
      json: () => engine.json("GET", "/x"),
      head: () => engine.head("/x", {}, "x"),
      read: () => all(engine.read("/x")),
      send: () => engine.send("/x", [Buffer.alloc(100)]),
    };
    const worlds: { readonly [name: string]: Parameters<FakeEngine["on"]>[1] } = {
      silent: () => undefined,
      cut: (_asked, response) => {
        response.destroy();
        return undefined;
      },
      half: (_asked, response) => {
        response.writeHead(200, { "content-length": "100" });
        response.write("half");
        setTimeout(() => response.destroy(), 20);
        return undefined;
      },
      stalled: (_asked, response) => {
        response.writeHead(200, { "content-length": "100" });
        response.write("half");
        return undefined;
      },
    };
    for (const [world, handler] of Object.entries(worlds)) {
      fake.on("[A-Z]+ /x", handler);
      for (const [kind, ask] of Object.entries(asks)) {
        const error = await ask().then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        // The head of an answer is all that is asked for there.
        if (kind === "head" && (world === "half" || world === "stalled")) continue;
        expect(error, `${kind} of a ${world} engine`).toBeInstanceOf(EngineError);
        expect((error as EngineError).status).toBe(null);
      }
    }
  });

  it("[D9] a signal ends a request with its own reason", async () => {
    const engine = await Engine.open(fake.socket, 5_000);
    fake.on("GET /x", () => undefined);
    const reason = new Error("enough");
    const asked = engine.json("GET", "/x", { signal: AbortSignal.timeout(20) });
    await expect(asked).rejects.toThrow(/abort|timeout/i);
    const control = new AbortController();
    setTimeout(() => control.abort(reason), 20);
    await expect(engine.json("GET", "/x", { signal: control.signal })).rejects.toBe(reason);
  });

  it("[D9] a source that cannot be read to its end is never sent as if it were whole", async () => {
    const engine = await Engine.open(fake.socket, 2_000);
    fake.on("PUT /x", () => ({ status: 200 }));
    const broken = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(1024 ** 2);
      await new Promise((resolve) => setTimeout(resolve, 50));
      throw new Error("the store is gone");
    };
    await expect(engine.send("/x", broken())).rejects.toThrow("the store is gone");
    await expect.poll(() => fake.asked.find(({ path }) => path === "/x")?.complete).toBe(false);
    fake.on("PUT /x", () => ({ status: 400, json: { message: "no" } }));
    await expect(engine.send("/x", [Buffer.alloc(10)])).rejects.toThrow("refused PUT /x: no");
  });
});

describe("opening a sandbox", () => {
  it("[D10] without an image it says so; an image that is not there, or has no shell, is named with what to type", async () => {
    await expect(opened({ image: undefined } as never)).rejects.toThrow(SandboxSpecError);
    fake.on("POST /containers/create", () => ({
      status: 404,
      json: { message: "No such image: img:latest" },
    }));
    expect((await refusal(opened())).hint).toBe("get it: docker pull img");
    fake.withContainer();
    fake.on("POST /containers/[^/]+/start", () => ({
      status: 400,
      json: {
        message: 'OCI runtime create failed: exec: "/bin/sh": stat /bin/sh: no such file or directory',
      },
    }));
    const error = await opened().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SandboxSpecError);
    expect((error as Error).message).toContain("has no /bin/sh");
    expect(fake.asked.some(({ method }) => method === "DELETE")).toBe(true);
  });

  it("[D11] asks for a container without powers, network or the host's files, with a limit to everything", async () => {
    fake.withContainer();
    await opened(
      { user: "1000:1000", processors: 1.5, runtime: "runsc" },
      {
        limits: { memory: 64 * 1024 ** 2, pids: 10, file: 1000, cpu: 1500, scratch: 8 * 1024 ** 2 },
        env: { A: "1" },
      },
    );
    const body = JSON.parse(String(fake.asked.find(({ path }) => path === "/containers/create")?.body));
    expect(body.HostConfig).toMatchObject({
      NetworkMode: "none",
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      Privileged: false,
      ReadonlyRootfs: true,
      Memory: 64 * 1024 ** 2,
      MemorySwap: 64 * 1024 ** 2,
      NanoCpus: 1_500_000_000,
      Runtime: "runsc",
      Tmpfs: { "/tmp": expect.stringContaining("nosuid,nodev,mode=1777,size=5") },
    });
    expect(body.HostConfig.PidsLimit).toBeLessThan(30);
    expect(body.HostConfig.Ulimits).toContainEqual({ Name: "fsize", Soft: 1000, Hard: 1000 });
    expect(body.HostConfig.Ulimits).toContainEqual({ Name: "cpu", Soft: 2, Hard: 2 });
    expect(body.HostConfig.Mounts).toEqual([
      { Type: "volume", Target: "/workspace", VolumeOptions: { NoCopy: true } },
    ]);
    expect(body.HostConfig.Binds).toBeUndefined();
    expect(body).toMatchObject({ User: "1000:1000", Image: "img", Healthcheck: { Test: ["NONE"] } });
    expect(body.Env).toContain("A=1");
  });

  it("[D12] secrets are part of no setting of the container; one without a value is refused", async () => {
    fake.withContainer();
    const provider = dockerSandbox({ socket: fake.socket, image: "img" });
    const options = { id: "box", incarnation: 1, tree: null, trees };
    await expect(provider.create({ secrets: ["TOKEN"] }, options)).rejects.toThrow(
      "nobody gave a value for TOKEN",
    );
    const box = await provider.create(
      { secrets: ["TOKEN"] },
      { ...options, secrets: { TOKEN: "hush", OTHER: "no" } },
    );
    await box.exec("true").result;
    const told = fake.asked.filter(({ body }) => body.includes("hush"));
    expect(told.map(({ path }) => path)).toEqual(["/containers/c1/exec"]);
    expect(fake.asked.some(({ body }) => body.includes("OTHER"))).toBe(false);
    expect(JSON.stringify(box.ref)).not.toContain("hush");
  });

  it("[D13] a name that somebody else's container has is not taken for ours", async () => {
    for (const Status of ["running", "exited"]) {
      fake.withContainer(() => ({ Status }), "another");
      fake.on("POST /containers/create", () => ({ status: 409, json: { message: "in use" } }));
      await expect(opened()).rejects.toThrow("not this sandbox");
    }
    expect(fake.asked.some(({ method }) => method === "DELETE")).toBe(false);
  });

  it("[D13] a container that was never started was not finished: it is removed and made anew", async () => {
    let made = 0;
    fake
      .withContainer(() => ({ Status: made < 2 ? "exited" : "running" }))
      .on("POST /containers/create", () => {
        made += 1;
        return made < 2 ? { status: 409, json: { message: "in use" } } : { status: 201, json: { Id: "c1" } };
      });
    await opened();
    expect(fake.asked.filter(({ method }) => method === "DELETE")).toHaveLength(1);
    expect(made).toBe(2);
  });
});

describe("what dead processes left behind", () => {
  it("[D30] is removed before anything is opened; once, and again only if that failed", async () => {
    const identity = thisProcess();
    const dead = identity && ownerOf({ ...identity, start: identity.start - 1 }, "00000000");
    let answers = 0;
    fake.withContainer().on("GET /containers/json", () => {
      answers += 1;
      if (answers === 1) return { status: 500, json: { message: "not today" } };
      return { json: [{ Id: "left", Created: 0, Labels: { "openrath.owner": dead ?? "" } }] };
    });
    const provider = dockerSandbox({ socket: fake.socket, image: "img" });
    await expect(provider.sweep?.()).rejects.toThrow("not today");
    await Promise.all([provider.sweep?.(), provider.sweep?.()]);
    await provider.create({}, { id: "box", incarnation: 1, tree: null, trees });
    expect(answers).toBe(2);
    const removed = fake.asked.filter(({ method }) => method === "DELETE").map(({ path }) => path);
    expect(removed).toEqual(dead === undefined ? [] : ["/containers/left"]);
    await provider.close();
  });

  it("[D30] does not keep sandboxes from being opened when it cannot be looked for", async () => {
    fake.withContainer().on("GET /containers/json", () => ({ status: 500, json: { message: "not today" } }));
    expect((await opened()).ref.status.phase).toBe("running");
    const nowhere = dockerSandbox({ socket: "/nowhere/engine.sock", image: "img" });
    await expect(nowhere.sweep?.()).rejects.toThrow(SandboxUnavailableError);
    await nowhere.close();
  });
});

describe("a command on a connection that fails", () => {
  it("[D14] an engine that goes away leaves a command of which nobody knows how it ended", async () => {
    fake.withContainer().onUpgrade("POST /exec/e1/start", (_asked, socket) => {
      socket.write(Buffer.concat([Buffer.from(UPGRADED), frame(2, "+7\n"), frame(1, "so far")]));
      setTimeout(() => void fake.stop(), 50);
    });
    const box = await opened();
    const result = await box.exec("work").result;
    expect(result).toMatchObject({ outcome: "lost", code: null, why: "the engine does not answer" });
    expect(Buffer.from(result.stdout).toString()).toBe("so far");
    await expect(box.files.read("x")).rejects.toThrow(SandboxLostError);
    fake = await FakeEngine.start();
  });

  it("[D14] a container that goes away does too, and its state says why", async () => {
    let state: object = { Status: "running" };
    fake
      .withContainer(() => state)
      .on("GET /exec/e1/json", () => ({ status: 404, json: { message: "no such exec" } }))
      .onUpgrade("POST /exec/e1/start", (_asked, socket) => {
        state = { Status: "exited", ExitCode: 137, OOMKilled: true };
        socket.end(Buffer.concat([Buffer.from(UPGRADED), frame(2, "+7\n")]));
      });
    const box = await opened();
    expect(await box.exec("work").result).toMatchObject({
      outcome: "lost",
      why: "its container ran out of memory and ended",
    });
    expect((await box.status()).phase).toBe("lost");
  });

  it("[D14] a command that the engine refuses is unstarted, with its reason; nonsense on the connection is not output", async () => {
    fake.withContainer();
    const box = await opened();
    fake.on("POST /containers/[^/]+/exec", () => ({ status: 409, json: { message: "container is paused" } }));
    expect(await box.exec("work").result).toMatchObject({
      outcome: "unstarted",
      why: expect.stringContaining("container is paused"),
    });
    fake.on("POST /containers/[^/]+/exec", () => ({ status: 201, json: { Id: "e1" } }));
    fake.on("GET /exec/e1/json", () => ({ json: { Running: false, ExitCode: 126 } }));
    fake.onUpgrade("POST /exec/e1/start", (_asked, socket) => {
      socket.end(Buffer.concat([Buffer.from(UPGRADED), frame(1, "OCI runtime exec failed: no room")]));
    });
    expect(await box.exec("work").result).toMatchObject({
      outcome: "unstarted",
      why: "OCI runtime exec failed: no room",
    });
    fake.onUpgrade("POST /exec/e1/start", (_asked, socket) =>
      socket.end(`${UPGRADED}and now for something else`),
    );
    const strange = await box.exec("work").result;
    expect(strange).toMatchObject({ outcome: "lost", code: null });
    expect(strange.stdout).toHaveLength(0);
  });

  it("[D15] a pause that the engine answers with an error never leaves the container standing still", async () => {
    let paused = 0;
    fake
      .withContainer(() => ({ Status: paused === 0 ? "running" : "paused" }))
      .on("POST /containers/c1/pause", () => {
        paused += 1;
        return { status: 204 };
      })
      .on("POST /containers/c1/unpause", () => {
        paused -= 0.5;
        return paused === 0 ? { status: 204 } : { status: 500, json: { message: "try again" } };
      })
      .on("HEAD /containers/c1/archive", () => ({ status: 404 }));
    const box = await opened();
    expect(await box.files.stat("x")).toBeUndefined();
    expect(paused).toBe(0);
  });
});

async function refusal(attempt: Promise<unknown>): Promise<SandboxUnavailableError> {
  const error = await attempt.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(SandboxUnavailableError);
  return error as SandboxUnavailableError;
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}
