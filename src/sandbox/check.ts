import type { Json } from "../session/index.js";
import { isObject, nearestOf } from "../util/index.js";
import { SandboxCallError } from "./error.js";
import type { ExecOptions } from "./sandbox.js";

type Refuse = (setting: string, reason: string, hint: string, data?: { [name: string]: Json }) => Error;
export type Check = (setting: string, value: unknown) => unknown;

/** Checks of settings that come from callers which the compiler did not check. `refuse` makes the error. */
export function checksFor(refuse: Refuse) {
  return {
    text(setting: string, value: unknown, hint: string): string {
      if (typeof value !== "string") throw refuse(setting, `it is ${kindOf(value)}, not a text`, hint);
      if (value === "") throw refuse(setting, "it is empty", hint);
      if (value.includes("\0")) throw refuse(setting, "it holds a NUL character", hint);
      return value;
    },

    number(setting: string, value: unknown, from: number, to: number = Number.MAX_SAFE_INTEGER): number {
      if (typeof value === "number" && Number.isSafeInteger(value) && value >= from && value <= to)
        return value;
      const reason = `it is ${typeof value === "number" ? value : kindOf(value)}`;
      throw refuse(setting, reason, `give a whole number from ${from} to ${to}`);
    },

    oneOf<Choice extends string>(setting: string, value: unknown, choices: readonly Choice[]): Choice {
      const choice = choices.find((one) => one === value);
      if (choice !== undefined) return choice;
      const near = typeof value === "string" ? nearestOf(value, choices) : undefined;
      throw refuse(
        setting,
        typeof value === "string" ? `there is no ${shown(value)}` : `it is ${kindOf(value)}`,
        near === undefined
          ? `choose one of ${choices.map(shown).join(", ")}`
          : `did you mean ${shown(near)}?`,
      );
    },

    listOf(check: Check): Check {
      return (setting, value) => {
        if (!Array.isArray(value))
          throw refuse(setting, `it is ${kindOf(value)}, not a list`, `give a list: ${setting}: […]`);
        return Object.freeze(value.map((one, place) => check(`${setting}[${place}]`, one)));
      };
    },

    recordOf(setting: string, value: unknown, hint: string): { readonly [name: string]: unknown } {
      if (!isObject(value)) throw refuse(setting, `it is ${kindOf(value)}, not an object`, hint);
      return value;
    },

    /** Refuses a field that does not exist, and names the one that was probably meant. */
    requireKnown(prefix: string, given: object, known: readonly string[]): void {
      const name = Object.keys(given).find((one) => !known.includes(one));
      if (name === undefined) return;
      const near = nearestOf(name, known);
      const all = known.map((one) => prefix + one).join(", ");
      const hint = near === undefined ? `the settings are ${all}` : `did you mean ${shown(prefix + near)}?`;
      throw refuse(prefix + name, "there is no such setting", hint, { known: [...known] });
    },
  };
}

export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}

export const shown = (value: unknown): string => JSON.stringify(value);

/** The bytes that a call of `files.write` gives, or a `SandboxCallError`: what is neither text nor bytes is not a file. */
export function contentOf(path: string, content: unknown): Uint8Array {
  if (typeof content === "string") return Buffer.from(content, "utf8");
  if (content instanceof Uint8Array) return content;
  throw new SandboxCallError(
    `write ${JSON.stringify(path)}`,
    "the content",
    `is ${kindOf(content)}, neither a text nor bytes`,
    `give a text or a Uint8Array: files.write(${JSON.stringify(path)}, String(content))`,
  );
}

/** The mode that a call of `files.write` gives, if any, or a `SandboxCallError`. */
export function modeOf(path: string, options: unknown): number | undefined {
  const refuse = (argument: string, reason: string): SandboxCallError =>
    new SandboxCallError(`write ${JSON.stringify(path)}`, argument, reason, MODE_HINT);
  if (options === undefined) return undefined;
  if (typeof options !== "object" || options === null)
    throw refuse("the third argument", `is ${kindOf(options)}`);
  const { mode } = options as { readonly mode?: unknown };
  if (mode === undefined) return undefined;
  if (typeof mode !== "number" || !Number.isSafeInteger(mode) || mode < 0)
    throw refuse("the mode", `is ${typeof mode === "number" ? mode : kindOf(mode)}`);
  return mode;
}

