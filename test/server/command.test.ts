import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, program, surroundings } from "../cli/call.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "rath-serve-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function place(name: string) {
  const home = join(folder, name);
  return {
    cwd: folder,
    env: { ...surroundings, RATH_HOME: home, RATH_CONFIG: join(home, "config"), CI: "" },
  };
}

/** Starts `rath serve`, and reads the first line that it prints. */
async function started(words: readonly string[], env: NodeJS.ProcessEnv) {
  const child: ChildProcess = spawn(process.execPath, [program, "serve", "--port", "0", ...words], {
    cwd: folder,
    env,
  });
  let text = "";
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout?.on("data", (piece: Buffer) => {
      text += String(piece);
      if (/next:|^\{.*\n/.test(text)) resolve(text);
    });
    child.stderr?.on("data", (piece: Buffer) => reject(new Error(String(piece))));
    child.on("exit", (code) => reject(new Error(`it ended with ${code}: ${text}`)));
  });
  const stop = (signal: "SIGTERM" | "SIGINT" = "SIGTERM") =>
    new Promise<number | null>((resolve) => {
      child.removeAllListeners("exit");
      child.on("exit", resolve);
      child.kill(signal);
    });
  return { line, stop };
}

describe("rath serve", () => {
  it("[SV1] serves one person on this machine, and says so in red", async () => {
    const { env } = place("single");
    const { line, stop } = await started([], { ...env, FORCE_COLOR: "1", NO_COLOR: "" });
    expect(line).toContain("\u001b[31mSingle-user mode:");
    expect(await stop()).toBe(0);
    const json = await started(["--json"], env);
    const { url, token } = JSON.parse(json.line) as { url: string; token: string };
    const answer = await fetch(`${url}/api/me`, { headers: { authorization: `Bearer ${token}` } });
    expect(await answer.json()).toMatchObject({
      single: true,
      principal: expect.stringMatching(/^user/),
      grants: [{ roles: ["view", "run", "approve", "audit", "erase"], under: "*" }],
    });
    expect((await fetch(`${url}/api/sessions`)).status).toBe(401);
    // Ctrl-C: 130, as everywhere in the command.
    expect(await json.stop("SIGINT")).toBe(130);
  });

  it("[SV2] with users it takes their tokens alone; other machines reach it only then", async () => {
    const where = place("users");
    const refused = await call(["serve", "--port", "0", "--host", "0.0.0.0"], where);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("for this machine only")]);
    const added = await call(
      ["user", "add", "bob", "--role", "approve", "--under", "pay/*", "--expires", "30d", "--json"],
      where,
    );
    const { token, id } = JSON.parse(added.stdout) as { token: string; id: string };
    const unnamed = await call(["serve", "--port", "0", "--host", "0.0.0.0"], where);
    expect([unnamed.code, unnamed.stderr]).toEqual([2, expect.stringContaining("--allow-host")]);
    const listed = await call(["user", "list", "--json"], where);
    expect(JSON.parse(listed.stdout)).toMatchObject([
      { id, name: "bob", grants: [{ roles: ["approve"], under: "pay/*" }] },
    ]);
    expect(listed.stdout).not.toContain("hash");
    const { line, stop } = await started(["--json"], where.env);
    const { url, ...rest } = JSON.parse(line) as { url: string };
    expect(rest).toEqual({});
    const me = () => fetch(`${url}/api/me`, { headers: { authorization: `Bearer ${token}` } });
    expect(await (await me()).json()).toMatchObject({ principal: "user:bob", single: false });
    expect((await call(["user", "revoke", "bob"], where)).code).toBe(0);
    expect((await me()).status).toBe(401);
    expect(await stop()).toBe(0);
  });
});
