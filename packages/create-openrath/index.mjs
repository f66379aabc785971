#!/usr/bin/env node
// @ts-check
// `npm create openrath [NAME] [-- --template agent|workflow|chat] [--yes]`. Asks only at a terminal, and only what was not given.
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { createProject, problemOfName, RefusedError, templates } from "./project.mjs";

const USAGE = `Usage: npm create openrath [NAME] [-- --template ${Object.keys(templates).join("|")}] [--yes]

Creates the folder NAME with a project that runs and tests itself without a key.

  --template NAME  ${Object.entries(templates)
    .map(([name, words]) => `${name.padEnd(9)} ${words}`)
    .join(`\n${" ".repeat(19)}`)}
  --yes            take the defaults in place of questions: my-agent, agent
  --help           this text
`;

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof RefusedError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

async function main() {
  const { values, positionals } = given();
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  if (positionals.length > 1)
    throw new RefusedError(`Cannot create ${positionals.length} projects at once: give one name.`);
  const asks = !values.yes && process.stdin.isTTY === true && process.stdout.isTTY === true;
  const name = positionals[0] ?? (asks ? await askName() : values.yes ? "my-agent" : undefined);
  if (name === undefined)
    throw new RefusedError(
      "Cannot ask for a name: this is not a terminal. Give it: npm create openrath NAME",
    );
  const template = values.template ?? (asks && !positionals[0] ? await askTemplate() : "agent");

  const { folder, files } = createProject(name, template, process.cwd());
  const steps = [...(folder === "." ? [] : [`cd ${folder}`]), "npm install", "npm start", "npm test"];
  process.stdout.write(
    `Created ${folder === "." ? "the project here" : folder}: ${files.join(", ")}\n\nNow type:\n\n  ${steps.join("\n  ")}\n`,
  );
  return 0;
}

function given() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        template: { type: "string", short: "t" },
        yes: { type: "boolean", short: "y", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    throw new RefusedError(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
  }
}

async function askName() {
  for (;;) {
    const name = (await ask("Name of the project (my-agent): ")) || "my-agent";
    const problem = problemOfName(name);
    if (problem === undefined) return name;
    process.stdout.write(`${problem}\n`);
  }
}

async function askTemplate() {
  const names = Object.keys(templates);
  for (const [at, name] of names.entries())
    process.stdout.write(`  ${at + 1}  ${name.padEnd(9)} ${templates[/** @type {"agent"} */ (name)]}\n`);
  for (;;) {
    const answer = (await ask("Template (1): ")) || "1";
    const name = names.includes(answer) ? answer : names[Number(answer) - 1];
    if (name !== undefined) return name;
    process.stdout.write(`Answer with ${names.join(", ")} or a number.\n`);
  }
}

/** One line from the terminal. Ctrl-C and the end of the input end the program, as in a shell. */
async function ask(/** @type {string} */ question) {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const left = new AbortController();
  terminal.once("SIGINT", () => left.abort());
  terminal.once("close", () => left.abort());
  try {
    return (await terminal.question(question, { signal: left.signal })).trim();
  } catch {
    process.stdout.write("\n");
    process.exit(130);
  } finally {
    terminal.close();
  }
}
