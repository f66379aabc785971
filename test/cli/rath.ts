import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, openRath, type Session, scripted, workflow } from "openrath";
import { sandboxTools } from "openrath/tool";
import { afterAll } from "vitest";
import { call, type Said, surroundings } from "./call.js";

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
  const { RATH_HOME: _, RATH_STORE: __, NO_COLOR: ___, FORCE_COLOR: ____, ...rest } = surroundings;
  const env = {
    ...rest,
    RATH_HOME: join(folder, "home"),
    RATH_CONFIG: join(folder, "config"),
    ...environment,
  };
  return (...words) => call(words, { cwd: folder, env });
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
