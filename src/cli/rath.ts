#!/usr/bin/env node
import { main } from "./main.js";

// These do something or judge something: that nobody reads on neither stops them nor makes a success of them.
const goesOn = ["run", "resume", "replay", "demo", "verify"].includes(process.argv[2] ?? "");

// The reader of the others may have seen enough: `rath log | head`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  if (!goesOn) process.exit();
});
process.stderr.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

// Warnings are for those who write programs. Messages for users come from the commands.
process.removeAllListeners("warning");
process.on("warning", (warning: Error & { readonly code?: string }) => {
  if (process.env.RATH_DEBUG) process.stderr.write(`${warning.name}: ${warning.message}\n`);
});

process.exitCode = await main(process.argv.slice(2));
