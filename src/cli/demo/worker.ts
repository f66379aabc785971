import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { RathError } from "../../session/index.js";
import { COMMAND } from "../location.js";
import { plain } from "../text.js";
import type { Seen } from "./story.js";

/** The command itself: what the demonstration does, everybody can type. */
const PROGRAM: string = fileURLToPath(COMMAND);

/** How the process ended that the run was begun in. */
export type Ended = { readonly pid: number; readonly killed: boolean; readonly code: number | null };

/**
 * Runs a command in a process of its own, hears every fact that it made durable, and kills it as soon as `kill` says so:
 * with SIGKILL, which no program can prepare for.
 */
export function runUntil(
  args: readonly string[],
  hear: (seen: Seen) => void,
  kill: (seen: Seen) => boolean,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    const end = (): void => void child.kill("SIGKILL");
    // Whoever ends us must not leave it behind.
    process.once("exit", end);
    let killed = false;
    let rest = "";
    let complaint = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaint = (complaint + text).slice(-4_000);
    });
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const seen = parsed(line);
        // The last line says how it came out; what was killed meanwhile is heard all the same, for it is durable.
        if (seen.fact === undefined) continue;
        hear(seen as Seen);
        if (killed || !kill(seen as Seen)) continue;
        killed = child.kill("SIGKILL");
      }
    });
    child.once("error", reject);
    child.once("close", (code, signal) => {
      process.off("exit", end);
      // 4: it waits for somebody, which is an end too.
      if (code === 0 || code === 4 || (killed && signal === "SIGKILL"))
        resolve({ pid: child.pid ?? 0, killed: signal === "SIGKILL", code });
      else
        reject(
          new RathError("demo-failed", `The run ended with ${code ?? signal}: ${plain(complaint).trim()}`, {
            hint: "what was done is kept: rath list",
            data: { code, signal },
          }),
        );
    });
  });
}

/** What is no line of ours, such as a word of a debugger, is nobody's business. */
function parsed(line: string): Partial<Seen> {
  try {
    return Object(JSON.parse(line)) as Partial<Seen>;
  } catch {
    return {};
  }
}

/** Runs a command to its end and reads the one document that it prints. */
export async function documentOf(
  args: readonly string[],
): Promise<{ readonly pid: number; readonly document: unknown }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [PROGRAM, ...args, "--json"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    child.once("error", reject);
    child.once("close", () => {
      try {
        resolve({ pid: child.pid ?? 0, document: JSON.parse(output) });
      } catch (error) {
        reject(
          new RathError("demo-failed", `rath ${args.join(" ")} did not answer.`, {
            hint: "try it by hand",
            cause: error,
          }),
        );
      }
    });
  });
}
