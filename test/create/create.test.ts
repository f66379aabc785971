import { execFile, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt } from "../../src/store/testing/worker.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "openrath-create-"));
// Neither a key nor the store of the machine: what the projects do must come from their own folder.
const env = {
  PATH: process.env.PATH,
  HOME: folder,
  npm_config_cache: join(folder, "npm"),
  npm_config_offline: "true",
  npm_config_update_notifier: "false",
};
let tarball = "";

beforeAll(async () => {
  await ensureBuilt();
  const pack = ["pack", "--json", "--ignore-scripts", "--loglevel=error", "--pack-destination", folder];
  const { stdout } = await promisify(execFile)("npm", pack, { cwd: join(root, "packages/create-openrath") });
  tarball = join(folder, JSON.parse(stdout)[0].filename);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string };

function call(command: string, args: readonly string[], cwd: string): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(command, args, { cwd, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
    child.stdin?.end();
  });
}

function create(args: readonly string[], cwd = folder): Promise<Ended> {
  return call("npm", ["exec", "--yes", `--package=${tarball}`, "--", "create-openrath", ...args], cwd);
}

async function project(name: string, template: string): Promise<string> {
  const { code, stdout, stderr } = await create([name, "--template", template]);
  expect(stderr).toBe("");
  expect(stdout).toContain(`cd ${name}`);
  expect(code).toBe(0);
  const home = join(folder, name);
  // In place of `npm install`: the package as it is built here.
  mkdirSync(join(home, "node_modules"));
  symlinkSync(root, join(home, "node_modules", "openrath"), "dir");
  return home;
}

