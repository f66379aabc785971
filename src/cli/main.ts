import { type Argument, Command, CommanderError, Option as Flag } from "commander";
import { type Json, RathError, readableError, thrownMessage, VERSION } from "../session/index.js";
import { defined } from "../util/index.js";
import { groups } from "./commands.js";
import type { Entry, Input } from "./entry.js";
import { UsageError } from "./error.js";
import { withCommand } from "./hints.js";
import { wasInterrupted } from "./interrupt.js";
import { namedStore, Shell, type Streams, typedCommands } from "./shell.js";
import { plain } from "./text.js";

/** Runs a command line and answers with its exit code: 0 ok, 1 error, 2 usage, 3 not verified, 4 waits for a person, 130 Ctrl-C. */
export async function main(argv: readonly string[], streams: Streams = process): Promise<number> {
  // A caller who asked for JSON gets it even if the command line cannot be understood.
  const json = argv.includes("--json");
  let code = 0;
  let store: string | undefined;
  const program = programOf(streams, async (entry, input, given) => {
    store = namedStore(given.store);
    code = await run(streams, entry, input, given);
  });
  try {
    if (argv[0] === "complete" && argv[1] === "--") {
      await (await import("./complete.js")).complete(programOf(streams), argv.slice(2));
      return 0;
    }
    if (argv.length === 0) program.outputHelp();
    else await program.parseAsync(["node", "rath", ...argv]);
    return code === 1 && wasInterrupted() ? 130 : code;
  } catch (thrown) {
    const error = readableError(thrown);
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      return fail(
        streams,
        usageOf(error, program.commands.find((one) => one.name() === argv[0])?.name()),
        json,
        store,
      );
    }
    return fail(streams, error, json, store, argv[1]?.startsWith("-") === false ? argv[1] : undefined);
  }
}

type Given = { readonly json?: boolean; readonly quiet?: boolean; readonly store?: string };

async function run(streams: Streams, entry: Entry, input: Input, given: Given): Promise<number> {
  const shell = new Shell({ ...given, streams, creates: entry.creates ?? false });
  try {
    const code = await (await entry.load()).run(shell, input);
    return typeof code === "number" ? code : 0;
  } finally {
    await shell.close();
  }
}

/** The commands as commander knows them. */
function programOf(
  { stdout }: Streams,
  call: (entry: Entry, input: Input, given: Given) => Promise<void> = async () => {},
): Command {
  const program = new Command("rath")
    .description("runs agents durably, and reads, forks, merges, replays and verifies their sessions")
    .version(VERSION, "-V, --version", "prints the version of openrath")
    .helpOption("-h, --help", "prints this text; rath COMMAND --help for one command")
    .helpCommand("help [command]", "prints the help of a command")
    .showSuggestionAfterError(true)
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: () => {} })
    .configureHelp({
      subcommandTerm: (command) =>
        [command.name(), ...command.registeredArguments.map(argumentTerm)].join(" "),
    })
    .exitOverride()
    .addHelpText("after", AFTER);
  for (const { title, entries } of groups)
    for (const entry of entries) {
      const command = program
        .command(entry.name, { hidden: entry.hidden ?? false })
        .summary(entry.summary)
        .description(`${entry.summary[0]?.toUpperCase()}${entry.summary.slice(1)}.`)
        .helpGroup(`${title}:`)
        .exitOverride();
      for (const { name, text, optional, many } of entry.arguments ?? []) {
        const label = `${name}${many ? "..." : ""}`;
        command.argument(optional ? `[${label}]` : `<${label}>`, text);
      }
      for (const { flags, text, choices, many } of entry.options ?? []) {
        const flag = new Flag(flags, text);
        if (choices !== undefined) flag.choices([...choices]);
        if (many) flag.argParser((value: string, before: readonly string[] = []) => [...before, value]);
        command.addOption(flag);
      }
      for (const flag of common()) command.addOption(flag);
      command.addHelpText("after", `\nExamples:\n${entry.examples.map((line) => `  ${line}`).join("\n")}\n`);
      command.action(async () => {
        const { json, quiet, store, ...options } = command.opts<Given & Input["options"]>();
        const given = { json: json ?? false, quiet: quiet ?? false, ...(store && { store }) };
        await call(entry, { args: command.args, options }, given);
      });
    }
  return program;
}

