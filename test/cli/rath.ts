import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { agent, openRath, type Session, scripted, workflow } from "openrath";
import { sandboxTools } from "openrath/tool";
import { afterAll } from "vitest";

/** The command as users run it: the built program. `npm test` builds before it tests. */
export const program: string = fileURLToPath(new URL("../../dist/cli/rath.js", import.meta.url));

export type Said = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** A folder that goes when the tests are over. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "openrath-cli-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Calls the command in a folder, with nothing of the surroundings that could change what it says. */
export function commandIn(
  folder: string,
  environment: { readonly [name: string]: string } = {},
): (...words: readonly string[]) => Promise<Said> {
  const { RATH_HOME: _, RATH_STORE: __, NO_COLOR: ___, FORCE_COLOR: ____, ...rest } = process.env;
  const env = {
    ...rest,
    RATH_HOME: join(folder, "home"),
    RATH_CONFIG: join(folder, "config"),
    ...environment,
  };
  return (...words) =>
    new Promise((done) => {
      execFile(
        process.execPath,
        [program, ...words],
        { cwd: folder, env, timeout: 60_000, maxBuffer: 1 << 28 },
        (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
          done({ code, stdout, stderr });
        },
      );
    });
}

/** A store with a session "answer": two agents on two branches write a file, and one of them is adopted. */
export async function twoBranches(folder: string): Promise<Session> {
  const coder = (name: string, text: string) =>
    agent({
      name,
      model: scripted({ tool: "write", input: { path: "answer.txt", text } }, "Done."),
      tools: sandboxTools(),
    });
  const both = workflow(
    "both",
    { small: coder("small", "42\n"), bold: coder("bold", "forty-two\n") },
    async (session, coders) => {
      const [small, bold] = await Promise.all([
        coders.small.forward(session.fork("small", { why: "a number is enough" })),
        coders.bold.forward(session.fork("bold")),
      ]);
      const checked = small.append({ type: "validation-report", name: "short", passed: true });
      return checked.merge(bold, { adopt: "ours", why: "shorter" });
    },
  );
  mkdirSync(join(folder, "home"), { recursive: true });
  const rath = openRath({ store: `sqlite:${join(folder, "home", "rath.db")}` });
  try {
    return await rath.run(both, rath.start("Answer in a file.", { by: "user:ada" }).to("virtual"), {
      name: "answer",
    });
  } finally {
    await rath.close();
  }
}
