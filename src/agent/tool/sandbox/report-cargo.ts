import type { Found, TestFailure } from "./report.js";

/** Lines of a message that are kept: what follows is mostly stack. */
const LINES = 15;

/** What `cargo test` prints, all its binaries together. */
export function readCargo(output: string): Found {
  const lines = output.split("\n");
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let found = false;
  const failures: TestFailure[] = [];
  lines.forEach((line, at) => {
    const result = /^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/.exec(line);
    if (result !== null) {
      found = true;
      counts.passed += Number(result[1]);
      counts.failed += Number(result[2]);
      counts.skipped += Number(result[3]);
    }
    const name = /^---- (.*) stdout ----$/.exec(line)?.[1];
    if (name === undefined) return;
    const rest = lines.slice(at + 1, at + 1 + 2 * LINES);
    const end = rest.findIndex((one) => /^(stack backtrace:|note: |----|failures:)/.test(one));
    const words = rest.slice(0, end < 0 ? undefined : end).filter((one) => one.trim() !== "");
    failures.push({ name, message: words.slice(0, LINES).join("\n") });
  });
  return found ? { ...counts, failures } : undefined;
}