function argumentTerm(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? "…" : ""}`;
  return argument.required ? name : `[${name}]`;
}

function common(): readonly Flag[] {
  return [
    new Flag("--json", "prints one JSON document on stdout instead of text"),
    new Flag("-q, --quiet", "hides progress and hints"),
    new Flag("--store <url>", "uses this store instead of the default one: sqlite:FILE or postgres://…").env(
      "RATH_STORE",
    ),
  ];
}

const AFTER = `
SESSION is a name, an id or its beginning, NAME~3 (three facts back) or NAME@branch.
Sessions are kept in RATH_HOME; default: the nearest .rath in this folder or above, or a new one beside the nearest
package.json or git root. Programs that call openRath() use the same store.
Exit codes: 0 ok, 1 error, 2 usage, 3 verification or validation failed, 4 waiting for a person, 130 Ctrl-C.

Examples:
  rath demo
  rath log demo-1
  rath verify demo-1
`;

function usageOf(error: CommanderError, command: string | undefined): UsageError {
  // `rath help nothing`: commander wants to show help, and knows of nothing to show.
  if (error.message === "(outputHelp)")
    return new UsageError(
      "Cannot read the command line: there is no such command.",
      "list the commands: rath help",
    );
  const [text = "", ...more] = error.message
    .replace(/^error: /, "")
    .trim()
    .split("\n");
  const near = /\((Did you mean .*)\)/.exec(more.join(" "))?.[1];
  return new UsageError(
    `Cannot read the command line: ${text.replace(/\.+$/, "")}.`,
    `${near === undefined ? "" : `${near[0]?.toLowerCase()}${near.slice(1)} `}see the help: rath ${command === undefined || command === "help" ? "help" : `${command} --help`}`,
    { reason: error.code },
  );
}

/** Refusals of the system are not mistakes of this program: a folder that is not there, a file that may not be written. */
function toldOf(error: unknown): unknown {
  const { code, path, syscall } = Object(error) as NodeJS.ErrnoException;
  if (error instanceof RathError || !(error instanceof Error) || syscall === undefined) return error;
  const reasons: { readonly [code: string]: string } = {
    ENOENT: "there is no such file or folder",
    ENOTDIR: "a component of the path is not a directory",
    EISDIR: "it is a folder",
    EEXIST: "a file with that name already exists",
    EACCES: "permission denied",
    EPERM: "permission denied",
    EROFS: "it cannot be written to",
    ENOSPC: "the disk is full",
  };
  const reason = code === undefined ? undefined : reasons[code];
  if (reason === undefined) return error;
  return new RathError(
    "file-unusable",
    `Cannot ${syscall} ${path === undefined ? "a file" : JSON.stringify(path)}: ${reason}.`,
    {
      hint: "check the path; rath doctor looks at the folder of the store",
      data: defined({ code, path }),
      cause: error,
    },
  );
}

/** The document of an error, with its commands as they have to be typed. */
function typedError(error: RathError, store: string | undefined): Json {
  const document = error.toJSON() as { readonly message: string; readonly hint: string };
  const hint = typedCommands(error.hint, store);
  return { ...document, message: document.message.replace(error.hint, () => hint), hint };
}

function fail(
  { stdout, stderr }: Streams,
  given: unknown,
  json: boolean,
  store: string | undefined,
  reference?: string,
): number {
  const told = toldOf(given);
  const error = told instanceof RathError ? withCommand(told, reference) : told;
  if (json) {
    const unexpected = { name: "Error", code: "unexpected", message: thrownMessage(error) };
    const document = error instanceof RathError ? typedError(error, store) : unexpected;
    stdout.write(`${JSON.stringify({ error: document })}\n`);
  } else {
    const text =
      error instanceof RathError ? error.message : error instanceof Error ? error.stack : String(error);
    // Failures carry words of tools and models: only the hint is ours.
    const hint = error instanceof RathError ? `\n  hint: ${error.hint}` : "";
    const problem = hint !== "" && text?.endsWith(hint) ? text.slice(0, -hint.length) : text;
    const typed = plain(problem ?? "") + (problem === text ? "" : typedCommands(plain(hint), store));
    stderr.write(`rath: ${typed}\n`);
  }
  return wasInterrupted() ? 130 : error instanceof UsageError ? 2 : 1;
}