const MODE_HINT = "give it as a number of three octal digits: { mode: 0o755 }";

/** The reason why a command cannot be run; undefined when it can. Said as a result: `exec` never throws. */
export function commandFault(command: unknown, options: unknown): string | undefined {
  if (typeof command !== "string" && !Array.isArray(command))
    return `it is ${kindOf(command)}: give a text for the shell, or a list of words`;
  const words: readonly unknown[] = typeof command === "string" ? [command] : command;
  const odd = words.findIndex((word) => typeof word !== "string");
  if (odd >= 0) return `word ${odd + 1} of it is ${kindOf(words[odd])}, not a text`;
  if (words.length === 0 || (typeof command !== "string" && words[0] === "")) return "it names no program";
  if (words.some((word) => (word as string).includes("\0"))) return "it holds a NUL character";
  if (typeof options !== "object" || options === null || Array.isArray(options))
    return `its options are ${kindOf(options)}, not an object`;
  const unknown = Object.keys(options).find((option) => !Object.hasOwn(faults, option));
  if (unknown !== undefined) {
    const meant = nearestOf(unknown, Object.keys(faults)) ?? MEANT[unknown];
    return `it has no option ${JSON.stringify(unknown)}${meant === undefined ? "" : `: did you mean ${JSON.stringify(meant)}?`}`;
  }
  for (const [option, fault] of Object.entries(faults)) {
    const value = (options as { readonly [option: string]: unknown })[option];
    const why = value === undefined ? undefined : fault(value);
    if (why !== undefined) return `its option ${option} ${why}`;
  }
  return undefined;
}

/** Names that other programs give to these options. */
const MEANT: { readonly [option: string]: string } = { cwd: "directory", timeout: "wall", input: "stdin" };

const faults: { readonly [Option in keyof Required<ExecOptions>]: (value: unknown) => string | undefined } = {
  directory: (value) => (typeof value === "string" ? undefined : `is ${kindOf(value)}, not a path`),
  env: environmentFault,
  stdin: (value) =>
    typeof value === "string" || value instanceof Uint8Array
      ? undefined
      : `is ${kindOf(value)}, neither a text nor bytes`,
  wall: (value) => numberFault(value, 1),
  output: (value) => numberFault(value, 0),
  pty: (value) => {
    if (typeof value !== "object" || value === null) return `is ${kindOf(value)}, not an object`;
    const { columns = 1, rows = 1 } = value as { columns?: unknown; rows?: unknown };
    return [columns, rows].map((size) => numberFault(size, 1)).find((why) => why !== undefined);
  },
  background: (value) => (typeof value === "boolean" ? undefined : `is ${kindOf(value)}, not true or false`),
  signal: (value) => (value instanceof AbortSignal ? undefined : `is ${kindOf(value)}, not an AbortSignal`),
};

function environmentFault(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return `is ${kindOf(value)}, not an object`;
  for (const [name, content] of Object.entries(value)) {
    if (name === "" || /[=\0]/.test(name))
      return `has a name that no variable can have: ${JSON.stringify(name)}`;
    if (typeof content !== "string") return `has ${kindOf(content)} for ${name}, not a text`;
    if (content.includes("\0")) return `holds a NUL character in ${name}`;
  }
  return undefined;
}

function numberFault(value: unknown, from: number): string | undefined {
  if (typeof value === "number" && value >= from) return undefined;
  return `is ${typeof value === "number" ? value : kindOf(value)}, not a number from ${from} on`;
}

/** The longest word that the kernel takes, in bytes. */
const LONGEST_WORD = 128 * 1024 - 1;

/** Why the kernel would not take a command, if it would not. */
export function lengthFault(words: readonly string[]): string | undefined {
  return words.some((word) => Buffer.byteLength(word) > LONGEST_WORD)
    ? "it is longer than the kernel takes: put it into a file of the workspace"
    : undefined;
}
