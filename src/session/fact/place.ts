import { amount } from "../../util/index.js";
import { fact } from "./family.js";
import type { Writer } from "./writer.js";

/** Where side effects happen. */
export const sandbox = {
  /** The session moves. */
  "placement-change": fact({
    by: "user",
    fields: { sandbox: "text", spec: "given?" },
    say: ({ sandbox }, { words }) => `moved the session to ${words(sandbox)}`,
  }),
  /** A sandbox opens. */
  "sandbox-open": fact({
    by: "runtime",
    fields: {
      sandbox: "text",
      incarnation: "size",
      provider: "text",
      isolation: "text",
      spec: "json",
      status: "json",
      capabilities: "json",
      native: "json?",
      tree: "digest or null",
      parent: "json?",
      of: "id?",
    },
    say: ({ sandbox, provider, isolation }, { words }) =>
      `opened the sandbox ${words(sandbox)} (${words(provider)}, isolation: ${words(isolation)})`,
    quiet: true,
    trace: ["sandbox", "provider", "isolation"],
  }),
  /** A sandbox is set aside. */
  "sandbox-suspend": fact({
    by: "runtime",
    fields: { sandbox: "text", incarnation: "size", why: "content text?", of: "id?" },
    say: sandboxed("suspended"),
    quiet: true,
  }),
  /** A sandbox goes on. */
  "sandbox-resume": fact({
    by: "runtime",
    fields: { sandbox: "text", incarnation: "size", why: "content text?", of: "id?" },
    say: sandboxed("resumed"),
    quiet: true,
  }),
  /** A sandbox is gone without having been closed. */
  "sandbox-lose": fact({
    by: "runtime",
    fields: { sandbox: "text", incarnation: "size", why: "content text", of: "id?" },
    say: sandboxed("lost"),
    tone: () => "bad",
    trace: ["sandbox"],
  }),
  /** A sandbox is closed. */
  "sandbox-close": fact({
    by: "runtime",
    fields: { sandbox: "text", incarnation: "size", why: "content text?", of: "id?" },
    say: sandboxed("closed"),
    quiet: true,
    trace: ["sandbox"],
  }),
  /** A command ran. */
  "command-run": fact({
    by: "tool",
    fields: {
      sandbox: "text",
      incarnation: "size",
      command: "content json",
      directory: "content text?",
      outcome: "text",
      code: "number or null",
      signal: "text?",
      stdout: "content json?",
      stderr: "content json?",
      cut: "size?",
      network: "content json?",
      milliseconds: "number",
      of: "id?",
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
      source: "content text",
      after: "digest",
      files: "size",
      bytes: "size",
      skipped: "content json?",
      of: "id?",
    },
    say: ({ files, source }, { words }) => `took in ${amount(files, "file")} from ${words(source)}`,
  }),
  /** The files are looked at. */
  "workspace-read": fact({
    by: "tool",
    fields: { tree: "digest or null", sandbox: "text?", of: "id?" },
    say: ({ tree }, { named }) => (tree === null ? "read no files" : `read the files ${named(tree)}`),
    quiet: true,
  }),
  /** Files change. */
  "workspace-change": fact({
    by: "tool",
    fields: {
      before: "digest or null",
      after: "digest",
      paths: "paths",
      sandbox: "text?",
      skipped: "content json?",
      of: "id?",
    },
    say: ({ paths }, { words }) => `changed files: ${words(pathsText(paths))}`,
    trace: ["before", "after"],
  }),
  /** The files of two branches come together. */
  "workspace-merge": fact({
    by: "runtime",
    fields: {
      base: "digest or null",
      ours: "digest or null",
      theirs: "digest",
      after: "digest",
      paths: "paths",
      conflicts: "content json",
      of: "id?",
    },
    say: ({ paths, conflicts }, { words }) =>
      `merged files${Array.isArray(conflicts) && conflicts.length > 0 ? ` with ${amount(conflicts.length, "conflict")}` : ""}: ${words(pathsText(paths))}`,
    trace: ["after"],
  }),
  /** Somebody settles the conflicts of a merge. */
  "workspace-resolve": fact({
    by: "must say",
    fields: {
      merge: "id",
      after: "digest",
      paths: "paths",
      choices: "content json",
      /** The resolution of each path in conflict: the side that was chosen, or the entry that replaced both. */
      resolved: "content json?",
      why: "content text?",
      of: "id?",
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
