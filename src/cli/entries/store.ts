import type { Entry } from "../entry.js";

/** What goes in and out, and looking after the store. */
export const entries: readonly Entry[] = [
  {
    name: "export",
    summary: "writes a session for others: lines of the record, or a format of another system",
    arguments: [
      {
        name: "SESSION",
        text: "a name, an id or its beginning, NAME~3, NAME@branch",
        many: true,
        optional: true,
      },
    ],
    options: [
      { flags: "-o, --output <file>", text: "default: stdout" },
      { flags: "--format <name>", text: "default: lines (docs/format.md); see rath export --list" },
      { flags: "--content", text: "formats that leave content out by default take it in (otel)" },
      { flags: "--to <url>", text: "sends spans to an OTLP/HTTP receiver instead" },
      { flags: "--no-blobs", text: "of lines: without the content that is kept outside of them" },
      { flags: "--list", text: "the formats there are" },
    ],
    examples: [
      "rath export demo-1 -o demo-1.jsonl",
      "rath export demo-1 --format atif -o demo-1.json",
      "rath export demo-1 --format otel --to http://127.0.0.1:4318",
    ],
    load: () => import("../command/export.js"),
  },
  {
    name: "import",
    creates: true,
    summary: "takes in a record, a dossier's bundle, a folder of 0.1, or what another system wrote",
    arguments: [
      {
        name: "FILE",
        text: "a file, a folder of 0.1, or postgres://… of LangGraph checkpoints",
        many: true,
        optional: true,
      },
    ],
    options: [
      { flags: "--format <name>", text: "default: found out from the file; see rath import --list" },
      {
        flags: "--name <name>",
        text: "the name of the session, or the prefix of the names when there are several",
      },
      { flags: "--head <id>", text: "of lines: the id that must be among them" },
      { flags: "--list", text: "the formats there are" },
    ],
    examples: [
      "rath import demo-1.jsonl --name theirs",
      "rath import run.traj",
      "rath import trajectory.json --format atif",
    ],
    load: () => import("../command/import.js"),
  },
  {
    name: "gc",
    summary: "removes what no name leads to",
    options: [
      { flags: "--dry-run", text: "only says what would go" },
      { flags: "--forget <name>", text: "takes a name away first", many: true },
      { flags: "--release <why>", text: "signs that facts of a checkpoint are given up, and why" },
    ],
    examples: ["rath gc --dry-run", "rath gc --forget second-try"],
    load: () => import("../command/gc.js"),
  },
  {
    name: "doctor",
    summary: "whether everything that is needed is here and sound, and what to do where not",
    options: [{ flags: "--deep", text: "also reads every fact and blob of the store" }],
    examples: ["rath doctor", "rath doctor --deep --json"],
    load: () => import("../command/doctor.js"),
  },
  {
    name: "completion",
    summary:
      "what a shell reads to complete commands, options and names (bash needs the package bash-completion)",
    arguments: [{ name: "SHELL", text: "bash, zsh, fish or powershell" }],
    examples: [
      'eval "$(rath completion bash)"',
      "rath completion fish > ~/.config/fish/completions/rath.fish",
    ],
    load: () => import("../command/completion.js"),
  },
];
