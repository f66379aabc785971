import { execFile, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { openStore } from "openrath/store";
import { describe, expect, it, type TestContext } from "vitest";
import { Bench, heard } from "./command.js";
import { Endpoint } from "./endpoint.js";

const bwrap = spawnSync("bwrap", ["--ro-bind", "/", "/", "true"]).status === 0;

function benchOf(context: TestContext): Bench {
  const bench = new Bench({ spawns: true });
  context.onTestFinished(() => bench.remove());
  return bench;
}

describe.concurrent("rath demo in the world", { timeout: 180_000 }, () => {
  it.for(["read ISSUE.md", "rejected it", "resumed"])(
    '[N7] killed where it says "%s", its run is brought to the same end',
    async (words, context) => {
      const bench = benchOf(context);
      const child = bench.start({}, "demo");
      let seen = "";
      child.stdout?.on("data", (bytes: Buffer) => {
        seen += bytes.toString("utf8");
        if (seen.includes(words)) child.kill("SIGKILL");
      });
      expect((await heard(child)).signal).toBe("SIGKILL");
      // The process that it had started ends as soon as nobody hears it; until then it is the one that works.
      let resumed = await bench.rath("resume", "demo-1");
      for (let turn = 0; turn < 100 && resumed.code !== 0; turn++) {
        expect(resumed.stderr).toMatch(/held|another|lease/i);
        await new Promise((resolve) => setTimeout(resolve, 300));
        resumed = await bench.rath("resume", "demo-1");
      }
      expect(resumed.stdout).toContain("Issue 41 is repaired: 13 of 13 tests");
      expect((await bench.rath("replay", "demo-1")).code).toBe(0);
      const store = await openStore(`sqlite:${bench.home}/rath.db`);
      expect((await store.check()).findings).toEqual([]);
      await store.close();
    },
  );

  it("[N8] without bubblewrap it says that there is no isolation, and a model is not let loose there", async (context) => {
    const bench = benchOf(context);
    const bin = join(bench.folder, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "bwrap"), "#!/bin/sh\nexit 1\n");
    chmodSync(join(bin, "bwrap"), 0o755);
    const PATH = `${bin}${delimiter}${process.env.PATH}`;
    const live = { PATH, OPENAI_BASE_URL: "http://127.0.0.1:9/v1" };
    const refused = await bench.with(live, "demo");
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/no sandbox that would hold it[\s\S]*--sandbox host/),
    });
    expect(await bench.with({ PATH }, "demo", "--sandbox", "local")).toMatchObject({ code: 1 });
    const { code, stdout } = await bench.with({ PATH }, "demo");
    expect(code).toBe(0);
    expect(stdout).toMatch(/Sandbox: host: NO isolation[\s\S]*better: /);
    expect(stdout).toContain("All as it should be.");
    const store = await openStore(`sqlite:${bench.home}/rath.db`);
    const isolation = new Set(
      [...(await store.load("demo-1")).history()].flatMap(({ fact }) =>
        fact.type === "sandbox-open" ? [fact.isolation] : [],
      ),
    );
    await store.close();
    expect([...isolation]).toEqual(["none"]);
  });

  it("[N9] where nothing can be written it says so, and how to choose another folder", async (context) => {
    const bench = benchOf(context);
    writeFileSync(join(bench.folder, "file"), "");
    const locked = join(bench.folder, "locked");
    mkdirSync(locked);
    chmodSync(locked, 0o555);
    const homes = [
      join(bench.folder, "file", "home"),
      ...(process.getuid?.() === 0 ? [] : [join(locked, "home")]),
    ];
    for (const RATH_HOME of homes) {
      const { code, stderr, stdout } = await bench.with({ RATH_HOME }, "demo");
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/Cannot keep anything in .*\n {2}hint: .*RATH_HOME=/);
      expect(stderr).not.toMatch(/^\s+at /m);
    }
  });

  it("[N10] a reader that has seen enough is no error, and no process is left behind", async (context) => {
    const bench = benchOf(context);
    const { stderr } = await new Promise<{ stderr: string }>((resolve) => {
      const line = `"${process.execPath}" "${bench.program}" demo | head -n 4`;
      execFile(
        "/bin/sh",
        ["-c", line],
        { cwd: bench.folder, env: bench.environment() },
        (_error, _stdout, text) => resolve({ stderr: text }),
      );
    });
    expect(stderr).toBe("");
    if (process.platform !== "linux") return;
    for (let turn = 0; turn < 100 && workingIn(bench.home).length > 0; turn++)
      await new Promise((resolve) => setTimeout(resolve, 200));
    expect(workingIn(bench.home)).toEqual([]);
  });

  it("[N12] an endpoint in the environment is asked, with the same tools, and its key is nowhere on the record", async (context) => {
    const bench = benchOf(context);
    const endpoint = new Endpoint();
    context.onTestFinished(() => endpoint.close());
    const OPENAI_BASE_URL = await endpoint.listen();
    const OPENAI_API_KEY = "key-that-nobody-may-read";
    const { code, stdout, stderr } = await bench.with(
      { OPENAI_BASE_URL, OPENAI_API_KEY, RATH_MODEL: "loopback" },
      "demo",
      ...(bwrap ? [] : ["--sandbox", "host"]),
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`Model: loopback at ${OPENAI_BASE_URL}`);
    expect(stdout).toMatch(
      /rejected it[\s\S]*merged branches and adopted \S+ bold[\s\S]*accepted it[\s\S]*All as it should be/,
    );
    // In a sandbox that holds it, it is killed on the way as well.
    expect(stdout.includes("resumed in this process")).toBe(bwrap);
    expect([...endpoint.keys]).toEqual([`Bearer ${OPENAI_API_KEY}`]);
    expect(endpoint.offered.get("coder")).toEqual(
      expect.arrayContaining(["view", "edit", "write", "test", "shell"]),
    );
    expect([...endpoint.offered.keys()].sort()).toEqual([
      "bold",
      "coder",
      "research",
      "small",
      "tester",
      "validator",
    ]);
    for (const file of readdirSync(bench.home, { recursive: true, withFileTypes: true }))
      if (file.isFile())
        expect(readFileSync(join(file.parentPath, file.name)).includes(OPENAI_API_KEY), file.name).toBe(
          false,
        );
    // The record is enough: with the endpoint gone it replays to the same id.
    endpoint.close();
    expect((await bench.with({ OPENAI_BASE_URL, OPENAI_API_KEY }, "replay", "demo-1")).stdout).toContain(
      "the same id",
    );
  });

  it("[N12] a model that repairs nothing is told as it is, with exit code 3 and nothing remembered", async (context) => {
    const bench = benchOf(context);
    const endpoint = new Endpoint();
    endpoint.hopeless = true;
    context.onTestFinished(() => endpoint.close());
    const { code, stdout } = await bench.with(
      { RATH_BASE_URL: await endpoint.listen(), RATH_MODEL: "loopback" },
      "demo",
      "--sandbox",
      "host",
      "--json",
    );
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ accepted: false, same: true, intact: true, memory: null });
  });

  it("[N12] an endpoint that refuses is told as it is", async (context) => {
    const bench = benchOf(context);
    const endpoint = new Endpoint();
    endpoint.broken = true;
    context.onTestFinished(() => endpoint.close());
    const { code, stderr } = await bench.with(
      { OPENAI_BASE_URL: await endpoint.listen(), OPENAI_API_KEY: "k" },
      "demo",
      "--sandbox",
      "host",
    );
    expect(code).toBe(1);
    expect(stderr).toContain("no such key");
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

/** The processes that were started for a home. */
function workingIn(home: string): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(home);
      } catch {
        return false;
      }
    });
}
