import { amount } from "../../util/index.js";
import { fact } from "./family.js";
import {
  content,
  digest,
  digestOrNull,
  given,
  id,
  json,
  number,
  numberOrNull,
  optional,
  paths,
  size,
  text,
} from "./field.js";
import type { Writer } from "./writer.js";

/** Where side effects happen. */
export const sandbox = {
  /** The session moves. */
  "placement-change": fact({
    by: "user",
    fields: { sandbox: text, spec: optional(given) },
    say: ({ sandbox }, { words }) => `moved the session to ${words(sandbox)}`,
  }),
  /** A sandbox opens. */
  "sandbox-open": fact({
    by: "runtime",
    fields: {
      sandbox: text,
      incarnation: size,
      provider: text,
      isolation: text,
      spec: json,
      status: json,
      capabilities: json,
      native: optional(json),
      tree: digestOrNull,
      parent: optional(json),
      of: optional(id),
    },
    say: ({ sandbox, provider, isolation }, { words }) =>
      `opened the sandbox ${words(sandbox)} (${words(provider)}, isolation: ${words(isolation)})`,
    quiet: true,
    trace: ["sandbox", "provider", "isolation"],
  }),
  /** A sandbox is set aside. */
  "sandbox-suspend": fact({
    by: "runtime",
    fields: { sandbox: text, incarnation: size, why: optional(content(text)), of: optional(id) },
    say: sandboxed("suspended"),
    quiet: true,
  }),
  /** A sandbox goes on. */
  "sandbox-resume": fact({
    by: "runtime",
    fields: { sandbox: text, incarnation: size, why: optional(content(text)), of: optional(id) },
    say: sandboxed("resumed"),
    quiet: true,
  }),
  /** A sandbox is gone without having been closed. */
  "sandbox-lose": fact({
    by: "runtime",
    fields: { sandbox: text, incarnation: size, why: content(text), of: optional(id) },
    say: sandboxed("lost"),
    tone: () => "bad",
    trace: ["sandbox"],
  }),
  /** A sandbox is closed. */
  "sandbox-close": fact({
    by: "runtime",
    fields: { sandbox: text, incarnation: size, why: optional(content(text)), of: optional(id) },
    say: sandboxed("closed"),
    quiet: true,
    trace: ["sandbox"],
  }),
  /** A command ran. */
  "command-run": fact({
    by: "tool",
    fields: {
      sandbox: text,
      incarnation: size,
      command: content(json),
      directory: optional(content(text)),
      outcome: text,
      code: numberOrNull,
      signal: optional(text),
      stdout: optional(content(json)),
      stderr: optional(content(json)),
      cut: optional(size),
      network: optional(content(json)),
      milliseconds: number,
      of: optional(id),
    },
    say: ({ command, outcome, code }, { quote, words }) =>
      `ran ${quote(isTexts(command) ? command.join(" ") : command)}: ${words(outcome)}${code === null ? "" : ` ${code}`}`,
    tone: ({ code }) => (code === 0 ? "plain" : "bad"),
    trace: ["outcome", "code", "milliseconds"],
  }),
};

/** The files of the workspace, as trees of the blob space. */
export const workspace = {
  /** Files come in from outside. */
  "workspace-import": fact({
    by: "runtime",
    fields: {
      source: content(text),
      after: digest,
      files: size,
      bytes: size,
      skipped: optional(content(json)),
      of: optional(id),
    },
    say: ({ files, source }, { words }) => `took in ${amount(files, "file")} from ${words(source)}`,
  }),
  /** The files are looked at. */
  "workspace-read": fact({
    by: "tool",
    fields: { tree: digestOrNull, sandbox: optional(text), of: optional(id) },
    say: ({ tree }, { named }) => (tree === null ? "read no files" : `read the files ${named(tree)}`),
    quiet: true,
  }),
  /** Files change. */
  "workspace-change": fact({
    by: "tool",
    fields: {
      before: digestOrNull,
      after: digest,
      paths,
      sandbox: optional(text),
      skipped: optional(content(json)),
      of: optional(id),
    },
    say: ({ paths }, { words }) => `changed files: ${words(pathsText(paths))}`,
    trace: ["before", "after"],
  }),
  /** The files of two branches come together. */
  "workspace-merge": fact({
    by: "runtime",
    fields: {
      base: digestOrNull,
      ours: digestOrNull,
      theirs: digest,
      after: digest,
      paths,
      conflicts: content(json),
      of: optional(id),
    },
    say: ({ paths, conflicts }, { words }) =>
      `merged files${Array.isArray(conflicts) && conflicts.length > 0 ? ` with ${amount(conflicts.length, "conflict")}` : ""}: ${words(pathsText(paths))}`,
    trace: ["after"],
  }),
  /** Somebody settles the conflicts of a merge. */
  "workspace-resolve": fact({
    by: "must say",
    fields: {
      merge: id,
      after: digest,
      paths,
      choices: content(json),
      /** The resolution of each path in conflict: the side that was chosen, or the entry that replaced both. */
      resolved: optional(content(json)),
      why: optional(content(text)),
      of: optional(id),
    },
    say: ({ paths, why: reason }, { words, why }) =>
      `resolved files: ${words(pathsText(paths))}${why(reason)}`,
  }),
};

function sandboxed(verb: string) {
  return (
    { sandbox, why: reason }: { readonly sandbox: string; readonly why?: string },
    { words, why }: Writer,
  ) => `${verb} the sandbox ${words(sandbox)}${why(reason)}`;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

const CHANGED: { readonly [change: string]: string } = {
  add: "added",
  modify: "modified",
  delete: "deleted",
};

function pathsText(paths: unknown): unknown {
  if (!Array.isArray(paths)) return paths;
  return paths.map(({ path, change }) => `${CHANGED[change] ?? change} ${path}`).join(", ");
}
