#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { RathError } from "../session/index.js";

/** Exit codes: 0 fine, 1 an error, 2 a wrong command line, 3 a record that does not verify. */
const HELP = `rath — sessions that can be forked, merged, kept and checked

  rath demo                 two agents repair a file; the run is killed, resumed, replayed and verified
  rath verify FILE          check an exported record (JSON lines, see docs/format.md); --head ID also tells a cut-off file
  rath help                 this text

  --json                    one JSON document on stdout instead of text
  --version                 the version of openrath

  The record is kept in .rath in the current folder, or where RATH_HOME says.
  Exit codes: 0 ok, 1 error, 2 usage, 3 verification failed.

Examples
  rath demo
  rath verify .rath/demo-1.jsonl
`;

async function main(): Promise<number> {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse();
  } catch (error) {
    return usage(error instanceof Error ? error.message : String(error));
  }
  const { values, positionals } = parsed;
  const [command = "help", ...rest] = positionals;
  const json = values.json ?? false;
  if (values.version) {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
      version: string;
    };
    process.stdout.write(`${version}\n`);
    return 0;
  }
  if (values.help || command === "help") {
    process.stdout.write(HELP);
    return 0;
  }
  if (command === "demo") return (await import("./demo.js")).demo({ json });
  // The demonstration's other processes: the one that is killed, and the one that replays.
  const [url, name, workshop] = rest;
  if (
    /^demo-(work|replay)$/.test(command) &&
    url !== undefined &&
    name !== undefined &&
    workshop !== undefined
  ) {
    const { work, replay } = await import("./demo.js");
    return (command === "demo-work" ? work : replay)(url, name, workshop);
  }
  if (command === "verify" && rest[0] !== undefined)
    return (await import("./verify.js")).verify(rest[0], {
      json,
      ...(values.head !== undefined && { head: values.head }),
    });
  if (command === "verify") return usage("verify needs a FILE");
  return usage(`there is no command "${command}"`);
}

function parse() {
  return parseArgs({
    allowPositionals: true,
    options: {
      json: { type: "boolean" },
      help: { type: "boolean", short: "h" },
      version: { type: "boolean" },
      head: { type: "string" },
    },
  });
}

function usage(problem: string): number {
  process.stderr.write(`rath: ${problem}\n  try: rath help\n`);
  return 2;
}

// Whoever reads us may have seen enough: `rath demo | head`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(
      `rath: ${error instanceof RathError ? error.message : error instanceof Error ? error.stack : String(error)}\n`,
    );
    process.exitCode = 1;
  },
);
