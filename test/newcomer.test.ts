import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { ensureBuilt } from "../src/store/testing/worker.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const { RATH_HOME: _home, RATH_STORE: _store, ...env } = process.env;

/** The program of the README that holds a text. */
function programWith(text: string): string {
  const programs = [...readme.matchAll(/^```(?:js|ts)\n(.*?)^```/gms)].map(([, program = ""]) => program);
  const found = programs.find((program) => program.includes(text));
  if (found === undefined) throw new Error(`the README has no program with ${text}`);
  return found;
}

/** A folder as `npm install openrath` leaves it. */
function folderOf(): string {
  const folder = mkdtempSync(join(tmpdir(), "openrath-newcomer-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(root, join(folder, "node_modules", "openrath"), "dir");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  return folder;
}

beforeAll(ensureBuilt);

describe("a newcomer", { timeout: 60_000 }, () => {
  it("[R24] the chat server streams, waits, is killed twice, and pays once", async () => {
    const folder = folderOf();
    // Another program of the README has a payment in doubt in the same store: the server leaves it alone.
    writeFileSync(join(folder, "order.mjs"), programWith('"order-7", "Refund order 7."'));
    for (const signal of ["SIGKILL", null]) {
      const order = spawn(process.execPath, ["order.mjs"], { cwd: folder, env, stdio: "ignore" });
      expect(await once(order, "exit")).toEqual([signal === null ? 0 : null, signal]);
    }
    rmSync(join(folder, "ledger.txt"));
    const program = programWith("uiStream(");
    expect(program.split("\n").filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(60);
    const moves = "// the money moves";
    expect(program).toContain(moves);
    const dies = 'if (process.env.DIE) process.kill(process.pid, "SIGKILL");';
    writeFileSync(
      join(folder, "server.mjs"),
      program.replace("port: 3000", "port: 0").replace(moves, `\n    ${dies}`),
    );

    let server: ChildProcess | undefined;
    let complaints = "";
    onTestFinished(() => void server?.kill("SIGKILL"));
    const start = async (more = {}): Promise<string> => {
      const started = spawn(process.execPath, ["server.mjs"], { cwd: folder, env: { ...env, ...more } });
      server = started;
      started.stderr.on("data", (text: Buffer) => (complaints += text.toString()));
      const [text] = (await once(started.stdout, "data")) as [Buffer];
      return text.toString().trim();
    };
    const crashed = async (): Promise<void> => {
      if (server?.exitCode === null && server.signalCode === null) await once(server, "exit");
    };
    const kill = async (): Promise<void> => {
      server?.kill("SIGKILL");
      await crashed();
    };
    const typed = (name: string) => new RegExp(`^${name} .*?(?:\\\\\\n.*?)?$`, "m").exec(readme)?.[0] ?? "";
    const send = async (url: string, path: string, token: string, body?: object) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const post = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      return fetch(url + path, { headers, ...post });
    };

    let url = await start();
    expect((await fetch(`${url}/api/chat/c1`)).status).toBe(401);
    const [, question = ""] = /-d '(.*)'/.exec(typed("curl -N localhost:3000/api/chat -H")) ?? [];
    const asked = await (await send(url, "/api/chat", "customer", JSON.parse(question))).text();
    expect(asked.match(/"text-delta"/g)?.length).toBeGreaterThan(1);
    expect(asked).toContain('"tool-approval-request"');
    await kill();

    // The boss agrees by the command that the README shows, and the server dies inside the refund.
    const [, , ...words] = typed("npx rath approve")
      .replace(/\s+#.*/, "")
      .split(" ");
    const rath = join(root, "dist/cli/rath.js");
    const { stdout } = await promisify(execFile)(process.execPath, [rath, ...words], { cwd: folder, env });
    expect(stdout).toMatch(/next: node server\.mjs +# starts its program again/);
    // It goes on when the server starts, without a request.
    await start({ DIE: "1" });
    await crashed();
    expect(readFileSync(join(folder, "ledger.txt"), "utf8")).toMatch(/^\w+ order 7\n$/);

    // In doubt: it is not repeated. Staff find out that it happened, and the answer goes on.
    url = await start();
    const doubt = await (await send(url, "/api/chat/c1/stream", "customer")).text();
    expect(doubt).toContain('"in-doubt"');
    const { awaited } = (await (await send(url, "/staff", "staff")).json()) as {
      awaited: readonly { readonly name: string; readonly id: string }[];
    };
    expect((await send(url, "/staff", "customer")).status).toBe(403);
    const [one] = awaited;
    const value = { decision: "done", value: { refunded: "7" } };
    expect((await send(url, "/staff", "staff", { name: one?.name, of: one?.id, value })).status).toBe(200);
    await (await send(url, "/api/chat/c1/stream", "customer")).text();
    expect(await (await send(url, "/api/chat/c1", "customer")).text()).toContain("Order 7 is refunded.");
    expect(readFileSync(join(folder, "ledger.txt"), "utf8").trim().split("\n")).toHaveLength(1);
    await kill();
    expect(complaints).toBe("");
  });

  it("[R24] the chat server is strict TypeScript as it stands", async () => {
    const folder = folderOf();
    writeFileSync(join(folder, "server.ts"), programWith("uiStream("));
    const options =
      "--noEmit --strict --skipLibCheck --target es2022 --module nodenext --types node --typeRoots";
    const words = [...options.split(" "), join(root, "node_modules/@types"), "server.ts"];
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { stdout } = await promisify(execFile)(process.execPath, [tsc, ...words], { cwd: folder }).catch(
      (error: { readonly stdout: string }) => error,
    );
    expect(stdout).toBe("");
  });

  it("[R25] the first program runs in an empty folder, as .mjs and .ts, again and again", async (context) => {
    const folder = folderOf();
    const runsTypes = "typescript" in process.features && Boolean(process.features.typescript);
    for (const file of runsTypes ? ["hello.mjs", "hello.ts"] : ["hello.mjs"]) {
      writeFileSync(join(folder, file), programWith('"look_up"'));
      for (const answer of ["There are 12 pencils left.", "Still 12."]) {
        const ended = await promisify(execFile)(process.execPath, [file], { cwd: folder, env });
        expect(ended.stdout).toContain(answer);
        expect(ended.stdout).toContain("the same id");
      }
      rmSync(join(folder, ".rath"), { recursive: true });
    }
    if (!runsTypes) context.annotate("this Node runs no .ts: only .mjs was run");
  });
});
