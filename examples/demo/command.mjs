// @ts-check
// Runs `rath` in processes of their own: everything that the demonstration does, everybody can type.
import { spawn } from "node:child_process";
import { RathError } from "openrath";

/**
 * Runs a command, hears every fact that it made durable, and kills it when `kill` says so: with SIGKILL, which no program
 * can prepare for.
 *
 * @param {readonly string[]} command the program and its arguments
 * @param {{ readonly [name: string]: string }} more what its environment has beside that of this process
 * @param {(seen: import("./story.mjs").Seen) => void} hear
 * @param {(seen: import("./story.mjs").Seen) => boolean} kill
 * @returns {Promise<{ readonly pid: number, readonly killed: boolean }>}
 */
export function runUntil(command, more, hear, kill) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, command, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...more },
    });
    const end = () => void child.kill("SIGKILL");
    // When this process ends, the child must not stay behind.
    process.once("exit", end);
    let killed = false;
    let rest = "";
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      errors = (errors + text).slice(-4_000);
    });
    child.stdout.setEncoding("utf8").on("data", (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const seen = parsed(line);
        // The last line is the outcome. Facts that arrive after the kill are durable too, so they are heard.
        if (seen.fact === undefined) continue;
        hear(seen);
        if (!killed && kill(seen)) killed = child.kill("SIGKILL");
      }
    });
    child.once("error", reject);
    child.once("close", (code, signal) => {
      process.off("exit", end);
      // 4: the run waits for a person, which is an end too.
      if (code === 0 || code === 4 || (killed && signal === "SIGKILL"))
        return resolve({ pid: child.pid ?? 0, killed: signal === "SIGKILL" });
      reject(
        new RathError("demo-failed", `The run ended with ${code ?? signal}: ${errors.trim()}`, {
          hint: "what was done is kept: rath list",
          data: { code, signal },
        }),
      );
    });
  });
}

/** A line that is not JSON, such as a message of a debugger, has no fact. */
function parsed(/** @type {string} */ line) {
  try {
    return Object(JSON.parse(line));
  } catch {
    return {};
  }
}

/**
 * Runs a command to its end and reads the document that it prints.
 *
 * @param {readonly string[]} command
 * @param {{ readonly [name: string]: string }} [more] what its environment has beside that of this process
 * @returns {Promise<{ readonly pid: number, readonly document: any }>}
 */
export function documentOf(command, more = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...command, "--json"], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...more },
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
    child.once("error", reject);
    child.once("close", () => {
      try {
        resolve({ pid: child.pid ?? 0, document: Object(JSON.parse(output)) });
      } catch (cause) {
        const [, ...words] = command;
        reject(
          new RathError("demo-failed", `rath ${words.join(" ")} did not answer.`, {
            hint: "try it by hand",
            cause,
          }),
        );
      }
    });
  });
}
