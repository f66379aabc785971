import fc from "fast-check";
import { afterAll, expect } from "vitest";

// A run of the tests says the same today and tomorrow. `npm run crash` and OPENRATH_RANDOM=1 look elsewhere each time.
if (process.env.OPENRATH_RANDOM === undefined && process.env.OPENRATH_CRASH_ROUNDS === undefined)
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20261115 });

// The next file may run in this process: it must find the process as this file found it.
const before = shared();
afterAll(() => {
  expect(shared()).toEqual(before);
});

/** What all files of a process see of each other. */
function shared() {
  const { emitWarning, exit, kill, stdout, stderr } = process;
  return {
    folder: process.cwd(),
    environment: { ...process.env },
    functions: { emitWarning, exit, kill, fetch: globalThis.fetch, setTimeout: globalThis.setTimeout },
    streams: { stdout: stdout.write, stderr: stderr.write },
  };
}