describe("npm create openrath", () => {
  it.each([
    ["agent", /clerk calls look_up .*\nThere are 12 pencils left\./, 2],
    ["workflow", /order-1: waiting\n.*npm start -- approve/, 2],
    ["chat", undefined, 3],
  ])(
    "[CR1] gives a project from the template %s that starts and tests itself",
    async (template, said, tests) => {
      const home = await project(`my-${template}`, template);
      expect(JSON.parse(readFileSync(join(home, "package.json"), "utf8"))).toMatchObject({
        name: `my-${template}`,
      });
      expect(readFileSync(join(home, ".gitignore"), "utf8")).toContain(".rath/");
      if (said !== undefined)
        for (let time = 0; time < 2; time++) {
          const started = await call("npm", ["start", "--silent"], home);
          expect(started.stderr).toBe("");
          expect(started.stdout).toMatch(said);
          expect(started.code).toBe(0);
        }
      const tested = await call("npm", ["test"], home);
      expect(tested.stdout).toContain(`# pass ${tests}\n# fail 0`);
      expect(tested.code).toBe(0);
    },
  );

  it("[CR1] gives an order that goes on once it is approved, and is charged once", async () => {
    const home = await project("orders", "workflow");
    await call("npm", ["start"], home);
    for (const args of [["start", "--", "approve"], ["start"]])
      expect((await call("npm", args, home)).stdout).toContain("order-1: finished, 130 charged");
  });

  it("[CR2] refuses bad names, templates, options and folders, and writes nothing", async () => {
    const cwd = join(folder, "refused");
    mkdirSync(join(cwd, "full"), { recursive: true });
    writeFileSync(join(cwd, "full", "thesis.txt"), "mine");
    writeFileSync(join(cwd, "file"), "mine");
    const refused: readonly (readonly [readonly string[], RegExp])[] = [
      [["My Shop"], /Cannot name a project "My Shop": .* such as my-shop/],
      [["../up"], /such as up/],
      [["node_modules"], /Cannot name a project/],
      [["full"], /Cannot create the project in full: the folder is not empty \(thesis\.txt\)/],
      [["file"], /there is a file of this name/],
      [["shop", "--template", "game"], /no template "game".*agent, workflow, chat/],
      [["shop", "--tempalte", "chat"], /Unknown option '--tempalte'[\s\S]*Usage: npm create openrath/],
      [["one", "two"], /one name/],
      [["."], /the folder is not empty/],
    ];
    for (const [args, message] of refused) {
      const { code, stdout, stderr } = await create(args, cwd);
      expect(stderr).toMatch(message);
      expect(stderr).not.toMatch(/\n {4}at /);
      expect([code, stdout]).toEqual([1, ""]);
    }
    expect(readdirSync(cwd).sort()).toEqual(["file", "full"]);
    expect(readdirSync(join(cwd, "full"))).toEqual(["thesis.txt"]);
  });

  it("[CR3] asks nothing without a terminal", async () => {
    const cwd = join(folder, "quiet");
    mkdirSync(cwd);
    const asked = await create([], cwd);
    expect(asked.stderr).toContain("Give it: npm create openrath NAME");
    expect(asked.code).toBe(1);
    expect((await create(["--yes"], cwd)).code).toBe(0);
    expect(existsSync(join(cwd, "my-agent", "agent.js"))).toBe(true);
  });

  it("[CR3] asks at a terminal, and again after an answer that it cannot use", async () => {
    const cwd = join(folder, "asked");
    mkdirSync(cwd);
    await call("tar", ["-xzf", tarball, "-C", folder], folder);
    const program = join(folder, "package", "index.mjs");
    const { stdout, code } = await call("python3", ["-c", TERMINAL, process.execPath, program], cwd);
    expect(stdout).toContain('Cannot name a project "Bad Name"');
    expect(stdout).toContain("Answer with agent, workflow, chat or a number.");
    expect(code).toBe(0);
    expect(readdirSync(join(cwd, "shop"))).toContain("server.js");
  });

  it("[CR4] gives a chat server that streams, waits for a colleague, and goes on", async () => {
    const home = await project("chat-server", "chat");
    const server = spawn(process.execPath, ["server.js"], { cwd: home, env: { ...env, PORT: "0" } });
    try {
      const url = await new Promise<string>((resolve, reject) => {
        server.stdout.setEncoding("utf8").once("data", (text: string) => resolve(text.trim()));
        server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
      });
      let sent = 0;
      const post = async (text: string): Promise<string> => {
        const messages = [{ id: `m-${++sent}`, role: "user", parts: [{ type: "text", text }] }];
        const headers = { "content-type": "application/json" };
        const body = JSON.stringify({ id: "ada", messages });
        return (await fetch(`${url}/api/chat`, { method: "POST", headers, body })).text();
      };

      expect(await (await fetch(url)).text()).toContain("<title>chat-server</title>");
      expect((await fetch(`${url}/api/chat/../secret`)).status).toBe(404);
      expect(await post("Please pay back 20.")).toContain('data: {"type":"text-delta"');
      expect(await post("Please pay back 130.")).toContain('data: {"type":"data-awaited"');

      const rath = join(root, "dist", "cli", "rath.js");
      const approved = await call(
        process.execPath,
        [rath, "approve", "chat-ada", "--by", "user:colleague"],
        home,
      );
      expect(approved).toMatchObject({ code: 0 });
      const answer = await (await fetch(`${url}/api/chat/ada/stream`)).text();
      const texts = [...answer.matchAll(/"delta":"(.*?)"/g)].map(([, text]) => text);
      expect(texts.join("")).toContain("Anything else?");
      const shown = await call(process.execPath, [rath, "log", "chat-ada", "--all"], home);
      expect(shown.stdout).toContain("130 paid back");
    } finally {
      const ended = new Promise((resolve) => server.once("exit", resolve));
      server.kill();
      await ended;
    }
  });
});

/** Starts a program at a terminal and types answers, each after its question. */
const TERMINAL = `
import os, pty, sys
answers = [b"Bad Name\\n", b"shop\\n", b"9\\n", b"chat\\n"]
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen = b""
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    os.write(1, piece)
    seen += piece
    if answers and (b"(my-agent): " in seen or b"Template (1): " in seen):
        seen = b""
        os.write(terminal, answers.pop(0))
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
`;
